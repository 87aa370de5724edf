"""Ctrl-C while Spark works: the command ends at once, with nothing but its own words, and the next run finishes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cli.conftest import Lakebed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE = 300


def still_running(group: int) -> list[str]:
    """The processes of a group, but for those that have ended and wait to be noticed."""
    listed = subprocess.run(
        ["ps", "-eo", "pgid=,stat=,comm="], check=True, capture_output=True, text=True
    ).stdout
    processes = [line.split(maxsplit=2) for line in listed.splitlines()]
    return [name for pgid, state, name in processes if int(pgid) == group and not state.startswith("Z")]


def test_ctrl_c_in_the_middle_of_a_batch(lakebed: Lakebed, spark: SparkSession, project: Path) -> None:
    command = [sys.executable, "-m", "lakebed.cli", "--project", str(project), "run"]
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        # The table's first commit: from here on the run is inside a batch.
        table = project / "warehouse" / "demo" / "cities" / "_delta_log" / "00000000000000000000.json"
        deadline = time.monotonic() + PATIENCE
        while not table.exists() and time.monotonic() < deadline and running.poll() is None:
            time.sleep(0.05)
        assert table.exists(), running.communicate()
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to the JVM too
        out, err = running.communicate(timeout=PATIENCE)
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
    assert (running.returncode, out, err) == (130, "", "starting Spark ...\n")
    # The JVM is gone too, so nothing can be committed behind the next run's back.
    assert still_running(running.pid) == []

    ended = lakebed("--project", project, "run")
    assert ended.code == 0, ended.err
    assert "demo.cities: batch 1 from demo/cities/2024-01-01.csv" in ended.err
    shown = lakebed("--project", project, "show", "demo.cities", "--format", "csv")
    assert len(shown.out.splitlines()) == 3
