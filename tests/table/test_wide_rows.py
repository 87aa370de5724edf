"""Rows with many columns, as real exports have them."""

from __future__ import annotations

import datetime as dt
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

import lakebed as lb

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = 40
# A batch takes some seconds. With Spark's own inferences it would not end before memory does.
LONGEST = 240
SETTING = "spark.sql.constraintPropagation.enabled"
SNAPSHOT = lb.Snapshot(key=["id"], except_columns=["seq"])
UPDATES = lb.Updates(key=["id"], order_by=["seq"])


def wide(spark: SparkSession, day: int) -> DataFrame:
    """Three rows a day; one is the same each day, one changes in its last column, one is of that day only."""
    last = F.when(F.col("id") == 2, F.lit(f"day {day}")).otherwise(F.lit("same"))
    ids = spark.createDataFrame([(1,), (2,), (10 + day,)], "id bigint")
    texts = [F.lit(f"value {n}").alias(f"column {n}") for n in range(1, COLUMNS)]
    return ids.select("id", F.lit(day).alias("seq"), *texts, last.alias("the last one"))


@pytest.mark.parametrize("feed", [SNAPSHOT, UPDATES])
def test_a_table_may_have_many_columns(
    spark: SparkSession, tmp_path: Path, feed: lb.Snapshot | lb.Updates
) -> None:
    spark.conf.set(SETTING, "true")
    table = lb.table(spark, str(tmp_path / "wide"), feed=feed, history=lb.Versions(track_except=["seq"]))
    done: Future[None] = Future()

    def apply() -> None:
        try:
            for day in (1, 2):
                time = dt.datetime(2024, 1, day, tzinfo=dt.UTC)
                table.apply(wide(spark, day), batch=day, system_time=time)
            done.set_result(None)
        except Exception as error:  # noqa: BLE001 - for the test to raise
            done.set_exception(error)

    Thread(target=apply, daemon=True).start()
    done.result(timeout=LONGEST)
    found = table.read()
    assert found.count() == 5  # two of the row that changes, one of each other
    assert found.where("id = 2").count() == 2
    assert spark.conf.get(SETTING) == "true"
