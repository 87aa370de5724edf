"""Write sets and batches on disk for the time of one batch.

What is counted, numbered and committed must be the same rows, so it is written once and read from there. Files lie
beside the table, under a name of this attempt's own; a crash leaves some behind, which the next attempt removes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

_INDEX_BITS = 33


@dataclass
class Staging:
    """A folder for one attempt at one batch."""

    spark: SparkSession
    folder: str

    def path(self, name: str) -> str:
        return f"{self.folder}/{name}"

    def write(
        self, frame: DataFrame, name: str, counts: Mapping[str, Column] | None = None
    ) -> tuple[DataFrame, dict[str, Any]]:
        """`frame` as it was written, and the aggregates asked for, found while writing."""
        found: dict[str, Any] = {}
        if counts:
            observation = Observation(name)
            columns = [value.alias(label) for label, value in counts.items()]
            frame = frame.observe(observation, columns[0], *columns[1:])
        frame.write.mode("overwrite").option("compression", "lz4").parquet(self.path(name))
        if counts:
            found = dict(observation.get)
        return self.read(name, frame.schema), found

    def read(self, name: str, schema: StructType) -> DataFrame:
        return self.spark.read.schema(schema).parquet(self.path(name))


def numbered(staging: Staging, rows: DataFrame, name: str, number: str, base: int) -> tuple[DataFrame, int]:
    """`rows`, sorted as given, with `number` filled in where it is NULL; and the next free number.

    Numbers follow the partitions and the place in them, both stored before anything is counted, so computing a part
    again cannot number it differently. The row's place is used up also where it had a number already.
    """
    index = "_lb_index"
    schema = rows.schema
    staged, _ = staging.write(rows.withColumn(index, F.monotonically_increasing_id()), name)
    part = F.shiftright(F.col(index), _INDEX_BITS)
    found = staged.groupBy(part.alias("p")).count().orderBy("p").take(1_000_000)
    starts: list[tuple[int, int]] = []
    next_free = base
    for row in found:
        starts.append((row[0], next_free))
        next_free += row[1]
    place = F.col(index).bitwiseAND(F.lit((1 << _INDEX_BITS) - 1))
    start = F.lit(base).cast("bigint")
    if len(starts) > 1:
        pairs = [F.lit(value).cast("bigint") for pair in starts for value in pair]
        start = F.create_map(*pairs)[part.cast("bigint")]
    given = F.coalesce(F.col(number), start + place).cast("bigint")
    columns = [given.alias(f.name) if f.name == number else F.col(f"`{f.name.replace('`', '``')}`") for f in schema]
    return staged.select(*columns), next_free
