"""G1, G2: what a batch's number and times may be."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lakebed as lb

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOW = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("moment", "told"),
    [
        ({"batch": 0, "system_time": NOW}, "0 is not a batch's number"),
        ({"batch": -1, "system_time": NOW}, "-1 is not a batch's number"),
        ({"batch": "1", "system_time": NOW}, "'1' is not a batch's number"),
        ({"batch": True, "system_time": NOW}, "True is not a batch's number"),
        ({"batch": 1, "system_time": NOW.replace(tzinfo=None)}, "has no zone"),
        ({"batch": 1, "system_time": NOW, "event_time": NOW.replace(tzinfo=None)}, "has no zone"),
    ],
)
def test_G1_a_batch_that_cannot_be_is_refused_and_not_taken_for_an_old_one(
    spark: SparkSession, tmp_path: Path, moment: dict[str, Any], told: str
) -> None:
    table = lb.table(spark, str(tmp_path / "t"), feed=lb.Append(), history=lb.Log())
    for act in (table.apply, table.preview):
        with pytest.raises(lb.LakebedError, match=told) as error:
            act(spark.range(1).toDF("id"), **moment)
        assert error.value.code == "invalid_options"
    assert not (tmp_path / "t").exists()


def test_V8_a_batch_without_a_time_of_its_own_may_lie_before_the_times_of_others(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = lb.table(spark, str(tmp_path / "t"), feed=lb.Updates(key=["id"]), history=lb.Versions())
    for batch, (arrived, event) in enumerate([(11, 10), (12, 20), (15, None)], 1):
        table.apply(
            spark.sql(f"SELECT 1 AS id, {batch} AS v"),
            batch=batch,
            system_time=NOW.replace(day=arrived),
            event_time=NOW.replace(day=event) if event else None,
        )
    days = table.read().selectExpr("v", "day(valid_from)", "if(is_current, NULL, day(valid_to))").orderBy("v")
    assert [tuple(row) for row in days.collect()] == [(1, 10, 15), (2, 20, 20), (3, 15, None)]
