"""A first batch that is refused leaves no more than a table without rows, which whatever comes first in its stead takes over."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lakebed as lb

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
