"""`lakebed watch`: what lands is applied, and computed two hops on, with nothing else done, also where it is
the first file of a table; it ends when asked to."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.end_to_end.killing import SNAPSHOT_LOG, make_project

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
