"""W1 to W4: a batch against a large table, beside the least that any job must do, and beside seed 001's MERGE.

5 million current rows with ten mixed columns, 1 % changed (`LAKEBED_BENCH_ROWS` for other sizes). W1: versions from
updates. W2: versions from a full snapshot. W3: current from changes with deletes. W4: log from the snapshot. "Limit" reads
the batch and the needed columns of the state, joins them, and writes the changed rows as Parquet. Everything warm, one
session, the ways in turn.
"""

from __future__ import annotations

import datetime as dt
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import lakebed as lb
from bench.result import Result, Timing
from lakebed.session import end, session

ROWS = int(os.environ.get("LAKEBED_BENCH_ROWS", "5000000"))
REPETITIONS = int(os.environ.get("LAKEBED_BENCH_REPETITIONS", "3"))
WARM_UP = 5  # batches that are not counted: Java has to compile first
DATA = ["id", "name", "address", "city", "amount", "score", "active", "born", "seen", "n"]
MERGES = {"MERGE, plain": "merge-plain", "MERGE, vectors and partition": "merge-vectors"}
START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


def rows(spark: SparkSession, state: Column) -> DataFrame:
    """All keys, with values that follow from the key and `state`, the number of times the row has changed."""
    base = spark.range(ROWS).withColumn("s", state)
    mixed = F.xxhash64("id", "s")
    return base.select(
        "id",
        F.concat(F.lit("name "), F.hex(F.xxhash64("id"))).alias("name"),
        F.concat(F.lit("street "), F.hex(mixed)).alias("address"),
        F.concat(F.lit("city "), F.pmod(mixed, F.lit(500))).alias("city"),
        (F.pmod(mixed, F.lit(100_000_000)) / 100).cast("decimal(12,2)").alias("amount"),
        (F.pmod(mixed, F.lit(1_000_003)) / 7.0).alias("score"),
        (F.pmod(mixed, F.lit(2)) == 0).alias("active"),
        F.date_add(
            F.lit("1950-01-01").cast("date"), F.pmod(F.xxhash64("id"), F.lit(20_000)).cast("int")
        ).alias("born"),
        F.timestamp_seconds(F.lit(1_700_000_000) + F.pmod(mixed, F.lit(1_000_000))).alias("seen"),
        F.pmod(mixed, F.lit(1000)).cast("int").alias("n"),
        F.lit("U").alias("op"),
    )


def changed(batch: int) -> Column:
    """One key in a hundred, other ones in each batch, spread over all files."""
    return F.pmod(F.col("id"), F.lit(100)) == batch


@dataclass(frozen=True)
class Workload:
    name: str
    feed: object
    history: object
    snapshot: bool


WORKLOADS = (
    Workload(
        "W1 versions from updates",
        lb.Updates(key=["id"], order_by=["seq"], except_columns=["seq", "op"]),
        lb.Versions(),
        snapshot=False,
    ),
    Workload(
        "W2 versions from a snapshot",
        lb.Snapshot(key=["id"], except_columns=["seq", "op"]),
        lb.Versions(),
        snapshot=True,
    ),
    Workload(
        "W3 current from changes",
        lb.Changes(key=["id"], order_by=["seq"], delete_when="op = 'D'", except_columns=["seq", "op"]),
        lb.Current(),
        snapshot=False,
    ),
    Workload(
        "W4 log from a snapshot",
        lb.Snapshot(key=["id"], except_columns=["seq", "op"]),
        lb.Log(),
        snapshot=True,
    ),
)


