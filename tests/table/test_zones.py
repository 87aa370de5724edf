"""G3: all times are UTC, whatever the zone of the session that a library's user has."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from pyspark.sql import functions as F

import lakebed as lb
from lakebed.manifest import EventTimeColumn
from lakebed.tables.settings import ZONE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = "id,read,at\n1,2024-03-10 02:30:00,2024-03-10 02:30:00\n2,2024-07-01 00:00:00,2024-07-01 00:00:00\n"
SCHEMA = "id bigint, read timestamp, at string"


@pytest.fixture
def abroad(spark: SparkSession) -> SparkSession:
    """A session in New York, where 2:30 of that day in March never was."""
    session = spark.newSession()
    session.conf.set(ZONE, "America/New_York")
    return session


def test_G3_dates_and_texts_are_of_UTC_and_the_rows_are_read_as_their_session_reads_them(
    spark: SparkSession, abroad: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "rows.csv").write_text(ROWS)
    place = str(tmp_path / "table")
    time = EventTimeColumn(column="at", format="%Y-%m-%d %H:%M:%S")
    feed = lb.Updates(key=["id"], order_by=["at"], event_time=time)
    history = lb.Versions()
    months = [{"month": {"from": "valid_from", "format": "%Y-%m"}}]
    table = lb.table(abroad, place, feed=feed, history=history, partition_by=months)
    rows = abroad.read.csv(str(tmp_path / "rows.csv"), SCHEMA, header=True)
    table.apply(rows, batch=1, system_time=dt.datetime(2024, 8, 1, tzinfo=dt.UTC))
    assert abroad.conf.get(ZONE) == "America/New_York"
    found = lb.table(spark, place, feed=feed, history=history, partition_by=months)
    shown = (
        found.read()
        .selectExpr("id", "cast(valid_from as string)", "cast(read as string)", "month")
        .orderBy("id")
    )
    # `at`, which `valid_from` shows, is lakebed's to read, `read` was the session's.
    assert [tuple(row) for row in shown.toLocalIterator()] == [
        (1, "2024-03-10 02:30:00", "2024-03-10 07:30:00", "2024-03"),
        (2, "2024-07-01 00:00:00", "2024-07-01 04:00:00", "2024-07"),
    ]
    for asked, known in [("2024-06-30T23:59:59", [1]), ("2024-07-01", [1, 2])]:
        assert sorted(row["id"] for row in table.as_of(asked).toLocalIterator()) == known


def test_G3_a_session_stays_in_its_zone_while_a_batch_is_applied(
    abroad: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "rows.csv").write_text("id,read\n1,2024-07-01 00:00:00\n")
    rows = abroad.read.csv(str(tmp_path / "rows.csv"), "id bigint, read timestamp", header=True)

    def applied(name: str, meanwhile: Callable[[], None]) -> lb.Table:
        table = lb.table(abroad, str(tmp_path / name), feed=lb.Updates(key=["id"]), history=lb.Current())
        moment = dt.datetime(2024, 8, 1, tzinfo=dt.UTC)
        table.apply(rows, batch=1, system_time=moment, before_commit=meanwhile)
        return table

    inner: list[lb.Table] = []

    def another() -> None:
        inner.append(applied("inner", lambda: None))

    outer = applied("outer", another)
    for table in (outer, *inner):
        shown = table.read().select(F.date_format(F.to_utc_timestamp("read", "America/New_York"), "HH:mm"))
        assert [row[0] for row in shown.toLocalIterator()] == ["04:00"]
        assert shown.sparkSession is abroad


def test_a_name_means_the_same_table_in_both_sessions(abroad: SparkSession) -> None:
    """The table is that of the database in which it was opened, whatever the user calls by its name later."""
    name = f"zoned_{uuid4().hex}"
    table = lb.table(abroad, name, feed=lb.Updates(key=["id"]), history=lb.Current())
    table.apply(abroad.range(1), batch=1, system_time=dt.datetime(2024, 8, 1, tzinfo=dt.UTC))
    abroad.range(5).createOrReplaceTempView(name)
    assert table.read().count() == 1
    abroad.sql(f"DROP TABLE default.{name}")
