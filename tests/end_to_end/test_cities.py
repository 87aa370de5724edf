"""The example project, from landing files to a Delta table, through everything there is."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lakebed.manifest import Project, load_project
from lakebed.runner import RunOutcome, run_project, status

EXAMPLE = Path(__file__).parents[2] / "examples" / "cities"
DAYS = ["2024-01-01", "2024-01-02"]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    shutil.copy(EXAMPLE / "lakebed.yaml", tmp_path)
    shutil.copytree(EXAMPLE / "datasets", tmp_path / "datasets")
    (tmp_path / "landing" / "demo" / "cities").mkdir(parents=True)
    return load_project(tmp_path)


def land(project: Project, *days: str) -> None:
    for day in days:
        shutil.copy(EXAMPLE / "days" / f"{day}.csv", Path(project.landing) / "demo" / "cities")


def run(project: Project, spark: SparkSession) -> RunOutcome:
    return run_project(project, spark=lambda: spark)


def table(project: Project, spark: SparkSession) -> list[dict[str, Any]]:
    """The log without system time, which is the clock's."""
    rows = spark.read.format("delta").load(f"{project.warehouse}/demo/cities").orderBy("offset").collect()
    hidden = ("system_time",)
    return [
        {k: v for k, v in row.asDict().items() if k not in hidden and not k.startswith("_lb_")}
        for row in rows
    ]


def reports(outcome: RunOutcome) -> list[dict[str, Any]]:
    return [dict(batch.report) for one in outcome.datasets for batch in one.batches]


def test_day_by_day_after_a_lost_store_and_all_at_once(
    project: Project, spark: SparkSession, tmp_path: Path
) -> None:
    """However the files come, the table is the same; every report adds up (G8); a store that is lost costs no row."""
    for day in DAYS:
        land(project, day)
        [report] = reports(run(project, spark))
        parts = ("applied", "unchanged", "duplicate", "late", "rejected")
        assert report["read"] == sum(report[name] for name in parts)
    day_by_day = table(project, spark)
    assert [row["offset"] for row in day_by_day] == list(range(len(day_by_day)))
    assert {row["event_time"].astimezone(UTC) for row in day_by_day if row["op"] == "+A"} <= {
        datetime.fromisoformat(day).replace(tzinfo=UTC) for day in DAYS
    }
    assert run(project, spark).datasets[0].state == "idle"
    shutil.rmtree(tmp_path / ".lakebed")
    [recovered] = run(project, spark).datasets
    assert [batch.already_applied for batch in recovered.batches] == [True, True]
    assert table(project, spark) == day_by_day
    shutil.rmtree(project.warehouse)
    shutil.rmtree(tmp_path / ".lakebed")
    [at_once] = run(project, spark).datasets
    assert [batch.number for batch in at_once.batches] == [1, 2]
    assert table(project, spark) == day_by_day
    [now] = status(project)
    assert now.last_batch is not None
    assert (now.last_batch.number, now.waiting, now.open_batch) == (2, (), None)


def test_G5_a_bad_row_stops_a_snapshot_before_anything_is_written(
    project: Project, spark: SparkSession
) -> None:
    land(project, DAYS[0])
    run(project, spark)
    before = table(project, spark)
    bad = Path(project.landing) / "demo" / "cities" / "2024-01-02.csv"
    bad.write_text("country,city,population\nCA,Vancouver,many\n")
    error = run(project, spark).failed[0].error
    assert error is not None
    assert error.counts == {"bad_cast": 1}
    assert table(project, spark) == before
    [now] = status(project)
    assert (now.waiting, now.last_run and now.last_run.state) == (("demo/cities/2024-01-02.csv",), "failed")
