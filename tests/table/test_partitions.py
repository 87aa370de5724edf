"""G12: a table's partitions, and which of them a batch touched."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lakebed as lb

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "id int, `the day` string, amount int, lsn int, op string"
DAY = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


def orders(spark: SparkSession, place: str) -> lb.Table:
    feed = lb.Changes(key=["id"], order_by=["lsn"], delete_when="op = 'D'", except_columns=["lsn", "op"])
    return lb.table(spark, place, feed=feed, history=lb.Versions(), partition_by=["the day"])


def apply(spark: SparkSession, table: lb.Table, number: int, rows: list[tuple[Any, ...]]) -> Any:
    df = spark.createDataFrame(rows, SCHEMA)
    return table.apply(df, batch=number, system_time=DAY + dt.timedelta(days=number))


def test_G12_a_batch_tells_the_partitions_it_touched(spark: SparkSession, tmp_path: Path) -> None:
    table = orders(spark, str(tmp_path / "orders"))
    first = apply(spark, table, 1, [(1, "mon", 10, 1, "I"), (2, "tue", 20, 2, "I"), (3, None, 30, 3, "I")])
    moved = apply(spark, table, 2, [(1, "tue", 10, 4, "U"), (3, None, 30, 5, "U")])
    nothing = apply(spark, table, 3, [(1, "tue", 10, 4, "U")])
    assert first.touched == ({"the day": None}, {"the day": "mon"}, {"the day": "tue"})
    # The head of 3 moves with every event, so its row is written again, and its partition with it.
    assert {"the day": "mon"} in moved.touched
    assert {"the day": "tue"} in moved.touched
    assert nothing.touched == ()


def test_G12_a_table_without_partitions_is_touched_as_a_whole(spark: SparkSession, tmp_path: Path) -> None:
    table = lb.table(spark, str(tmp_path / "t"), feed=lb.Append(), history=lb.Log())
    report = table.apply(spark.range(2), batch=1, system_time=DAY)
    assert report.touched is None
    assert report.as_dict()["touched"] is None


def test_G9_settings_that_look_like_a_secret_are_still_found(spark: SparkSession, tmp_path: Path) -> None:
    """Spark hides the value of a property that has `url` in it; a column may be called so."""

    def opened() -> lb.Table:
        return lb.table(spark, str(tmp_path / "t"), feed=lb.Updates(key=["url"]), history=lb.Current())

    opened().apply(spark.createDataFrame([("a", 1)], "url string, n int"), batch=1, system_time=DAY)
    assert opened().last_batch == 1


def test_a_table_with_a_name_is_made_and_found_in_the_catalog(spark: SparkSession) -> None:
    spark.sql("CREATE DATABASE IF NOT EXISTS named")
    try:
        for number in (1, 2, 3):  # opened anew each time
            report = apply(spark, orders(spark, "named.orders"), number, [(1, "mon", number, number, "I")])
            assert report.touched == ({"the day": "mon"},)
        table = spark.table("named.orders").orderBy("sk").select("amount", "is_current")
        assert [tuple(row) for row in table.collect()] == [(1, False), (2, False), (3, True)]
    finally:
        spark.sql("DROP DATABASE named CASCADE")
