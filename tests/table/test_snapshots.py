"""F3 with rows that cannot be used, where they are set aside."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lakebed as lb
from lakebed.errors import BatchError
from lakebed.history.columns import BAD
from lakebed.table import snapshots

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


def test_F3_a_row_that_is_set_aside_is_not_gone_if_its_key_can_be_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    feed = lb.Snapshot(key=["id"], on_bad_rows="quarantine")
    table = lb.table(spark, str(tmp_path / "products"), feed=feed, history=lb.Versions())
    schema, nan = f"id double, price int, {BAD} string", float("nan")
    for number, rows in enumerate(
        (
            [(1.0, 10, None), (2.0, 20, None), (3.0, 30, None), (nan, 40, None)],
            [
                (1.0, 11, None),
                (2.0, None, "bad_cast"),
                (nan, None, "bad_cast"),
            ],  # no number was their price; 3 is gone
        ),
        1,
    ):
        df = spark.createDataFrame(rows, schema)
        report = table.apply(df, batch=number, system_time=DAY + dt.timedelta(days=number))
    assert (report.rejected, report.deleted) == (2, 1)
    found = table.read().where("is_current").select("id", "price").orderBy("id")
    assert [str(tuple(row)) for row in found.collect()] == ["(1.0, 11)", "(2.0, 20)", "(nan, 40)"]


def test_F3_a_key_may_come_twice_in_a_large_snapshot_with_one_and_the_same_row(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counters and tables do not show that it was not grouped by key at first."""
    monkeypatch.setattr(snapshots, "LARGE", 1)
    feed = lb.Snapshot(key=["id"])
    table = lb.table(spark, str(tmp_path / "products"), feed=feed, history=lb.Log())

    def batch(number: int, *rows: tuple[int, int]) -> dict[str, int]:
        df = spark.createDataFrame(list(rows), "id int, price int")
        report = table.apply(df, batch=number, system_time=DAY + dt.timedelta(days=number), immutable=True)
        return {
            name: count
            for name, count in report.as_dict().items()
            if count and name in ("read", "applied", "unchanged", "duplicate", "deleted")
        }

    assert batch(1, (1, 10), (2, 20), (3, 30)) == {"read": 3, "applied": 3}
    assert batch(2, (1, 10), (1, 10), (3, 31)) == {
        "read": 3,
        "unchanged": 1,
        "duplicate": 1,
        "applied": 1,
        "deleted": 1,
    }
    assert batch(3, (1, 10), (3, 31), (4, 40), (4, 40)) == {
        "read": 4,
        "unchanged": 2,
        "duplicate": 1,
        "applied": 1,
    }
    assert batch(4, (1, 10), (3, 32), (5, 50)) == {
        "read": 3,
        "unchanged": 1,
        "applied": 2,
        "deleted": 1,
    }
    with pytest.raises(BatchError) as refused:
        batch(5, (1, 10), (1, 11))
    assert refused.value.code == "duplicate_key"
    assert refused.value.sample == ['{"id":1}']
    found = table.state().select("id", "price").orderBy("id")
    assert [tuple(row) for row in found.collect()] == [(1, 10), (3, 32), (5, 50)]


def test_F3_a_stale_snapshot_is_passed_over_whatever_its_rows_are(
    spark: SparkSession, tmp_path: Path
) -> None:
    feed = lb.Snapshot(key=["id"], on_stale="skip")
    table = lb.table(spark, str(tmp_path / "products"), feed=feed, history=lb.Current())
    for number, (day, rows) in enumerate(((5, [(1, 10)]), (3, [(None, 1), (2, 20)])), 1):
        df = spark.createDataFrame(rows, "id int, price int")
        moment = DAY + dt.timedelta(days=day)
        report = table.apply(df, batch=number, system_time=DAY + dt.timedelta(days=9), event_time=moment)
    assert (report.read, report.late, report.rejected) == (2, 2, 0)
    assert table.last_batch == 2
    assert not table.tables.rejected.exists()
    assert [tuple(row) for row in table.read().select("id", "price").collect()] == [(1, 10)]
