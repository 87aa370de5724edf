"""F3 with rows that cannot be used, where they are set aside."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING

import lakebed as lb
from lakebed.history.columns import BAD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


def test_F3_a_row_that_is_set_aside_is_not_gone_if_its_key_can_be_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    feed = lb.Snapshot(key=["id"], on_bad_rows="quarantine")
    table = lb.table(spark, str(tmp_path / "products"), feed=feed, history=lb.Versions())
    schema = f"id int, price int, {BAD} string"
    for number, rows in enumerate(
        (
            [(1, 10, None), (2, 20, None), (3, 30, None)],
            [(1, 11, None), (2, None, "bad_cast")],  # the price of 2 was no number; 3 is gone
        ),
        1,
    ):
        df = spark.createDataFrame(rows, schema)
        report = table.apply(df, batch=number, system_time=DAY + dt.timedelta(days=number))
    assert (report.rejected, report.deleted) == (1, 1)
    found = table.read().where("is_current").select("id", "price").orderBy("id")
    assert [tuple(row) for row in found.collect()] == [(1, 11), (2, 20)]