class Inputs:
    """The batches as Parquet files, made before anything is timed."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder = spark, folder

    def first(self) -> DataFrame:
        return self._file(
            "first", lambda: rows(self.spark, F.lit(0)).withColumn("seq", F.lit(0).cast("bigint"))
        )

    def updates(self, batch: int, *, deletes: bool) -> DataFrame:
        def make() -> DataFrame:
            found = rows(self.spark, F.lit(batch)).where(changed(batch))
            if deletes:
                found = found.withColumn(
                    "op", F.when(F.pmod(F.col("id"), F.lit(1000)) == batch, "D").otherwise("U")
                )
            return found.withColumn("seq", F.lit(batch).cast("bigint"))

        return self._file(f"updates-{batch}-{deletes}", make)

    def snapshot(self, batch: int) -> DataFrame:
        """The whole state after `batch`: what changed in this batch and in those before."""
        last = F.lit(0)
        for each in range(1, batch + 1):
            last = F.when(changed(each), F.lit(each)).otherwise(last)
        return self._file(
            f"snapshot-{batch}", lambda: rows(self.spark, last).withColumn("seq", F.lit(batch).cast("bigint"))
        )

    def _file(self, name: str, make: Callable[[], DataFrame]) -> DataFrame:
        path = self.folder / name
        if not path.exists():
            make().write.parquet(str(path))
        return self.spark.read.parquet(str(path))


def timed(work: Callable[[], object]) -> float:
    begin = time.monotonic()
    work()
    return time.monotonic() - begin


def limit(batch: DataFrame, state: DataFrame, folder: Path, *, snapshot: bool) -> None:
    """The cheapest job that anybody must do."""
    if snapshot:
        known = state.select("id", F.xxhash64(*DATA).alias("known"))
        arrived = batch.select("id", F.xxhash64(*DATA).alias("arrived"))
        both = arrived.join(known, "id", "full_outer")
        keys = both.where(~F.col("arrived").eqNullSafe(F.col("known"))).select("id")
        result = batch.join(F.broadcast(keys), "id", "left_semi").select(*DATA)
    else:
        old = state.select(*DATA)
        result = old.join(F.broadcast(batch.select("id", F.col("address").alias("new"))), "id")
    result.write.mode("overwrite").parquet(str(folder / "limit"))


def measure(spark: SparkSession, work: Workload, inputs: Inputs, folder: Path) -> Result:
    path = folder / work.name.split()[0]
    table = lb.table(spark, str(path), feed=work.feed, history=work.history)  # type: ignore[arg-type]
    first = inputs.first()
    load = timed(lambda: table.apply(first, batch=1, system_time=START, immutable=True))
    print(f"  {work.name}: first load of {ROWS:,} rows {load:.1f} s", flush=True)
    ways: dict[str, list[float]] = {"limit": [], "lakebed": []}
    if "W1" in work.name:
        merge_tables(first, folder)
        ways |= {name: [] for name in MERGES}
    for batch in range(1, REPETITIONS + WARM_UP + 1):
        seconds = one_batch(spark, work, table, inputs, folder, batch)
        if batch > WARM_UP:
            for name in ways:
                ways[name].append(seconds[name])
    timings = tuple(Timing(name, tuple(found)) for name, found in ways.items())
    about = f"{ROWS:,} current rows, 1 % of them changed in each batch. The first load took {load:.0f} s."
    return Result(work.name, timings, about)


def one_batch(
    spark: SparkSession, work: Workload, table: lb.Table, inputs: Inputs, folder: Path, batch: int
) -> dict[str, float]:
    """Seconds of each way for the batch of this number (from 1; the first load was before it)."""
    path = folder / work.name.split()[0]
    arrived = inputs.snapshot(batch) if work.snapshot else inputs.updates(batch, deletes="W3" in work.name)
    state = spark.read.format("delta").load(f"{path}__state" if "W4" in work.name else str(path))
    if "versions" in work.name:
        state = state.where("is_current")
    system_time = START + dt.timedelta(days=batch)
    found = {
        "limit": timed(lambda: limit(arrived, state, folder, snapshot=work.snapshot)),
        "lakebed": timed(
            lambda: table.apply(arrived, batch=batch + 1, system_time=system_time, immutable=True)
        ),
    }
    for name in MERGES if "W1" in work.name else ():
        found[name] = timed(lambda name=name: merge(spark, name, arrived, folder))  # type: ignore[misc]
    return found


def merge_tables(first: DataFrame, folder: Path) -> None:
    """Tables for seed 001's MERGE: plain, and with deletion vectors and a partition of current rows."""
    start = first.select(
        *DATA,
        F.xxhash64(*DATA).alias("hash"),
        F.lit(START).alias("valid_from"),
        F.lit(None).cast("timestamp").alias("valid_to"),
        F.lit(True).alias("is_current"),
    )
    for name, place in MERGES.items():
        writer = start.write.format("delta")
        vectors = "vectors" in name
        writer = writer.option("delta.enableDeletionVectors", str(vectors).lower())
        (writer.partitionBy("is_current") if vectors else writer).save(str(folder / place))


def merge(spark: SparkSession, name: str, arrived: DataFrame, folder: Path) -> None:
    """Seed 001: each changed row twice, once with the key to close the old version, once with NULL to be inserted."""
    path = folder / MERGES[name]
    target = (
        spark.read.format("delta")
        .load(str(path))
        .where("is_current")
        .select("id", F.col("hash").alias("old"))
    )
    new = arrived.select(*DATA, F.xxhash64(*DATA).alias("hash"))
    differing = (
        new.join(target, "id")
        .where("hash <> old")
        .drop("old")
        .withColumn("merge_key", F.lit(None).cast("bigint"))
    )
    source = new.withColumn("merge_key", F.col("id")).unionByName(differing)
    source.createOrReplaceTempView("bench_updates")
    columns = ", ".join(DATA)
    values = ", ".join(f"s.{column}" for column in DATA)
    spark.sql(
        f"MERGE INTO delta.`{path}` t USING bench_updates s ON t.id = s.merge_key AND t.is_current "  # noqa: S608
        "WHEN MATCHED AND t.hash <> s.hash THEN UPDATE SET is_current = false, valid_to = current_timestamp() "
        f"WHEN NOT MATCHED THEN INSERT ({columns}, hash, valid_from, is_current) "
        f"VALUES ({values}, s.hash, current_timestamp(), true)"
    )


def run() -> Iterator[Result]:
    wanted = os.environ.get("LAKEBED_BENCH_WORKLOADS", "")
    spark = session("local[2]")
    try:
        for work in WORKLOADS:
            if wanted and work.name.split()[0] not in wanted.split(","):
                continue
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                yield measure(spark, work, Inputs(spark, folder / "inputs"), folder)
    finally:
        end(spark)
