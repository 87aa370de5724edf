"""A session's settings, changed for as long as something relies on them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

ZONE = "spark.sql.session.timeZone"
# Kept in the session itself: Python may know one session by several names.
_RELYING = "lakebed.relying."  # how many rely on a setting
_BEFORE = "lakebed.before."  # and what it was
_lock = threading.Lock()


@contextmanager
def setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    """The session's setting for as long as this takes, or others that want it at the same time."""
    with _lock:
        if not _count(spark, name, 1):
            _put(spark, _BEFORE + name, spark.conf.get(name, None))
            spark.conf.set(name, value)
    try:
        yield
    finally:
        with _lock:
            if _count(spark, name, -1) == 1:
                _put(spark, name, spark.conf.get(_BEFORE + name, None))


def _count(spark: SparkSession, name: str, more: int) -> int:
    """How many relied on the setting until now."""
    relying = int(spark.conf.get(_RELYING + name, "0") or 0)
    spark.conf.set(_RELYING + name, str(relying + more))
    return relying


def _put(spark: SparkSession, name: str, value: str | None) -> None:
    if value is None:
        spark.conf.unset(name)
    else:
        spark.conf.set(name, value)


def like(spark: SparkSession) -> SparkSession:
    """A session of its own, with the settings of this one and its place in the catalog: a name means the same table in both. What a
    batch of this one relies on for a while is not its setting."""
    make = getattr(spark, "newSession", None) or getattr(spark, "cloneSession")  # noqa: B009 - Connect has only the latter
    own: SparkSession = make()
    before = own.conf.getAll
    with _lock:
        settings = dict(spark.conf.getAll)
    for name in [
        name.removeprefix(_RELYING)
        for name, count in settings.items()
        if name.startswith(_RELYING) and count != "0"
    ]:
        settings.pop(name, None)
        if _BEFORE + name in settings:
            settings[name] = settings[_BEFORE + name]
    for name, value in settings.items():
        if before.get(name) != value and not name.startswith((_RELYING, _BEFORE)):
            with suppress(AnalysisException):  # a static one, which is the same in all sessions
                own.conf.set(name, value)
    own.catalog.setCurrentCatalog(spark.catalog.currentCatalog())
    own.catalog.setCurrentDatabase(spark.catalog.currentDatabase())
    return own


def in_utc(spark: SparkSession) -> SparkSession:
    """The session, or one like it, whose times are UTC (G3): a date, a time without a zone and a text are the same moment on every
    machine, and the day of a moment is the same day. The user's own is left as it is, since the user may be at work in it."""
    if is_utc(spark):
        return spark
    own = like(spark)
    own.conf.set(ZONE, "UTC")
    return own


@contextmanager
def for_batches(*sessions: SparkSession) -> Iterator[None]:
    """The sessions, as plans of rows with many columns need them. Spark infers what holds of a row from what is filtered, and says it
    again for every name that a column has got meanwhile: a condition over twenty columns, each renamed once, becomes a million."""
    with ExitStack() as stack:
        for spark in sessions:
            stack.enter_context(setting(spark, "spark.sql.constraintPropagation.enabled", "false"))
        yield


def is_utc(spark: SparkSession) -> bool:
    """Whether the session's own zone is UTC, under one of its usual names."""
    return spark.conf.get(ZONE) in ("UTC", "Etc/UTC", "GMT", "Z", "+00:00")
