"""Write sets and batches on disk for the time of one batch.

What is counted, numbered and committed must be the same rows, so it is written once and read from there. Files lie
beside the table, under a name of this attempt's own; a crash leaves some behind, which the next attempt removes. What is only read
once more may be kept by Spark itself meanwhile (`fetching`).
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from lakebed.history.columns import quote_ident
from lakebed.tables.ahead import fetching_ahead

_INDEX = "_lb_index"
_INDEX_BITS = 33
_COUNTED_PARTS = 8
_EXCLUDED = "spark.sql.adaptive.optimizer.excludedRules"
_TAKES_AWAY = "org.apache.spark.sql.execution.adaptive.AQEPropagateEmptyRelation"


def _nothing() -> None:
    """There is nothing to wait for."""


@dataclass
class Staging:
    """A folder for one attempt at one batch."""

    spark: SparkSession
    folder: str
    _begun: Callable[[], object] = field(
        default_factory=lambda: _nothing, init=False, repr=False
    )  # see `fetching`

    @classmethod
    def beside(cls, spark: SparkSession, location: str) -> Staging:
        _keep_observations(spark)
        return cls(spark, f"{location.rstrip('/')}__staging/{uuid.uuid4().hex}")

    def path(self, name: str) -> str:
        return f"{self.folder}/{name}"

    def write(
        self, frame: DataFrame, name: str, counts: Mapping[str, Column] | None = None
    ) -> tuple[DataFrame, dict[str, Any]]:
        """`frame` as it was written, and the aggregates asked for, found while writing."""
        watch = None
        self._begun()
        if counts:
            frame, watch = watched(frame, counts)
        # Read back once or twice, and soon: to look for values that repeat would cost more than it saves.
        writer = frame.write.mode("overwrite").option("compression", "lz4")
        writer = writer.option("parquet.enable.dictionary", "false")
        writer.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false").parquet(self.path(name))
        return self.read(name, frame.schema), dict(watch.get) if watch is not None else {}

    @contextmanager
    def fetching(self, frame: DataFrame | None) -> Iterator[None]:
        """While the body plans what it will write, the frame is computed already; what is written takes it from there. So nothing
        is written before Spark knows of it."""
        if frame is None:
            yield
            return
        before = self._begun
        with fetching_ahead(frame) as begun:
            self._begun = begun
            try:
                yield
            finally:
                self._begun = before

    def clear(self) -> None:
        """Remove the folder, where it is local; elsewhere it stays for the store's own clean-up rules."""
        local = self.folder.removeprefix("file://").removeprefix("file:")
        if "://" not in local:
            shutil.rmtree(local, ignore_errors=True)

    def read(self, name: str, schema: StructType) -> DataFrame:
        return self.spark.read.schema(schema).parquet(self.path(name))


def watched(frame: DataFrame, counts: Mapping[str, Column]) -> tuple[DataFrame, Observation]:
    """`frame` with these aggregates found while its rows pass; they are there when a query over it has ended."""
    watch = Observation()
    columns = [value.alias(name) for name, value in counts.items()]
    return frame.observe(watch, columns[0], *columns[1:]), watch


def _keep_observations(spark: SparkSession) -> None:
    """From now on the session counts what passes also where nothing comes out of it in the end: while a query runs, Spark takes
    the steps before an empty one away, and with them what they have counted."""
    rules = [rule for rule in str(spark.conf.get(_EXCLUDED, "") or "").split(",") if rule]
    if _TAKES_AWAY not in rules:
        spark.conf.set(_EXCLUDED, ",".join([*rules, _TAKES_AWAY]))


def numbered(  # noqa: PLR0913 - what to number, from where, and what to count on the way
    staging: Staging,
    rows: DataFrame,
    name: str,
    number: str,
    base: int,
    *,
    which: Column,
    counts: Mapping[str, Column],
    parts: int,
) -> tuple[DataFrame, int, dict[str, Any]]:
    """`rows`, sorted as given in so many `parts`, with `number` filled in where it is NULL; the next free number; the counts
    asked for.

    Numbers follow the partitions and the place in them, both stored before anything is counted, so computing a part
    again cannot number it differently. The row's place is used up also where it had a number already; only `which` rows have
    a place, and they come first in each partition.
    """
    schema = rows.schema
    on_the_way = range(parts if parts <= _COUNTED_PARTS else 0)
    totals = {f"_lb_part{part}": F.count_if(which & (_part() == part)) for part in on_the_way}
    totals["_lb_total"] = F.count_if(which)
    staged, found = staging.write(
        rows.withColumn(_INDEX, F.monotonically_increasing_id()), name, {**counts, **totals}
    )
    total = int(found.pop("_lb_total"))
    counted = {part: int(found.pop(f"_lb_part{part}")) for part in on_the_way}
    if sum(counted.values()) != total:  # too many to count on the way, or parted otherwise
        counted = _counted(staged.where(which))
    start = _starts(counted, base)
    place = F.col(_INDEX).bitwiseAND(F.lit((1 << _INDEX_BITS) - 1))
    given = F.coalesce(F.col(quote_ident(number)), start + place).cast("bigint")
    columns = [given.alias(f.name) if f.name == number else F.col(quote_ident(f.name)) for f in schema]
    return staged.select(*columns), base + total, found


def _counted(staged: DataFrame) -> dict[int, int]:
    """The rows of each partition: one entry per partition, so small."""
    counts = staged.groupBy(_part().alias("part")).count()
    return {int(row[0]): int(row[1]) for row in counts.toLocalIterator()}


def _starts(counted: Mapping[int, int], base: int) -> Column:
    """The first number of each partition, as an expression."""
    pairs: list[Column] = []
    for part in sorted(counted):
        pairs += [F.lit(part).cast("bigint"), F.lit(base).cast("bigint")]
        base += counted[part]
    return F.create_map(*pairs)[_part()] if pairs else F.lit(base).cast("bigint")


def _part() -> Column:
    """Which partition a row was staged in."""
    return F.shiftright(F.col(_INDEX), _INDEX_BITS).cast("bigint")
