"""Eight derived tables that depend on one and not on each other, each computed by a query that keeps one core busy: how far `lakebed
run` computes them at the same time. With as many runs at once as the machine has cores, or more, none of them is idle."""

from __future__ import annotations

import os
import tempfile
from datetime import datetime
from pathlib import Path

from tests.end_to_end.killing import PROJECT, finish

from evidence.figure import Figure, part
from evidence.kill_cascade import DERIVED, ORDERS
from lakebed.control import open_store
from lakebed.manifest import load_project

DATASETS, NUMBERS = 8, 10_000_000
BUSY = (
    "SELECT count(*) AS orders, first(s) AS busy FROM shop.orders, "
    "(SELECT sum(pmod(xxhash64(id), 7)) AS s FROM range(0, NUMBERS, 1, 1)) WHERE day = '$date'"
)


def run(_seed: int, share: float) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="lakebed-beside-") as name:
        project = make_project(Path(name) / "shop", part(NUMBERS, share))
        finish(project)
        loaded = load_project(project)
        with open_store(loaded.control, base=loaded.root) as store:
            runs = [run for run in store.derived.runs() if run.finished_at is not None]
    spans = sorted((run.started_at, run.finished_at) for run in runs if run.finished_at is not None)
    in_all = sum((end - begin).total_seconds() for begin, end in spans)
    return [
        Figure("cores", os.cpu_count() or 0),
        Figure("runs", len(runs)),
        Figure("seconds of all runs together", round(in_all, 1)),
        Figure("seconds on the clock", round(covered(spans), 1)),
        Figure("runs at the same time, on average", round(in_all / covered(spans), 2)),
    ]


def covered(spans: list[tuple[datetime, datetime]]) -> float:
    """The seconds in which at least one of them went on; `spans` in order of their beginnings."""
    seconds, reached = 0.0, spans[0][0]
    for begin, end in spans:
        if end > reached:
            seconds += (end - max(begin, reached)).total_seconds()
            reached = end
    return seconds


def make_project(folder: Path, numbers: int) -> Path:
    (folder / "datasets").mkdir(parents=True)
    (folder / "landing" / "orders").mkdir(parents=True)
    (folder / "lakebed.yaml").write_text(PROJECT)
    (folder / "datasets" / "orders.yaml").write_text(ORDERS)
    sql = BUSY.replace("NUMBERS", str(numbers))
    for number in range(DATASETS):
        text = DERIVED.format(
            name=f"by_day_{number}",
            source="orders",
            usage="overwrite",
            field="day",
            partition="day",
            shift="",
            sql=sql,
        )
        (folder / "datasets" / f"by_day_{number}.yaml").write_text(text)
    (folder / "landing" / "orders" / "0001.csv").write_text("id,day,amount,changed\n1,20240101,5,1\n")
    return folder
