"""What will be needed is read while something else is planned or computed. Whatever fails here fails again, and is told, where it is
needed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from py4j.protocol import Py4JError
from pyspark import inheritable_thread_target
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from lakebed.tables.delta import DeltaTable

_OF_SPARK = (PySparkException, Py4JError, ConnectionError)  # the last where its process is gone


@contextmanager
def reading_ahead(spark: SparkSession, tables: Sequence[DeltaTable]) -> Iterator[None]:
    """While the body runs, Delta reads the logs of these tables: a commit needs them, and Delta reads them only when asked."""
    with _meanwhile(spark, [table.read_log for table in tables]):
        yield


@contextmanager
def fetching_ahead(frame: DataFrame) -> Iterator[Callable[[], object]]:
    """While the body runs, the frame is computed, and kept until the end of it. The body calls what it is given before it runs a
    query over the frame: that takes what is there by then, and waits for the rest. Spark spends about as long on planning a
    batch as on finding what is known of its keys."""
    kept = threading.Event()

    def fetch() -> None:
        frame.persist()
        kept.set()
        frame.count()

    try:
        with _meanwhile(frame.sparkSession, [fetch], ended=kept.set):
            yield kept.wait
    finally:
        with suppress(*_OF_SPARK):
            frame.unpersist()


@contextmanager
def _meanwhile(
    spark: SparkSession, reads: Sequence[Callable[[], object]], ended: Callable[[], object] = lambda: None
) -> Iterator[None]:
    @inheritable_thread_target(spark)
    def read() -> None:
        for each in reads:
            with suppress(*_OF_SPARK):
                each()

    def run() -> None:
        try:
            with suppress(*_OF_SPARK):
                read()
        finally:
            ended()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join()
