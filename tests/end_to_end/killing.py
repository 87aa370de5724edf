"""`lakebed run` as a process of its own, killed while it works. Used by the test beside this, and by evidence/kill_run.py.

A kill waits for the run's first trace in the warehouse, a plan or staged rows, and then a random while: moments chosen
from the whole run would mostly meet a JVM that is starting. Half of them take Python alone, and leave a JVM that may
still be committing when the next run begins; the others take both.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from lakebed.control import open_store
from lakebed.manifest import load_project

SNAPSHOT_LOG = """\
dataset: demo.cities
source:
  files: cities/{date:%Y-%m-%d}.csv
  format: csv
  schema: "country string, city string, population bigint"
  event_time: {from: path, part: date}
feed: {kind: snapshot, key: [country, city]}
history: {kind: log}
"""
CHANGES_VERSIONS = """\
dataset: demo.people
source:
  files: people/{date:%Y-%m-%d}.csv
  format: csv
  schema: "id bigint, name string, lsn bigint, op string"
  event_time: {from: path, part: date}
feed: {kind: changes, key: [id], order_by: [lsn], delete_when: "op = 'D'", except_columns: [op]}
history: {kind: versions, track: [name]}
"""
PROJECT = """\
project: killing
spark: {master: "local[2]", conf: {spark.driver.memory: 1g}}
"""
LONGEST = 600


@dataclass
class Killed:
    """What a series of kills met. `moments` tells each, for whoever has to find out what went wrong."""

    kills: int = 0
    open_plans: int = 0
    moments: list[str] = field(default_factory=list)


def make_project(folder: Path, seed: int, days: int, datasets: dict[str, str], control: str = "") -> Path:
    """A project whose files depend on the seed alone: two changed, one gone, one new a day, and late changes. Datasets are
    called `cities…` or `people…`."""
    chance = random.Random(seed)
    (folder / "datasets").mkdir(parents=True)
    (folder / "lakebed.yaml").write_text(PROJECT + (f"control: {control}\n" if control else ""))
    for name, manifest in datasets.items():
        (folder / "datasets" / f"{name}.yaml").write_text(manifest)
        (folder / "landing" / name).mkdir(parents=True)
    state = {(f"C{n % 5}", f"city {n}"): chance.randrange(10**6) for n in range(20)}
    for day in range(1, days + 1):
        if day > 1:
            for key in chance.sample(sorted(state), 2):
                state[key] += 1
            del state[chance.choice(sorted(state))]
            state[(f"C{day % 5}", f"new {day}")] = day
        cities = ["country,city,population", *[f"{a},{b},{n}" for (a, b), n in sorted(state.items())]]
        people = ["id,name,lsn,op"]
        for n in range(6):
            lsn = max(1, day * 10 + n - chance.choice([0, 0, 0, 15]))
            people.append(f"{chance.randrange(8)},name {chance.randrange(4)},{lsn},{chance.choice('UUUD')}")
        for name in datasets:
            lines = cities if name.startswith("cities") else people
            path = folder / "landing" / name / f"2024-01-{day:02}.csv"
            path.write_text("\n".join(lines) + "\n")
    return folder


def start(project: Path) -> subprocess.Popen[str]:
    """`lakebed run`, in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "lakebed.cli", "--project", str(project), "run", "--format", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def finish(project: Path, longest: float = LONGEST) -> tuple[dict[str, Any], float]:
    """Run to the end, undisturbed: what the run says, and the seconds it worked after its first trace."""
    before, process = traces(project), start(project)
    try:
        wait_for_trace(process, project, before)
        began = time.monotonic()
        out, err = process.communicate(timeout=longest)
        worked = time.monotonic() - began
    finally:
        end_group(process)
    assert process.returncode == 0, f"exit code {process.returncode}\n{err}\n{out}"
    return json.loads(out), worked


def end_group(process: subprocess.Popen[str]) -> None:
    """Whatever is left of a run's own process group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def traces(project: Path) -> set[Path]:
    found: set[Path] = set()
    for folder, folders, files in os.walk(project / "warehouse"):
        found.update(Path(folder, name) for name in [*folders, *files])
    return found


def wait_for_trace(process: subprocess.Popen[str], project: Path, before: set[Path]) -> None:
    deadline = time.monotonic() + LONGEST
    while process.poll() is None and not traces(project) - before:
        assert time.monotonic() < deadline, "the run hangs"
        time.sleep(0.02)


def kill_often(
    project: Path, seed: int, kills: int, longest_wait: float, after_kill: Callable[[], None] | None = None
) -> Killed:
    """Start and kill runs, until so many were killed or one has nothing left to do. None is left running."""
    chance, met, started = random.Random(seed), Killed(), list[subprocess.Popen[str]]()
    try:
        while met.kills < kills:
            wait, alone = chance.uniform(0, longest_wait), chance.random() < 0.5
            before, process = traces(project), start(project)
            started.append(process)
            wait_for_trace(process, project, before)
            with suppress(subprocess.TimeoutExpired):
                process.wait(wait)
                break
            (os.kill if alone else os.killpg)(process.pid, signal.SIGKILL)
            process.wait()
            met.kills += 1
            done, planned = batches(project)
            met.open_plans += planned > done
            whom = "Python alone" if alone else "Python and JVM"
            if after_kill is not None:
                after_kill()
            met.moments.append(f"{whom} {wait:.2f} s into its work: {planned} batches planned, {done} done")
    finally:
        for process in started:
            end_group(process)
    return met


def batches(project: Path) -> tuple[int, int]:
    """How many batches the store has as done, and how many in all."""
    loaded = load_project(project)
    with open_store(loaded.control, base=loaded.root) as store:
        all_ = [batch for dataset in loaded.datasets for batch in store.batches(dataset.name)]
    return sum(batch.state == "done" for batch in all_), len(all_)


def rows(spark: SparkSession, project: Path, name: str) -> list[dict[str, Any]]:
    """A table as a user sees it, without the clock's time, in a fixed order."""
    frame = spark.read.format("delta").load(str(project / "warehouse" / "demo" / name))
    columns = [
        column for column in frame.columns if not column.startswith("_lb_") and column != "system_time"
    ]
    order = "offset" if "offset" in columns else "sk"
    return [row.asDict() for row in frame.select(*columns).orderBy(order).collect()]
