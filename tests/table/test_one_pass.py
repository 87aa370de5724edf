"""A batch in one pass: what it counts and keeps where nothing, or nothing new, comes out of it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lakebed as lb

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
SCHEMA = "id int, v string, seq int, op string"
FEED = lb.Changes(
    key=["id"],
    order_by=["seq"],
    delete_when="op = 'D'",
    ignore_when="op = 'B'",
    except_columns=["seq", "op"],
    on_bad_rows="quarantine",
)


@pytest.fixture
def adaptive(spark: SparkSession) -> Iterator[SparkSession]:
    """As sessions are unless told otherwise: Spark changes the plan of a query while it runs."""
    before = spark.conf.get("spark.sql.adaptive.enabled")
    spark.conf.set("spark.sql.adaptive.enabled", "true")
    yield spark
    spark.conf.set("spark.sql.adaptive.enabled", str(before))


def test_G8_counts_are_right_where_nothing_comes_out(adaptive: SparkSession, tmp_path: Path) -> None:
    """Spark takes away what leads to an empty result, while it runs; the counts on the way must not go with it."""
    table = lb.table(adaptive, str(tmp_path / "t"), feed=FEED, history=lb.Versions())

    def batch(number: int, *rows: tuple[Any, ...]) -> dict[str, Any]:
        df = adaptive.createDataFrame(list(rows), SCHEMA)
        moment = DAY + dt.timedelta(days=number)
        told = table.apply(df, batch=number, system_time=moment, immutable=True).as_dict()
        return {name: value for name, value in told.items() if value and name not in ("batch", "version")}

    assert batch(1, (1, "a", 5, "U"), (2, "b", 5, "U")) == {"read": 2, "applied": 2}
    assert batch(2, (1, "a", 5, "U")) == {"read": 1, "duplicate": 1}
    assert batch(3, (1, "a", 6, "B"), (None, "a", 7, "U")) == {"read": 2, "unchanged": 1, "rejected": 1}
    gone = batch(4, (2, None, 8, "D"), (3, None, 8, "D"))
    assert gone == {"read": 2, "applied": 1, "unchanged": 1}
    found = table.read().where("is_current").select("id", "v").orderBy("id")
    assert [tuple(row) for row in found.collect()] == [(1, "a")]
