"""`lb.fold`: change events to the newest state of each key, DataFrames in and out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

import lakebed as lb

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "op string, id int, name string, lsn int"


def folded(spark: SparkSession, *rows: tuple[object, ...]) -> list[tuple[object, ...]]:
    events = spark.createDataFrame(list(rows), SCHEMA)
    newest = lb.fold(events, key=["id"], order_by=["lsn"], delete_when="op = 'D'", except_columns=["op"])
    assert newest.columns == ["id", "name", "lsn"]
    return sorted(tuple(row) for row in newest.collect())


def test_C1_the_newest_event_of_each_key_wins_and_deletes_leave_no_row(spark: SparkSession) -> None:
    assert folded(
        spark,
        ("U", 1, "newer", 3),
        ("I", 1, "older", 1),
        ("I", 2, "gone", 1),
        ("D", 2, None, 2),
        ("D", 3, None, 1),
        ("I", 3, "back", 2),
        ("I", 4, "twice", 1),
        ("I", 4, "twice", 1),
    ) == [(1, "newer", 3), (3, "back", 2), (4, "twice", 1)]


def test_G6_of_one_order_a_delete_wins(spark: SparkSession) -> None:
    assert folded(spark, ("U", 1, "a", 5), ("D", 1, None, 5)) == []


def test_G5_a_row_without_its_order_is_a_sentence(spark: SparkSession) -> None:
    with pytest.raises(PySparkException, match="a row has null_order; filter such rows out"):
        folded(spark, ("I", 1, "a", None))
