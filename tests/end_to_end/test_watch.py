"""`lakebed watch`: what lands is applied, and computed two hops on, with nothing else done, also where it is
the first file of a table; it ends when asked to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.end_to_end.killing import SNAPSHOT_LOG, make_project

from lakebed.cli.watch import DEATHS
from lakebed.control import open_store
from lakebed.manifest import load_project

LONGEST = 300
MORE = {
    "many": """\
dataset: "many.{table}"
source: {files: "many/{table}/{file}.csv", format: csv, schema: id int}
feed: {kind: append}
history: {kind: log}
""",
    "by_country": """\
dataset: demo.by_country
dependencies: [{table_name: demo.cities, usage: overwrite}]
steps: [{sql: "SELECT country, count(*) AS changes FROM demo.cities GROUP BY country"}]
""",
    "total": """\
dataset: demo.total
dependencies: [{table_name: demo.by_country, usage: overwrite}]
steps: [{sql: SELECT sum(changes) AS changes FROM by_country}]
""",
}


def test_what_lands_is_applied_and_sigterm_ends_it(tmp_path: Path) -> None:
    project = make_project(tmp_path, 1, 1, {"cities": SNAPSHOT_LOG})
    for name, text in MORE.items():
        (project / "datasets" / f"{name}.yaml").write_text(text)
    command = [sys.executable, "-m", "lakebed.cli", "--project", str(project), "watch", "--every", "0.5"]
    watching = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        wait_for(project, batches=1)
        second = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False)
        assert second.returncode == 1
        assert "another `lakebed watch` is at work" in second.stderr
        (project / "landing" / "cities" / "2030-01-01.csv").write_text(
            "country,city,population\nCA,Victoria,92000\n"
        )
        wait_for(project, batches=2)
        wait_for_runs(project, "demo.total", 2)
        (project / "landing" / "many" / "new").mkdir(parents=True)
        (project / "landing" / "many" / "new" / "1.csv").write_text("id\n1\n")
        wait_for(project, batches=1, dataset="many.new")
        watching.send_signal(signal.SIGTERM)
        _, said = watching.communicate(timeout=LONGEST)
    finally:
        watching.kill()
    assert watching.returncode == 0, said
    assert said.rstrip().endswith("stopped")


def test_a_spark_that_dies_is_started_anew(tmp_path: Path) -> None:
    """While nothing is to be done, then while it starts, again and again."""
    project = make_project(tmp_path, 1, 1, {"cities": SNAPSHOT_LOG})
    command = [sys.executable, "-m", "lakebed.cli", "--project", str(project), "watch", "--every", "0.5"]
    with (tmp_path / "said").open("w") as said:
        watching = subprocess.Popen(command, stderr=said)
    try:
        wait_for(project, batches=1)
        kill_jvm(watching.pid)
        wait_until(lambda: "a new one is started" in (tmp_path / "said").read_text())
        (project / "landing" / "cities" / "2030-01-01.csv").write_text(
            "country,city,population\nCA,Victoria,92000\n"
        )
        wait_for(project, batches=2)
        (project / "landing" / "cities" / "2030-01-02.csv").write_text(
            "country,city,population\nCA,Victoria,92001\n"
        )
        for _ in range(DEATHS):
            wait_until(lambda: jvm_of(watching.pid))
            kill_jvm(watching.pid)
            wait_until(lambda: jvm_of(watching.pid) is None)
        watching.wait(LONGEST)
    finally:
        watching.kill()
    told = (tmp_path / "said").read_text()
    assert watching.returncode == 1, told
    assert "[spark_ended]" in told
    assert "Traceback" not in told


def jvm_of(process: int) -> int | None:
    """The JVM that the process has started, if it lives; not the script that comes before it."""
    command = ["ps", "-A", "-ww", "-o", "pid=,ppid=,stat=,args="]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    for line in shown.stdout.splitlines():
        child, parent, state, program, *arguments = line.split()
        is_jvm = program.endswith("java") and any(one.endswith(".SparkSubmit") for one in arguments)
        if is_jvm and int(parent) == process and "Z" not in state:
            return int(child)
    return None


def kill_jvm(process: int) -> None:
    jvm = jvm_of(process)
    assert jvm is not None
    os.kill(jvm, signal.SIGKILL)


def wait_until(seen: Callable[[], object]) -> None:
    until = time.monotonic() + LONGEST
    while not seen():
        assert time.monotonic() < until
        time.sleep(0.2)


def wait_for(project: Path, *, batches: int, dataset: str = "demo.cities") -> None:
    loaded = load_project(project)
    until = time.monotonic() + LONGEST
    while time.monotonic() < until:
        with open_store(loaded.control, base=loaded.root) as store:
            done = store.last_done(dataset)
        if done is not None and done.number >= batches:
            return
        time.sleep(0.2)
    raise AssertionError(f"batch {batches} of {dataset} was not applied within {LONGEST} seconds")


def wait_for_runs(project: Path, dataset: str, count: int) -> None:
    loaded = load_project(project)
    until = time.monotonic() + LONGEST
    while time.monotonic() < until:
        with open_store(loaded.control, base=loaded.root) as store:
            if sum(run.state == "done" for run in store.derived.runs(dataset)) >= count:
                return
        time.sleep(0.2)
    raise AssertionError(f"{dataset} was not computed {count} times within {LONGEST} seconds")
