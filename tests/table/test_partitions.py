"""G12: a table's partitions, and which of them a batch touched."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

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


def test_G12_a_partition_can_be_made_of_a_time(spark: SparkSession, tmp_path: Path) -> None:
    """Versions of orders by the day they were ordered on; the rows themselves have no such column."""
    feed = lb.Changes(key=["id"], order_by=["lsn"], delete_when="op = 'D'", except_columns=["lsn", "op"])
    by_day = [{"day": {"from": "ordered_at", "format": "%Y%m%d"}}]
    schema = "id int, ordered_at timestamp, amount int, lsn int, op string"

    def batch(number: int, *rows: tuple[Any, ...]) -> Any:
        table = lb.table(spark, str(tmp_path / "t"), feed=feed, history=lb.Versions(), partition_by=by_day)
        df = spark.createDataFrame(list(rows), schema)
        return table.apply(df, batch=number, system_time=DAY + dt.timedelta(days=number))

    def at(day: int, hour: int) -> dt.datetime:
        return dt.datetime(2024, 3, day, hour, tzinfo=dt.UTC)

    first = batch(1, (1, at(1, 23), 10, 1, "I"), (2, at(2, 0), 20, 2, "I"))
    late = batch(2, (1, at(1, 23), 11, 3, "U"))
    moved = batch(3, (1, at(2, 1), 11, 4, "U"), (2, at(2, 0), 0, 5, "D"))
    assert first.touched == ({"day": "20240301"}, {"day": "20240302"})
    assert late.touched == ({"day": "20240301"},)
    assert moved.touched == ({"day": "20240301"}, {"day": "20240302"})
    rows = spark.read.format("delta").load(str(tmp_path / "t")).orderBy("id", "sk")
    shown = [tuple(row) for row in rows.select("id", "amount", "is_current", "day").collect()]
    assert shown == [
        (1, 10, False, "20240301"),
        (1, 11, False, "20240301"),
        (1, 11, True, "20240302"),
        (2, 20, False, "20240302"),
    ]


@pytest.mark.parametrize(
    ("partition_by", "said"),
    [
        ([{"day": {"from": "nowhere", "format": "%Y%m%d"}}], "no column of the table"),
        ([{"day": {"from": "id", "format": "%Y%m%d"}}], "which is bigint and no time"),
        ([{"id": {"from": "valid_from", "format": "%Y%m%d"}}], "the batch has a column 'id'"),
        ([{"day": {"from": "valid_from", "format": "%d"}}], "it has no year"),
        ([{"day": "%Y"}], "expected a column, or one made of a time"),
        (["id", "ID"], "names the column 'ID' twice"),
    ],
)
def test_G12_partitions_that_cannot_be_are_refused(
    spark: SparkSession, tmp_path: Path, partition_by: list[Any], said: str
) -> None:
    with pytest.raises(lb.LakebedError, match=said):
        lb.table(
            spark,
            str(tmp_path / "t"),
            feed=lb.Updates(key=["id"]),
            history=lb.Versions(),
            partition_by=partition_by,
        ).apply(spark.range(1), batch=1, system_time=DAY)
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("act", ["apply", "preview"])
def test_G12_a_column_that_the_table_does_not_get_is_no_partition(
    spark: SparkSession, tmp_path: Path, act: str
) -> None:
    def refused(partition: Any) -> str:
        feed = lb.Append(except_columns=["left_out"])
        table = lb.table(spark, str(tmp_path / "t"), feed=feed, history=lb.Log(), partition_by=[partition])
        with pytest.raises(lb.LakebedError, match="batch 1: partition_by") as error:
            getattr(table, act)(spark.range(1).selectExpr("id", "id AS left_out"), batch=1, system_time=DAY)
        return error.value.code

    assert refused("country") == "missing_column"
    assert refused("left_out") == "invalid_options"
    assert refused({"day": {"from": "nowhere", "format": "%Y"}}) == "missing_column"
    assert not (tmp_path / "t").exists()


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
        for number in (1, 2):  # opened anew each time
            report = apply(spark, orders(spark, "named.orders"), number, [(1, "mon", number, number, "I")])
            assert report.touched == ({"the day": "mon"},)
        table = spark.table("named.orders").orderBy("sk").select("amount", "is_current")
        assert [tuple(row) for row in table.collect()] == [(1, False), (2, True)]
    finally:
        spark.sql("DROP DATABASE named CASCADE")
