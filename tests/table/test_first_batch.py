"""A first batch that is refused leaves no more than a table without rows, which whatever comes first in its stead takes over."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lakebed as lb
from lakebed.errors import ConflictError
from lakebed.table import commits
from lakebed.tables.delta import DeltaTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOW = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


@pytest.mark.parametrize("by_name", [False, True])
def test_G9_after_a_refused_first_batch_the_next_may_have_other_columns(
    spark: SparkSession, tmp_path: Path, *, by_name: bool
) -> None:
    place = "first_refused" if by_name else str(tmp_path / "t")

    def table(history: lb.Versions | lb.Log) -> lb.Table:
        return lb.table(spark, place, feed=lb.Snapshot(key=["id"]), history=history)

    with pytest.raises(lb.LakebedError) as refused:
        table(lb.Versions()).apply(
            spark.sql("SELECT 1 AS id, 'x' AS `old name` UNION ALL SELECT NULL, 'y'"),
            batch=1,
            system_time=NOW,
            event_time=NOW,
        )
    assert refused.value.code == "null_key"
    assert refused.value.sample == ['{"id":null,"old name":"y"}']
    applied = table(lb.Log()).apply(spark.sql("SELECT 1 AS id, 2 AS named"), batch=1, system_time=NOW)
    assert (applied.read, applied.applied) == (1, 1)
    assert [row.asDict() for row in table(lb.Log()).state().collect()] == [{"id": 1, "named": 2}]
    if by_name:
        spark.sql(f"DROP TABLE {place}")


@pytest.mark.parametrize("other_columns", [False, True])
def test_G1_of_two_writers_of_a_first_batch_one_is_refused(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, other_columns: bool
) -> None:
    def table() -> lb.Table:
        return lb.table(spark, str(tmp_path / "t"), feed=lb.Append(), history=lb.Log())

    def meanwhile(slow: lb.Table, *given: Any, **named: Any) -> str:
        """The slow writer has looked, and found an empty table; now the fast one applies its batch."""
        monkeypatch.undo()
        table().apply(spark.range(7, 8), batch=1, system_time=NOW)
        return slow._ensure_target(*given, **named)

    def dies(*_: Any) -> None:
        raise InterruptedError

    monkeypatch.setattr(DeltaTable, "_write", dies)
    with pytest.raises(InterruptedError):
        table().apply(spark.range(1), batch=1, system_time=NOW)
    monkeypatch.undo()
    monkeypatch.setattr(lb.Table, "_ensure_target", meanwhile)
    mine = spark.sql("SELECT 'a' AS name") if other_columns else spark.range(1)
    with pytest.raises(ConflictError, match="another writer changed the table"):
        table().apply(mine, batch=1, system_time=NOW)
    assert [row.id for row in table().read().collect()] == [7]


def test_G9_a_journal_that_a_crash_left_empty_takes_other_columns(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By name, where Delta makes it by a commit of its own."""

    def table() -> lb.Table:
        feed = lb.Updates(key=["id"], order_by=["lsn"], except_columns=["lsn"])
        return lb.table(spark, "first_died.t", feed=feed, history=lb.Current())

    def dies(*_: Any) -> None:
        raise InterruptedError

    spark.sql("CREATE DATABASE first_died")
    try:
        monkeypatch.setattr(DeltaTable, "_write", dies)
        with pytest.raises(InterruptedError):
            table().apply(spark.sql("SELECT 1 AS id, 1 AS lsn, 2 AS v, 2 AS w"), batch=1, system_time=NOW)
        monkeypatch.undo()
        table().apply(spark.sql("SELECT 1 AS id, 1 AS lsn, 'x' AS v"), batch=1, system_time=NOW)
        assert [row.asDict() for row in table().state().collect()] == [{"id": 1, "v": "x"}]
        assert [f.name for f in table().known_columns] == ["id", "v", "lsn"]
    finally:
        spark.sql("DROP DATABASE first_died CASCADE")


@pytest.mark.parametrize("bad", ["", " UNION ALL SELECT 9, NULL"])
def test_G5_rejected_rows_of_an_attempt_that_was_given_up_are_not_taken_for_those_of_its_number(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: str
) -> None:
    def batch(rows: str) -> lb.BatchReport:
        table = lb.table(spark, str(tmp_path / "t"), feed=lb.Append(event_time="at"), history=lb.Log())
        return table.apply(spark.sql(rows), batch=1, system_time=NOW)

    def dies(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(commits, "write_truth", dies)
        with pytest.raises(KeyboardInterrupt):
            batch("SELECT 1 AS id, TIMESTAMP '2024-01-01' AS at UNION ALL SELECT 2, NULL")
    report = batch(f"SELECT 3 AS id, TIMESTAMP '2024-01-01' AS at{bad}")  # its files were left out
    rejected = spark.read.format("delta").load(str(tmp_path / "t__rejected"))
    assert [(row["batch"], row["raw"]) for row in rejected.collect()] == ([(1, '{"id":9}')] if bad else [])
    assert report.rejected == (1 if bad else 0)
