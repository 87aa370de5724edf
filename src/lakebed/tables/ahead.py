"""Reading the logs of tables while something else is computed: a commit needs them, and Delta reads them only when asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from py4j.protocol import Py4JError
from pyspark import InheritableThread
from pyspark.errors import PySparkException

from lakebed.tables.delta import DeltaTable


@contextmanager
def reading_ahead(tables: Sequence[DeltaTable]) -> Iterator[None]:
    """While the body runs, the logs of these tables are read. What fails here fails again, and is told, where it is needed."""

    def read() -> None:
        for table in tables:
            with suppress(PySparkException, Py4JError):
                table.read_log()

    thread = InheritableThread(target=read)
    thread.start()
    try:
        yield
    finally:
        thread.join()
