"""What a plain loop makes of snapshots in CSV: every version of every key. No Spark, no lakebed."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

OPEN = "9999-12-31T00:00:00.000000Z"
Version = dict[str, Any]


def versions(files: Iterable[tuple[datetime, Path]], key: str) -> list[Version]:
    """One row per version, with the columns that were ever there; times as `lakebed show` prints them."""
    live: dict[str, Version] = {}
    closed: list[Version] = []
    columns: dict[str, None] = {}
    for time, path in files:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        rows = {str(row[key]): row for row in _rows(path)}
        columns |= dict.fromkeys(name for row in rows.values() for name in row)
        gone = live.keys() - rows.keys()
        closed += [
            {**live.pop(name), "valid_to": moment, "is_current": False, "is_deleted": True} for name in gone
        ]
        for name, row in rows.items():
            old = live.get(name)
            if old is not None and all(old.get(column) == row.get(column) for column in columns):
                continue
            if old is not None:
                closed.append({**old, "valid_to": moment, "is_current": False, "is_deleted": False})
            own = {"valid_from": moment, "valid_to": OPEN, "is_current": True, "is_deleted": False}
            live[name] = {**row, **own}
    every = [*closed, *live.values()]
    return [{**dict.fromkeys(columns), **version} for version in every]


def _rows(path: Path) -> Iterator[dict[str, str | None]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = csv.reader(file)
        header = next(lines)
        for values in lines:
            if len(values) == len(header):  # others cannot be read: they are set aside (G5)
                yield {name: value or None for name, value in zip(header, values, strict=True)}
