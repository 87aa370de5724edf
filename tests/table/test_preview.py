"""`preview`: what a batch would do, with nothing written."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lakebed as lb

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


def test_a_preview_tells_the_report_and_some_rows_and_writes_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    feed = lb.Snapshot(key=["id"], max_delete_fraction=0.4)
    table = lb.table(spark, str(tmp_path / "t"), feed=feed, history=lb.Versions())
    first = spark.createDataFrame([(1, "a"), (2, "b"), (3, "c")], "id int, v string")
    seen = table.preview(first, batch=1, system_time=DAY)
    assert (seen.report.read, seen.report.applied, len(seen.sample)) == (3, 3, 3)
    assert sorted(json.loads(text)["v"] for text in seen.sample) == ["a", "b", "c"]
    assert list(tmp_path.iterdir()) in ([], [tmp_path / "t__staging"])

    table.apply(first, batch=1, system_time=DAY)
    seen = table.preview(first.where("id < 3"), batch=2, system_time=DAY)
    assert (seen.report.deleted, [json.loads(text)["is_deleted"] for text in seen.sample]) == (1, [True])
    with pytest.raises(lb.LakebedError) as refused:
        table.preview(first.limit(1), batch=2, system_time=DAY)
    assert refused.value.code == "too_many_deletes"
    assert table.last_batch == 1
    assert table.preview(first, batch=1, system_time=DAY).report.already_applied
