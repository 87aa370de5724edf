"""Spark, started when a command first needs it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from lakebed.cli.output import say
from lakebed.manifest import Project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def spark_of(project: Project, *, short: bool = False, quiet: bool = False) -> Callable[[], SparkSession]:
    """Gives the session that the project asks for; the first call starts it. `short` is for commands that only look:
    ready sooner, computes slower."""

    @cache
    def start() -> SparkSession:
        from lakebed.session import session  # noqa: PLC0415 - most commands do without

        if not quiet:
            say("starting Spark ...")
        # Where Spark would put tables of its own; left alone, it makes a folder wherever the command was given.
        conf = {"spark.sql.warehouse.dir": project.warehouse, **project.spark.conf}
        return session(project.spark.master, conf, short=short)

    return start
