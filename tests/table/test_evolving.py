"""G9 over several openings: each batch is applied by a table that is opened anew, as every run does."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lakebed as lb
from lakebed.table import commits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
CHANGES = lb.Changes(key=["id"], order_by=["seq"], delete_when="OP = 'D'", except_columns=["OP", "load date"])
MAPPING = "delta.columnMapping.mode"


class Place:
    """A table on a path, opened for each batch."""

    def __init__(self, spark: SparkSession, path: Path, feed: Any, history: Any) -> None:
        self.spark, self.path, self.feed, self.history = spark, str(path), feed, history

    @property
    def table(self) -> lb.Table:
        return lb.table(self.spark, self.path, feed=self.feed, history=self.history)

    def batch(self, number: int, query: str) -> lb.BatchReport:
        at = START + dt.timedelta(days=number)
        return self.table.apply(self.spark.sql(query), batch=number, system_time=at)

    def rows(self, *columns: str) -> list[tuple[Any, ...]]:
        found = self.table.state().selectExpr(*columns).orderBy(columns[0])
        return [tuple(row) for row in found.collect()]

    def properties(self) -> dict[str, str]:
        shown = self.spark.sql(f"SHOW TBLPROPERTIES delta.`{self.path}`").collect()
        return {row[0]: row[1] for row in shown}


def test_G9_columns_and_types_grow_also_where_no_row_of_the_table_changes(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = Place(spark, tmp_path / "t", CHANGES, lb.Versions())
    place.batch(
        1, "SELECT 1 AS id, 1 AS seq, 'D' AS op, 5 AS n, 'x' AS `load date`"
    )  # of a key that is not there
    assert MAPPING not in place.properties()  # nothing of an odd name is stored
    place.batch(
        2, "SELECT 1 AS id, 2 AS seq, 5 AS n, named_struct('in cents', 7) AS `unit price`"
    )  # no operation
    assert place.properties()[MAPPING] == "name"
    place.batch(
        3, "SELECT 1 AS id, 2 AS seq, 'U' AS op, CAST(5 AS BIGINT) AS n WHERE false"
    )  # wider, no rows
    place.batch(4, "SELECT 2 AS id, 3 AS seq, 'U' AS op, 6 AS n")
    place.batch(5, "SELECT 2 AS id, 4 AS seq, 'U' AS op, 3000000000 AS n")
    assert place.rows("id", "n", "`unit price`.`in cents`") == [(1, 5, 7), (2, 3_000_000_000, None)]


def test_G9_a_column_that_only_deletes_brought_has_its_type(spark: SparkSession, tmp_path: Path) -> None:
    place = Place(spark, tmp_path / "t", CHANGES, lb.Current())
    strict = Place(spark, tmp_path / "t", CHANGES.model_copy(update={"on_bad_rows": "fail"}), lb.Current())
    place.batch(1, "SELECT INT(id), 1 AS seq, 'U' AS op FROM range(2)")
    place.batch(2, "SELECT 1 AS id, 2 AS seq, 'D' AS op, 5 AS x")
    for one, row, code in (
        (place, "0 AS id, 3 AS seq, 'U' AS op, 'five' AS x", "incompatible_type"),
        (strict, "INT(NULL) AS id, 3 AS seq, 'U' AS op, 1 AS `odd name`", "null_key"),
    ):
        with pytest.raises(lb.LakebedError) as refused:
            one.batch(3, f"SELECT {row}")
        assert refused.value.code == code
    assert MAPPING not in place.properties()  # a refused batch has changed nothing
    place.batch(3, "SELECT 0 AS id, 3 AS seq, 'U' AS op, 6 AS x")
    assert place.rows("id", "x") == [(0, 6)]


def test_G1_a_crash_is_finished_whatever_the_batch_brought_and_options_say(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the truth and the tables that follow: a wider type and a new column; a time that is not stored."""
    journaled = Place(spark, tmp_path / "j", CHANGES, lb.Current())
    timed = lb.Updates(key=["id"], event_time="ts", except_columns=["ts"], on_missing_column="fail")
    logged = Place(spark, tmp_path / "l", timed, lb.Log())
    journaled.batch(1, "SELECT 1 AS id, 1 AS seq, 'U' AS op, 5 AS n")
    logged.batch(1, "SELECT 1 AS id, 5 AS n, TIMESTAMP '2024-01-01' AS ts")

    def dies(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(commits, "write_followers", dies)
        for place, rest in (
            (journaled, "2 AS seq, 'U' AS op, 'y' AS x"),
            (logged, "TIMESTAMP '2024-01-02' AS ts"),
        ):
            with pytest.raises(KeyboardInterrupt):
                place.batch(2, f"SELECT 1 AS id, 3000000000 AS n, {rest}")
    again = journaled.table
    assert [tuple(row) for row in again.state().select("n", "x").collect()] == [(3_000_000_000, "y")]
    other = spark.sql("SELECT 1 AS id, 3 AS seq, 'U' AS op, 7 AS n, array(1) AS x")
    with pytest.raises(lb.LakebedError) as refused:
        again.apply(other, batch=3, system_time=START + dt.timedelta(days=9))
    assert refused.value.code == "incompatible_type"
    logged.batch(3, "SELECT 1 AS id, 3000000000 AS n, TIMESTAMP '2024-01-03' AS ts")
    assert logged.rows("id", "n") == [(1, 3_000_000_000)]


def test_G9_a_time_without_a_zone_may_come_later(spark: SparkSession, tmp_path: Path) -> None:
    """Delta stores that type only in tables that have a feature of that name."""
    place = Place(spark, tmp_path / "t", CHANGES, lb.Current())
    place.batch(1, "SELECT 1 AS id, 1 AS seq, 'U' AS op")
    place.batch(
        2, "SELECT 2 AS id, 2 AS seq, 'U' AS op, named_struct('at', TIMESTAMP_NTZ '2024-01-01 00:00') AS t"
    )
    assert place.rows("id", "string(t.at)") == [(1, None), (2, "2024-01-01 00:00:00")]
