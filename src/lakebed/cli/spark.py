"""Spark, started when a command first needs it."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from lakebed.cli.output import say
from lakebed.jars import postgresql_jar
from lakebed.manifest import JdbcQuery, Project
from lakebed.runner.sessions import FOR_LITTLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_started: list[SparkSession] = []


def spark_of(
    project: Project, *, short: bool = False, loads: bool = False, quiet: bool = False
) -> Callable[[], SparkSession]:
    """Gives the session that the project asks for; the first call starts it. `short` is for commands that only look:
    ready sooner, computes slower. `loads` is for those that load datasets, each in a session of its own."""

    @cache
    def start() -> SparkSession:
        from lakebed.session import running, session  # noqa: PLC0415 - most commands do without

        if not quiet:
            say("starting Spark ...")
        # Where Spark would put tables of its own; left alone, it makes a folder wherever the command was given.
        conf = {
            "spark.sql.warehouse.dir": project.warehouse,
            **(FOR_LITTLE if loads else {}),
            **project.spark.conf,
        }
        if any(
            isinstance(one.source, JdbcQuery) and one.source.jdbc.is_postgresql for one in project.datasets
        ):
            given = conf.get("spark.jars")
            conf["spark.jars"] = ",".join([*([given] if given else []), str(postgresql_jar(conf))])
        mine = running() is None
        spark = session(project.spark.master, conf, short=short)
        if mine:
            _started.append(spark)
            _take_ctrl_c_back()
        return spark

    return start


def end_spark() -> None:
    """End what was started here, after Ctrl-C. A JVM that is left alone goes on for some seconds after its process has
    ended, may commit meanwhile, and so get into the way of the next run."""
    while _started:
        from lakebed.session import end  # noqa: PLC0415

        with suppress(
            Exception
        ):  # the JVM may be in any state; that it is gone in the end is all that counts
            end(_started.pop())


def _take_ctrl_c_back() -> None:
    """Pyspark's own handler talks to the JVM from inside an interrupted call, and py4j prints what comes of it."""
    logging.getLogger().addHandler(logging.NullHandler())
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
