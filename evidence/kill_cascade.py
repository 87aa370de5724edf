"""`lakebed run` killed by SIGKILL at random moments of a cascade of three hops: orders that are corrected late, sales by day,
by week, and in all; beside them a table to which each arrival is appended. Every round lands a file, starts a run and kills
it; every third kill also loses the control store. Then one run to the end. Every partition must be what plain Python computes
from the files; no arrival may be appended twice or be missing."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from tests.end_to_end.killing import PROJECT, end_group, finish, start, traces, wait_for_trace

from evidence.comparing import missing
from evidence.figure import Figure, part
from lakebed.control import open_store
from lakebed.manifest import load_project
from lakebed.session import session

KILLS = 30
ORDERS = """\
dataset: shop.orders
source:
  files: orders/{number}.csv
  format: csv
  schema: "id bigint, day string, amount bigint, changed bigint"
  max_files: 1
feed: {kind: updates, key: [id], order_by: [changed]}
history: {kind: current}
partition_by: [day]
"""
DERIVED = """\
dataset: shop.{name}
dependencies:
  - {{table_name: shop.{source}, usage: {usage}, field_column: {field}, date_expression: "%Y%m%d"{shift}}}
partition_column: {partition}
partition_python_mask: "%Y%m%d"
steps: [{{sql: "{sql}"}}]
date_substitutions:
  - {{token: $date, format: "%Y%m%d"}}
  - {{token: $end, format: "%Y%m%d", relativedelta_attributes: {{days: 6}}}}
