"""A session's settings, changed for as long as something relies on them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

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
