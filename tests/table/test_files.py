"""D15: how many files a batch adds to a table."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

import lakebed as lb
from lakebed.errors import BatchError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


def test_D15_so_many_files_for_each_partition_and_equal_values_in_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = str(tmp_path / "customers")
    table = lb.table(
        spark,
        place,
        feed=lb.Updates(key=["id"]),
        history=lb.Current(),
        partition_by=["country"],
        files={"count": 3, "by": ["city"]},
    )
    rows = [(number, ("nl", "de")[number % 2], f"city {number % 48}") for number in range(96)]
    df = spark.createDataFrame(rows, "id int, country string, city string")
    table.apply(df, batch=1, system_time=DAY)
    some = df.where("id < 8").withColumn("city", F.lit("moved"))
    table.apply(some, batch=2, system_time=DAY + dt.timedelta(days=1))
    stored = spark.read.format("delta").load(place)
    stored = stored.select("country", "city", F.col("_metadata.file_path").alias("file"))
    files = stored.groupBy("country").agg(F.countDistinct("file").alias("n"))
    assert {row["country"]: row["n"] for row in files.collect()} == {"nl": 4, "de": 4}  # 3, and 1
    split = stored.groupBy("country", "city").agg(F.countDistinct("file").alias("n")).where("n > 1")
    assert split.count() == 0


def test_D15_a_column_that_is_not_written_is_refused_before_anything_is(
    spark: SparkSession, tmp_path: Path
) -> None:
    feed = lb.Updates(key=["id"], order_by=["seq"], except_columns=["seq"])
    table = lb.table(
        spark, str(tmp_path / "t"), feed=feed, history=lb.Current(), files={"count": 2, "by": ["seq"]}
    )
    rows = spark.createDataFrame([(1, 1)], "id int, seq int")
    for call in (table.apply, table.preview):
        with pytest.raises(BatchError, match="'seq', which the batch does not write"):
            call(rows, batch=1, system_time=DAY)
    assert table.last_batch == 0
