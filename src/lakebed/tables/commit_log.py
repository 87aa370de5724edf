"""The newest commits of a table: from its log files where they are on this machine, else by asking Spark.

A commit of Delta is one JSON file, never changed, so reading a few of them tells what a `DESCRIBE HISTORY` tells, in
milliseconds and without a job.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

Partitions = tuple[dict[str, str | None], ...]

_NAME = 20 + len(".json")
UNKNOWN_VERSION = -1


class Told(NamedTuple):
    """What a commit tells: lakebed's own facts, or None; and where a RESTORE made it, the version that the table was brought back to
    (`UNKNOWN_VERSION` if that was chosen by a time)."""

    version: int
    facts: dict[str, Any] | None
    restored_to: int | None = None


def local_log(location: str) -> Path | None:
    """The folder of the table's log, or None where the table is not on this machine."""
    parts = urlsplit(location)
    if parts.scheme not in ("", "file"):
        return None
    path = unquote(parts.path) if parts.scheme else location
    log = Path(path) / "_delta_log"
    return log if log.is_dir() else None


def touched_partitions(log: Path, version: int, columns: Sequence[str]) -> Partitions | None:
    """The partitions whose rows the commit added or removed, by the values of `columns`; None where that cannot be told.

    Told by the commit's own list of files, so it holds with deletion vectors too, and nothing of the table is read.
    """
    physical = _physical_names(log, version)
    if physical is None or any(name.lower() not in physical for name in columns):
        return None
    found: dict[tuple[str | None, ...], None] = {}
    for action in _actions(log / f"{version:020}.json", ('"add"', '"remove"')):
        file = action.get("add") or action.get("remove")
        if file and file.get("dataChange"):
            values = file.get("partitionValues") or {}
            found[tuple(values.get(physical[name.lower()]) or None for name in columns)] = None
    order = sorted(found, key=lambda values: [(value is not None, value or "") for value in values])
    return tuple(dict(zip(columns, values, strict=True)) for values in order)


def _physical_names(log: Path, version: int) -> dict[str, str] | None:
    """What the log calls each column: its own name, or another where the table maps them."""
    for number in range(version, -1, -1):
        path = log / f"{number:020}.json"
        if not path.is_file():
            return None
        for action in _actions(path, ('"metaData"',)):
            if "metaData" in action:
                fields = json.loads(action["metaData"]["schemaString"])["fields"]
                mapped = "delta.columnMapping.physicalName"
                return {f["name"].lower(): f["metadata"].get(mapped, f["name"]) for f in fields}
    return None


def _actions(commit: Path, marks: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The actions of a commit whose line has one of the marks."""
    with commit.open(encoding="utf-8") as lines:
        for line in lines:
            if any(mark in line for mark in marks):
                yield json.loads(line)


def newest_commits(log: Path) -> Iterator[Told]:
    """The newest first."""
    names = (name for name in (path.name for path in log.iterdir()) if len(name) == _NAME)
    for name in sorted(
        (name for name in names if name.endswith(".json") and name[:20].isdigit()), reverse=True
    ):
        found = (one.get("commitInfo") for one in _actions(log / name, ('"commitInfo"',)))
        yield told_by(int(name[:20]), next(filter(None, found), {}))


def told_by(version: int, info: Mapping[str, Any]) -> Told:
    """What the commit of this version tells; `info` is Delta's own account of it."""
    restored = None
    if info.get("operation") == "RESTORE":
        chosen = (info.get("operationParameters") or {}).get("version")
        restored = UNKNOWN_VERSION if chosen is None else int(chosen)
    return Told(version, _facts(info.get("userMetadata")), restored)


def _facts(metadata: str | None) -> dict[str, Any] | None:
    """What lakebed wrote into a commit; None if the commit is not lakebed's."""
    if not metadata:
        return None
    try:
        found = json.loads(metadata)
    except ValueError:
        return None
    facts = found.get("lakebed") if isinstance(found, dict) else None
    return facts if isinstance(facts, dict) and "batch" in facts else None
