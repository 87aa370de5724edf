"""A session's settings, changed for as long as something relies on them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

ZONE = "spark.sql.session.timeZone"
_relying: Counter[tuple[int, str]] = Counter()  # how many rely on a setting of a session
_own: dict[tuple[int, str], str | None] = {}  # and what it was before
_lock = threading.Lock()


@contextmanager
def setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    """The session's setting for as long as this takes, or others that want it at the same time."""
    mark = (id(spark), name)
    with _lock:
        if not _relying[mark]:
            _own[mark] = spark.conf.get(name, None)
            spark.conf.set(name, value)
        _relying[mark] += 1
    try:
        yield
    finally:
        with _lock:
            _relying[mark] -= 1
            if not _relying[mark]:
                before = _own.pop(mark)
                if before is None:
                    spark.conf.unset(name)
                else:
                    spark.conf.set(name, before)


def like(spark: SparkSession) -> SparkSession:
    """A session of its own, with the settings of this one and its place in the catalog: a name means the same table in both."""
    own = spark.newSession()
    before = own.conf.getAll
    for name, value in spark.conf.getAll.items():
        if before.get(name) != value:
            with suppress(AnalysisException):  # a static one, which is the same in all sessions
                own.conf.set(name, value)
    own.catalog.setCurrentCatalog(spark.catalog.currentCatalog())
    own.catalog.setCurrentDatabase(spark.catalog.currentDatabase())
    return own


@contextmanager
def for_batches(*sessions: SparkSession) -> Iterator[None]:
    """The sessions, as a batch needs them.

    Times are UTC (G3), whatever the zone of the session: a date, a time without a zone and a text are the same moment on every
    machine, and the day of a moment is the same day. And plans of rows with many columns can be made. Spark infers what holds of a
    row from what is filtered, and says it again for every name that a column has got meanwhile: a condition over twenty columns, each
    renamed once, becomes a million."""
    with ExitStack() as stack:
        for spark in sessions:
            stack.enter_context(setting(spark, "spark.sql.constraintPropagation.enabled", "false"))
            stack.enter_context(setting(spark, ZONE, "UTC"))
        yield


def is_utc(spark: SparkSession) -> bool:
    """Whether the session's own zone is UTC, under one of its usual names."""
    return spark.conf.get(ZONE) in ("UTC", "Etc/UTC", "GMT", "Z", "+00:00")
