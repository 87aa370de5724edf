"""Data that nobody here made up, where LAKEBED_REAL_DATA names its folder: 14 years of a list of companies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.end_to_end.plain_loop import versions

DATA = os.environ.get("LAKEBED_REAL_DATA", "")
STATES = int(os.environ.get("LAKEBED_REAL_STATES", "4"))
DATASET = """\
dataset: market.companies
source:
  files: "constituents_{time:%Y%m%dT%H%M%SZ}.csv"
  format: csv
  event_time: {from: path, part: time}
feed: {kind: snapshot, key: [Symbol], on_bad_rows: quarantine}
history: {kind: versions}
"""
needs_data = pytest.mark.skipif(not DATA, reason="LAKEBED_REAL_DATA names no folder with the real data")


@needs_data
def test_F3_states_of_a_real_list_are_those_of_a_plain_loop(tmp_path: Path) -> None:
    """By the command line alone. A share of the states, spread over all years; LAKEBED_REAL_STATES=0 takes all."""
    every = sorted(Path(DATA, "sp500").glob("*.csv"))
    files = every[:: max(1, len(every) // STATES)] if STATES else every
    landing = tmp_path / "landing"
    landing.mkdir()
    for file in files:
        (landing / file.name).write_bytes(file.read_bytes())
    (tmp_path / "lakebed.yaml").write_text("project: market\nspark: {conf: {spark.driver.memory: 2g}}\n")
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "market.companies.yaml").write_text(DATASET)
    lakebed(tmp_path, "run")
    shown = lakebed(
        tmp_path, "show", "market.companies", "--all-versions", "--limit", "0", "--format", "ndjson"
    )
    found = [json.loads(line) for line in shown.splitlines()]
    expected = versions(((_time(file), file) for file in files), "Symbol")
    assert len(expected) > len(files)
    assert Counter(_text(row, expected[0]) for row in found) == Counter(
        _text(row, expected[0]) for row in expected
    )


def lakebed(project: Path, *arguments: str) -> str:
    ended = subprocess.run(
        [sys.executable, "-m", "lakebed.cli", "--project", str(project), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def _time(file: Path) -> datetime:
    return datetime.strptime(file.stem.partition("_")[2], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)


def _text(row: dict[str, object], columns: dict[str, object]) -> str:
    return json.dumps({name: row.get(name) for name in columns}, sort_keys=True)