"""
DAILY = "SELECT count(*) AS orders, sum(amount) AS amount FROM shop.orders WHERE day = '$date'"
WEEKLY = (
    "SELECT sum(orders) AS orders, sum(amount) AS amount FROM shop.daily WHERE day BETWEEN '$date' AND '$end'"
)
TOTAL = """\
dataset: shop.total
dependencies: [{table_name: shop.weekly, usage: overwrite}]
steps: [{sql: "SELECT sum(orders) AS orders, sum(amount) AS amount FROM shop.weekly"}]
"""
TABLES = {
    "orders": ("id", "day", "amount", "changed"),
    "daily": ("orders", "amount", "day"),
    "weekly": ("orders", "amount", "week"),
    "total": ("orders", "amount"),
    "arrivals": ("what", "day"),
}


def run(seed: int, share: float) -> list[Figure]:
    kills = part(KILLS, share)
    with tempfile.TemporaryDirectory(prefix="lakebed-cascade-") as name:
        project = make_project(Path(name) / "shop")
        land(project, seed, 0)
        _, worked = finish(project)
        lost, moments = kill_each_round(project, seed, kills, longest_wait=worked)
        land(project, seed, kills + 1)
        last, _ = finish(project)
        spark = session("local[2]")
        expected = computed(project)
        found = {table: rows(spark, project, table) for table in TABLES}
        left = leftovers(project)
    states = [one["state"] for one in last["derived"]["runs"]]
    return [
        Figure("runs killed", len(moments)),
        Figure("of them with the control store lost too", lost),
        Figure("partitions that the last run computed", states.count("done")),
        Figure("partitions that it found computed already", states.count("held")),
        Figure("rows expected in five tables", sum(map(len, expected.values()))),
        Figure("rows missing or different", sum(missing(expected[one], found[one]) for one in TABLES)),
        Figure("rows too many", sum(missing(found[one], expected[one]) for one in TABLES)),
        Figure("dead letters and waiting targets left", left),
    ]


def make_project(folder: Path) -> Path:
    (folder / "datasets").mkdir(parents=True)
    (folder / "landing" / "orders").mkdir(parents=True)
    (folder / "lakebed.yaml").write_text(PROJECT)
    day: dict[str, Any] = {"source": "orders", "field": "day", "partition": "day", "shift": ""}
    week = {"source": "daily", "field": "day", "partition": "week"}
    week["shift"] = ", relativedelta_attributes: {weekday: MO(-1)}"
    texts = {
        "orders": ORDERS,
        "daily": DERIVED.format(name="daily", usage="overwrite", sql=DAILY, **day),
        "weekly": DERIVED.format(name="weekly", usage="overwrite", sql=WEEKLY, **week),
        "total": TOTAL,
        "arrivals": DERIVED.format(name="arrivals", usage="append", sql="SELECT 'arrived' AS what", **day),
    }
    texts["arrivals"] = texts["arrivals"].replace("shop.orders, usage", "shop.daily, usage")
    for name, text in texts.items():
        (folder / "datasets" / f"{name}.yaml").write_text(text)
    return folder


def land(project: Path, seed: int, number: int) -> None:
    """The file of a round: three orders of its day, and one of an earlier day corrected. It depends on seed and round alone."""
    chance = random.Random(seed * 1000 + number)
    lines = [
        f"{number * 3 + n},202401{number % 28 + 1:02},{chance.randrange(100)},{number}" for n in range(3)
    ]
    if number:
        old = chance.randrange(number)
        lines.append(f"{old * 3},202401{old % 28 + 1:02},{chance.randrange(100)},{number}")
    path = project / "landing" / "orders" / f"{number:04}.csv"
    path.write_text("\n".join(["id,day,amount,changed", *lines]) + "\n")
    os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def kill_each_round(project: Path, seed: int, kills: int, longest_wait: float) -> tuple[int, list[str]]:
    """How often the store was lost, and each moment in words."""
    chance, lost, moments = random.Random(seed), 0, list[str]()
    started: list[subprocess.Popen[str]] = []
    try:
        for number in range(1, kills + 1):
            land(project, seed, number)
            wait, alone = chance.uniform(0, longest_wait), chance.random() < 0.5
            before, process = traces(project), start(project)
            started.append(process)
            wait_for_trace(process, project, before)
            with suppress(subprocess.TimeoutExpired):
                process.wait(wait)
            if process.poll() is None:
                (os.kill if alone else os.killpg)(process.pid, signal.SIGKILL)
                process.wait()
                moments.append(f"{'Python alone' if alone else 'Python and JVM'} after {wait:.1f} s")
            if number % 3 == 0:
                shutil.rmtree(project / ".lakebed", ignore_errors=True)
                lost += 1
    finally:
        for process in started:
            end_group(process)
    return lost, moments


def computed(project: Path) -> dict[str, list[tuple[Any, ...]]]:
    """What the tables must hold, from the files alone."""
    orders: dict[int, tuple[int, str, int, int]] = {}
    for path in sorted((project / "landing" / "orders").iterdir()):
        for line in path.read_text().splitlines()[1:]:
            id_, day, amount, changed = line.split(",")
            orders[int(id_)] = (int(id_), day, int(amount), int(changed))
    daily: dict[str, list[int]] = {}
    weekly: dict[str, list[int]] = {}
    for _, on, worth, _ in orders.values():
        date = datetime.strptime(on, "%Y%m%d").replace(tzinfo=UTC)
        week = f"{date - timedelta(days=date.weekday()):%Y%m%d}"
        for totals, key in ((daily, on), (weekly, week)):
            totals.setdefault(key, []).append(worth)
    everything = [worth for some in daily.values() for worth in some]
    return {
        "orders": sorted(orders.values(), key=str),
        "daily": sorted(((len(some), sum(some), day) for day, some in daily.items()), key=str),
        "weekly": sorted(((len(some), sum(some), week) for week, some in weekly.items()), key=str),
        "total": [(len(everything), sum(everything))],
        "arrivals": sorted(("arrived", day) for day in daily),
    }


def rows(spark: SparkSession, project: Path, name: str) -> list[tuple[Any, ...]]:
    frame = spark.read.format("delta").load(str(project / "warehouse" / "shop" / name))
    return sorted((tuple(row) for row in frame.select(*TABLES[name]).collect()), key=str)


def leftovers(project: Path) -> int:
    loaded = load_project(project)
    with open_store(loaded.control, base=loaded.root) as store:
        return len(store.derived.dead_letters()) + len(store.derived.waiting())
