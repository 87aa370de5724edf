"""`lakebed log` and `lakebed status` over a control store that the test has filled."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Lakebed

from lakebed.control import BatchPlan, Input, open_store
from lakebed.manifest import load_project

NAME = "demo.cities"
DAY_1 = "demo/cities/2024-01-01.csv"
TIME = dt.datetime(2024, 1, 5, 10, tzinfo=dt.UTC)


@pytest.fixture
def applied(project: Path) -> Path:
    """The project after one batch and one more that is only planned."""
    landed = project / "landing" / DAY_1
    status = landed.stat()
    first = Input(DAY_1, status.st_size, status.st_mtime_ns)
    (landed.parent / "2024-01-02.csv").write_text(landed.read_text())
    (landed.parent / "2024-01-03.csv").write_text(landed.read_text())
    second = Input(
        "demo/cities/2024-01-02.csv", status.st_size, (landed.parent / "2024-01-02.csv").stat().st_mtime_ns
    )
    with open_store(load_project(project).control, base=project) as store:
        run = store.start_run(NAME)
        store.plan_batch(BatchPlan(NAME, 1, (first,), TIME, dt.datetime(2024, 1, 1, tzinfo=dt.UTC)))
        store.finish_batch(
            NAME, 1, report={"read": 2, "applied": 2, "late": 0, "version": 1}, table_version=1
        )
        store.plan_batch(BatchPlan(NAME, 2, (second,), TIME))
        store.finish_run(run, "failed", batches=1, error={"code": "duplicate_key", "what": "twice"})
    return project


def test_log_for_people(lakebed: Lakebed, applied: Path) -> None:
    ended = lakebed("--project", applied, "log", NAME)
    assert ended.code == 0
    first, second = [line.split() for line in ended.out.splitlines() if "2024-01-05" in line]
    assert first == ["1", "done", "2024-01-05", "10:00:00", DAY_1, "2", "read,", "2", "applied", "1"]
    assert second[:2] == ["2", "planned"]


def test_log_for_scripts(lakebed: Lakebed, applied: Path) -> None:
    first, second = json.loads(lakebed("--project", applied, "log", "Demo.Cities", "--format", "json").out)
    assert first["batch"] == 1
    assert first["inputs"] == [DAY_1]
    assert (first["read"], first["applied"], first["late"], first["version"]) == (2, 2, 0, 1)
    assert (first["system_time"], first["event_time"]) == ("2024-01-05T10:00:00Z", "2024-01-01T00:00:00Z")
    assert (second["state"], second["read"], second["finished_at"]) == ("planned", None, None)
    rows = list(
        csv.DictReader(io.StringIO(lakebed("--project", applied, "log", NAME, "--format", "csv").out))
    )
    assert [(row["batch"], row["state"], row["system_time"]) for row in rows] == [
        ("1", "done", "2024-01-05T10:00:00Z"),
        ("2", "planned", "2024-01-05T10:00:00Z"),
    ]


def test_log_of_nothing(lakebed: Lakebed, project: Path) -> None:
    ended = lakebed("--project", project, "log", NAME, "--format", "json")
    assert (ended.code, ended.out) == (0, "[]\n")


def test_log_of_an_unknown_dataset(lakebed: Lakebed, project: Path) -> None:
    ended = lakebed("--project", project, "log", "demo.city")
    assert ended.code == 2
    assert "there is no dataset 'demo.city'; known are demo.cities" in ended.err
    assert "did you mean 'demo.cities'?" in ended.err


def test_status_for_scripts(lakebed: Lakebed, applied: Path) -> None:
    told = json.loads(lakebed("--project", applied, "status", "--format", "json").out)
    (one,) = told["datasets"]
    assert (one["dataset"], one["last_batch"], one["last_system_time"]) == (NAME, 1, "2024-01-05T10:00:00Z")
    assert one["open_batch"] == 2
    assert one["waiting"] == ["demo/cities/2024-01-02.csv", "demo/cities/2024-01-03.csv"]
    assert (one["last_run"]["state"], one["last_run"]["error"]["code"]) == ("failed", "duplicate_key")
    assert "rows" not in one


def test_status_for_people(lakebed: Lakebed, applied: Path) -> None:
    ended = lakebed("--project", applied, "status")
    (line,) = [line.split() for line in ended.out.splitlines() if NAME in line]
    assert line == [NAME, "1", "2024-01-05", "10:00:00", "2", "failed"]


def test_status_before_the_first_run(lakebed: Lakebed, project: Path) -> None:
    (one,) = json.loads(lakebed("--project", project, "status", "--format", "json").out)["datasets"]
    assert (one["last_batch"], one["last_system_time"], one["last_run"]) == (None, None, None)
    assert one["waiting"] == [DAY_1]


@pytest.mark.parametrize("command", [["log", NAME], ["status"]])
def test_no_spark_is_loaded(project: Path, command: list[str]) -> None:
    program = (
        "import sys; from lakebed.cli import main\n"
        f"try: main(['--project', {str(project)!r}, *{command!r}])\n"
        "except SystemExit as ended: assert ended.code == 0, ended.code\n"
        "assert not {'pyspark', 'py4j'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
