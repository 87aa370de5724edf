"""100,000 small files in 1,000 folders: listed, planned, taken in batches of 100 (by a table in memory: this is about all that
happens around a batch, not about Spark), and looked at again when nothing is new. Seconds on the clock, and the most
memory that the process had in the end, Python itself included."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.runner.stand_in import START, World

from evidence.figure import Figure, part
from lakebed.runner import anything_new
from lakebed.runner.planning import next_plan
from lakebed.runner.work import Work

FILES, FOLDERS = 100_000, 1_000


def run(_seed: int, share: float) -> list[Figure]:
    return series(part(FILES, share))


def series(files: int) -> list[Figure]:
    """The same with another number; in a process of its own, whose memory is its own."""
    command = [sys.executable, "-m", "evidence.many_files", str(files)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    return [Figure(what, value) for what, value in json.loads(ran.stdout).items()]


def measured(files: int, root: Path) -> dict[str, Any]:
    names = [f"a.t/{n % FOLDERS:04}/{n:06}.csv" for n in range(files)]
    for folder in sorted({name.rpartition("/")[0] for name in names}):
        (root / "landing" / folder).mkdir(parents=True)
    old = START.timestamp() - 3600
    for name in names:
        path = root / "landing" / name
        path.write_bytes(b"id\n1\n")
        os.utime(path, (old, old))
    world = World(root)
    world.add("a.t", {"kind": "append"}, files="a.t/{folder}/{file}.csv", event_time={"from": "system"})
    before = _megabytes()
    with world.store() as store:
        work = Work.of(world.project, world.datasets[0], store, replace(world.edges, spark=world.spark))
        _, listed = _timed(lambda: work.source.new(work.look()))
        plan, planned = _timed(lambda: next_plan(work))
    assert plan is not None
    outcome, taken = _timed(world.run)
    found, again = _timed(lambda: anything_new(world.project))
    batches = len(outcome.datasets[0].batches)
    assert (sum(map(len, world.files("a.t"))), found) == (files, [])
    return {
        "files": files,
        "seconds to list them and see that all are new": listed,
        "seconds to list them and plan the first batch": planned,
        "batches in all": batches,
        "seconds to plan, keep and mark all of them": taken,
        "seconds to see that nothing is new": again,
        "megabytes before, and at most": f"{before}, {_megabytes()}",
    }


def _timed(what: Callable[[], Any]) -> tuple[Any, float]:
    began = time.monotonic()
    found = what()
    return found, round(time.monotonic() - began, 1)


def _megabytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="lakebed-files-") as name:
        print(json.dumps(measured(int(sys.argv[1]), Path(name))))
