"""What a plain loop makes of Debezium's messages: every version of every key. No Spark, no lakebed."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

Version = tuple[Any, ...]
COLUMNS = ("id", "name", "description", "weight")


def versions(lines: list[str]) -> tuple[list[Version], int]:
    """One tuple per version (the columns, valid_from, is_current, is_deleted), and how many messages name no row."""
    messages = [json.loads(line) for line in lines if line.strip()]
    changes = sorted((message.get("payload", message) for message in messages), key=_place)
    found: dict[int, list[list[Any]]] = {}
    lost = 0
    for change in changes:
        row, old = change["after"], change["before"]
        if row is None and old is None:
            lost += 1
            continue
        key = (row or old)["id"]
        life = found.setdefault(key, [])
        values = [row[name] for name in COLUMNS] if row else None
        if life and values == life[-1][: len(COLUMNS)] and life[-1][-2]:
            continue
        if life and life[-1][-2]:
            life[-1][-2:] = [False, row is None]
        if values:
            life.append([*values, _time(change["source"]["ts_ms"] or change["ts_ms"]), True, False])
    return [tuple(version) for life in found.values() for version in life], lost


def _place(change: dict[str, Any]) -> tuple[int, ...]:
    """Rows of the snapshot first, then by the place in the database's log."""
    source = change["source"]
    first = source["snapshot"] in ("true", "last", True)
    if "lsn" in source:
        return (not first, source["lsn"])
    return (not first, int(source["file"].rpartition(".")[2]), source["pos"], source["row"])


def _time(millis: int) -> datetime:
    return datetime.fromtimestamp(millis / 1000, UTC).replace(tzinfo=None)
