"""Ctrl-C while Spark works: the command ends at once, with nothing but its own words, and the next run finishes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
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


def interrupted(project: Path, has_begun: Callable[[], bool]) -> tuple[int, str, str, int]:
    """What a run says and ends with that is interrupted as soon as it has begun, and its process group."""
    command = [sys.executable, "-u", "-m", "lakebed.cli", "--project", str(project), "run"]
    said = project / "said"
    with said.open("w") as err:
        running = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=err, text=True, start_new_session=True
        )
    try:
        deadline = time.monotonic() + PATIENCE
        while not has_begun() and time.monotonic() < deadline and running.poll() is None:
            time.sleep(0.05)
        assert has_begun(), said.read_text()
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to the JVM too
        out, _ = running.communicate(timeout=PATIENCE)
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
    return running.returncode, out, said.read_text(), running.pid


def test_ctrl_c_while_spark_starts(spark: SparkSession, project: Path) -> None:
    """Several datasets are loaded by threads, which a Ctrl-C does not reach by itself."""
    manifest = project / "datasets" / "demo.cities.yaml"
    (project / "datasets" / "demo.towns.yaml").write_text(
        manifest.read_text().replace("dataset: demo.cities", "dataset: demo.towns")
    )
    code, out, err, group = interrupted(project, lambda: "starting" in (project / "said").read_text())
    assert (code, out, err) == (130, "", "starting Spark ...\n")
    assert still_running(group) == []
    assert not list((project / "warehouse").rglob("_delta_log"))


def test_ctrl_c_in_the_middle_of_a_batch(lakebed: Lakebed, spark: SparkSession, project: Path) -> None:
    # The table's first commit: from here on the run is inside a batch.
    table = project / "warehouse" / "demo" / "cities" / "_delta_log" / "00000000000000000000.json"
    code, out, err, group = interrupted(project, table.exists)
    assert (code, out, err) == (130, "", "starting Spark ...\n")
    # The JVM is gone too, so nothing can be committed behind the next run's back.
    assert still_running(group) == []

    ended = lakebed("--project", project, "run")
    assert ended.code == 0, ended.err
    assert "demo.cities: batch 1 from demo/cities/2024-01-01.csv" in ended.err
    shown = lakebed("--project", project, "show", "demo.cities", "--format", "csv")
    assert len(shown.out.splitlines()) == 3
