"""One batch that writes every table it can, for tests that break it in the middle: versions and logs, with deletes,
late events and bad rows."""

from __future__ import annotations

import datetime as dt
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import lakebed as lb

START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
COLUMNS = "id bigint, v string, seq bigint, op string"
FIRST = [(1, "a", 10, "U"), (2, "b", 10, "U"), (3, "c", 10, "U"), (4, "d", 10, "U")]
SECOND = [
    (1, "a2", 20, "U"),  # closes a version, opens another
    (2, None, 20, "D"),  # moves the head out of the table
    (3, "early", 5, "U"),  # late
    (4, "d", 10, "U"),  # known already
    (5, "new", 20, "U"),
    (None, "bad", 20, "U"),  # no key
]
CHANGES = lb.Changes(key=["id"], order_by=["seq"], delete_when="op = 'D'", except_columns=["seq", "op"])
TABLES = ("", "__journal", "__heads", "__state", "__rejected")


def frame(spark: SparkSession, rows: list[tuple[Any, ...]]) -> DataFrame:
    return spark.createDataFrame(rows, COLUMNS)


@dataclass(frozen=True)
class Scenario:
    """A table with one batch applied; each try starts from a copy of it."""

    spark: SparkSession
    base: Path
    history: Any
    feed: Any = CHANGES

    def table(self, path: Path) -> lb.Table:
        return lb.table(self.spark, str(path), feed=self.feed, history=self.history)

    def prepare(self) -> None:
        self.table(self.base).apply(frame(self.spark, FIRST), batch=1, system_time=START)

    def copy(self, name: str) -> Path:
        copied = self.base.parent / name
        for suffix in TABLES:
            source = Path(f"{self.base}{suffix}")
            if source.exists():
                shutil.copytree(source, f"{copied}{suffix}", copy_function=shutil.copy2)
        return copied

    def second(self, path: Path) -> lb.BatchReport:
        return self.table(path).apply(
            frame(self.spark, SECOND), batch=2, system_time=START + dt.timedelta(days=1)
        )


def content(spark: SparkSession, path: Path) -> dict[str, list[str]]:
    """All rows of all tables of a dataset, but for what says when they were written."""
    found: dict[str, list[str]] = {}
    for suffix in TABLES:
        place = Path(f"{path}{suffix}")
        if (place / "_delta_log").is_dir():
            rows = spark.read.format("delta").load(str(place))
            found[suffix] = sorted(str(row.asDict(recursive=True)) for row in rows.collect())
    return {name: rows for name, rows in found.items() if rows}
