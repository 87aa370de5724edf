"""Spark, started when a command first needs it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING

from lakebed.cli.output import say
from lakebed.errors import SetupError
from lakebed.jars import postgresql_jar
from lakebed.manifest import JdbcQuery, Project
from lakebed.runner.sessions import FOR_LITTLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_started: list[SparkSession] = []
_ending = threading.Event()  # the command was interrupted: what starts now has nothing to do any more


class Spark:
    """The session that a project asks for; the first call starts it, and all give the same, until it is forgotten."""

    def __init__(self, project: Project, *, short: bool, loads: bool, quiet: bool) -> None:
        self._project, self._short, self._loads, self._quiet = project, short, loads, quiet
        self._session: SparkSession | None = None
        self._failed = False
        self._starting = threading.Lock()  # datasets are loaded side by side, and all ask

    def __call__(self) -> SparkSession:
        with self._starting:
            if self._session is None:
                try:
                    self._session = _in_a_thread(self._start)
                except SetupError as error:
                    self._failed = error.code == "spark_not_started"
                    raise
            return self._session

    @property
    def has_died(self) -> bool:
        """Whether it was wanted, and its process did not start or is gone."""
        if self._session is None:
            return self._failed
        from lakebed.session import has_died  # noqa: PLC0415

        return has_died()

    def forget(self) -> None:
        """The next call starts a new one. Only while nothing is under way: what was made with the old one cannot be used."""
        if self._session in _started:
            _started.remove(self._session)
        self._session, self._failed = None, False

    def _start(self) -> SparkSession:
        from lakebed.session import running, session  # noqa: PLC0415 - most commands do without

        _refuse_to_start()
        if not self._quiet:
            say("starting Spark ...")
        project = self._project
        # Where Spark would put tables of its own; left alone, it makes a folder wherever the command was given.
        conf = {
            "spark.sql.warehouse.dir": project.warehouse,
            **(FOR_LITTLE if self._loads else {}),
            **project.spark.conf,
        }
        if any(
            isinstance(one.source, JdbcQuery) and one.source.jdbc.is_postgresql for one in project.datasets
        ):
            given = conf.get("spark.jars")
            conf["spark.jars"] = ",".join([*([given] if given else []), str(postgresql_jar(conf))])
        mine = running() is None
        spark = session(project.spark.master, conf, short=self._short)
        if mine:
            _started.append(spark)
            logging.getLogger().addHandler(
                logging.NullHandler()
            )  # py4j prints what comes of an interrupted call
        if _ending.is_set():
            end_spark()
        _refuse_to_start()
        return spark


def spark_of(project: Project, *, short: bool = False, loads: bool = False, quiet: bool = False) -> Spark:
    """Gives the session that the project asks for; the first call starts it. `short` is for commands that only look:
    ready sooner, computes slower. `loads` is for those that load datasets, each in a session of its own."""
    _ending.clear()
    return Spark(project, short=short, loads=loads, quiet=quiet)


def end_spark() -> None:
    """End what was started here, or is starting, after Ctrl-C. A JVM that is left alone goes on for some seconds after its process has
    ended, may commit meanwhile, and so get into the way of the next run."""
    _ending.set()
    while _started:
        from lakebed.session import end  # noqa: PLC0415

        with suppress(
            Exception
        ):  # the JVM may be in any state; that it is gone in the end is all that counts
            end(_started.pop())


def _refuse_to_start() -> None:
    if _ending.is_set():
        raise SetupError("the command was interrupted before Spark had started", code="interrupted")


def _in_a_thread(start: Callable[[], SparkSession]) -> SparkSession:
    """Only where pyspark starts in the main thread does it take Ctrl-C for itself; and the main thread need not wait for it."""
    started: Future[SparkSession] = Future()

    def run() -> None:
        try:
            started.set_result(start())
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            started.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return started.result()
