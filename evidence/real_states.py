"""The states of a real list of companies (2012 to 2026, columns that come and go), taken by the command line alone into all three
histories, one batch a state, against what a plain loop makes of the same files. LAKEBED_REAL_DATA names the folder that has them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.end_to_end.plain_loop import Version, versions
from tests.end_to_end.test_real_data import DATASET, time_of

from evidence.comparing import every_so_many
from evidence.figure import Figure

KINDS = ("versions", "current", "log")
KEY = "Symbol"


def run(seed: int, share: float) -> Iterator[Figure]:
    found = sorted(Path(os.environ.get("LAKEBED_REAL_DATA", "none"), "sp500").glob("*.csv"))
    if not found:
        yield Figure("states, since LAKEBED_REAL_DATA names no folder with sp500/", 0)
        return
    files: list[Path] = every_so_many(found, seed, share)
    with tempfile.TemporaryDirectory(prefix="lakebed-states-") as name:
        project = _project(Path(name), files)
        yield Figure("states", len(files))
        outcome = _lakebed(project, "run", "--format", "json")
        yield Figure("batches applied", sum(len(one["batches"]) for one in json.loads(outcome)["datasets"]))
        expected = versions(((time_of(file), file) for file in files), KEY)
        live = [row for row in expected if row["is_current"]]
        yield _compared("versions", expected, _shown(project, "versions", "--all-versions"))
        yield _compared("current", live, _shown(project, "current"), own=False)
        yield _compared("state of the log", live, _state(_shown(project, "log")), own=False)


def _project(folder: Path, files: Sequence[Path]) -> Path:
    (folder / "datasets").mkdir()
    (folder / "landing").mkdir()
    (folder / "lakebed.yaml").write_text("project: market\n")
    for kind in KINDS:
        text = DATASET.replace("market.companies", f"market.{kind}").replace(
            "kind: versions", f"kind: {kind}"
        )
        (folder / "datasets" / f"{kind}.yaml").write_text(text)
    for file in files:
        shutil.copy(file, folder / "landing")
    return folder


def _lakebed(project: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "lakebed.cli", "--project", str(project), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _shown(project: Path, kind: str, *how: str) -> list[dict[str, Any]]:
    told = _lakebed(project, "show", f"market.{kind}", "--limit", "0", "--format", "ndjson", *how)
    return [json.loads(line) for line in told.splitlines()]


def _state(log: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """L4: the last row of each key, unless it was taken back."""
    last = {row[KEY]: row for row in log}
    return [row for row in last.values() if row["op"] != "-R"]


def _compared(
    what: str, expected: Sequence[Version], found: Sequence[dict[str, Any]], *, own: bool = True
) -> Figure:
    """Rows by the loop's columns; `own` takes those of a version along."""
    hidden = () if own else ("valid_from", "valid_to", "is_current", "is_deleted")
    columns = [name for name in expected[0] if name not in hidden]

    def counted(rows: Sequence[dict[str, Any]]) -> Counter[str]:
        return Counter(json.dumps([row.get(name) for name in columns]) for row in rows)

    want, have = counted(expected), counted(found)
    off = (want - have).total(), (have - want).total()
    return Figure(
        f"{what}: rows of the loop, missing or different, too many", f"{len(expected):,}, {off[0]}, {off[1]}"
    )
