"""The partitions of a table by asking Spark: where the log's own files no longer tell."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from lakebed.dependencies import Partition
from lakebed.history.columns import col, find
from lakebed.tables.place import Place

_MOST = 1_000_000


def partitions_of(spark: SparkSession, table: Path, columns: Sequence[str] | None) -> frozenset[Partition]:
    """The partitions that hold rows, of all partition columns or of these."""
    detail = spark.sql(f"DESCRIBE DETAIL {Place(str(table)).sql}").first()
    names = list(detail["partitionColumns"]) if detail is not None else []
    if columns is not None:
        names = [name for name in names if find(name, columns)]
    rows = spark.read.format("delta").load(str(table))
    if not names:
        return frozenset({Partition()}) if rows.take(1) else frozenset()
    found = rows.select(*[col(name).cast("string") for name in names]).distinct().take(_MOST)
    return frozenset(Partition(tuple(zip(names, row, strict=True))) for row in found)
