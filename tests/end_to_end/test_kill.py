"""`lakebed run`, killed at random moments and run again: the table is the undisturbed one."""

from __future__ import annotations

import random
import time
from pathlib import Path

from pyspark.sql import SparkSession
from tests.end_to_end.killing import SNAPSHOT_LOG, batches, finish, kill_often, make_project, rows

from lakebed.manifest import load_project
from lakebed.runner import run_project

KILLS, DAYS = 1, 1
LONGEST_WAIT = 10.0  # however slow the machine is


def test_G1_killed_runs_leave_no_trace_in_the_table(spark: SparkSession, tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # noqa: T201  shown if the test fails
    datasets = {"cities": SNAPSHOT_LOG}
    undisturbed = make_project(tmp_path / "undisturbed", seed, DAYS, datasets)
    began = time.monotonic()
    assert run_project(load_project(undisturbed), spark=lambda: spark).failed == ()
    per_batch = (time.monotonic() - began) / DAYS
    project = make_project(tmp_path / "killed", seed, DAYS, datasets)
    met = kill_often(project, seed, KILLS, longest_wait=min(2 * per_batch, LONGEST_WAIT))
    print("\n".join(met.moments))  # noqa: T201
    assert met.kills == KILLS
    finish(project)
    found = rows(spark, project, "cities")
    assert found == rows(spark, undisturbed, "cities")
    assert [row["offset"] for row in found] == list(range(len(found)))
    assert batches(project) == (DAYS, DAYS)
