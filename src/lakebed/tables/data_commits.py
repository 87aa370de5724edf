"""A Delta table as its log tells it: which commits changed data and where (D2), what runs they came from, which partitions
are there. Read from the log's JSON files on this machine: no Spark, and nothing of the table itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from lakebed.dependencies import Partition
from lakebed.tables.commit_log import local_log

_PHYSICAL = "delta.columnMapping.physicalName"
_DIGITS = 20


@dataclass(frozen=True)
class DataCommit:
    """A commit. `partitions` are those whose rows it added or removed: none where it changed no data, as maintenance does.
    `rewrote`: rows were changed or removed, not only added. `facts` is what lakebed wrote into it, if it is lakebed's.
    """

    version: int
    partitions: tuple[Partition, ...]
    rewrote: bool
    facts: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, str] = field(default_factory=dict)
    at: datetime | None = None

    @property
    def run(self) -> str | None:
        """The run that this commit is the result of."""
        run: str | None = self.facts.get("run")
        return run


@dataclass(frozen=True)
class TableMeta:
    """What the log says of the table as a whole: its id, and its partition columns with the names that the log uses."""

    id: str
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class TableLog:
    """The log of one table, as its files stand when first asked. `columns` narrows partitions to these columns, for tables
    that are partitioned by more than a user's columns; None takes all."""

    folder: Path
    columns: tuple[str, ...] | None = None

    @staticmethod
    def of(table: Path, columns: Sequence[str] | None = None) -> TableLog | None:
        """The log of the table in a folder; None if there is no table."""
        log = local_log(str(table))
        found = None if log is None else TableLog(log, tuple(columns) if columns is not None else None)
        return found if found is not None and found.versions else None

    @cached_property
    def versions(self) -> list[int]:
        """The commits whose files are there, oldest first."""
        names = (path.name for path in self.folder.iterdir())
        return sorted(
            int(name[:_DIGITS]) for name in names if name[_DIGITS:] == ".json" and name[:_DIGITS].isdigit()
        )

    @property
    def newest(self) -> int:
        return self.versions[-1]

    def tells_all_after(self, version: int) -> bool:
        """Whether the file of every commit after this one is there."""
        wanted = [one for one in self.versions if one > version]
        return self.newest >= version and wanted == list(range(version + 1, self.newest + 1))

    @cached_property
    def meta(self) -> TableMeta | None:
        """None where the commit that told it is gone."""
        for version in reversed(self.versions):
            for action in self._actions(version, ('"metaData"',)):
                if "metaData" in action:
                    return _meta(action["metaData"])
        return None

    @cached_property
    def table_id(self) -> str | None:
        """Delta's id of the table, which stays as long as the table does; None where it is not told any more."""
        for action in self._actions(self.versions[0], ('"metaData"',)):
            if "metaData" in action:
                return str(action["metaData"]["id"])
        return self.meta.id if self.meta else None

    def commits(self, after: int = -1) -> Iterator[DataCommit]:
        """The commits after a version, in order."""
        return (self.commit(version) for version in self.versions if version > after)

    def commit(self, version: int) -> DataCommit:
        partitions: dict[Partition, None] = {}
        rewrote = False
        info: Mapping[str, Any] = {}
        for action in self._actions(version, ('"add"', '"remove"', '"commitInfo"')):
            info = action.get("commitInfo") or info
            file = action.get("add") or action.get("remove")
            if file and file.get("dataChange"):
                partitions[self._partition(file)] = None
                rewrote = rewrote or "remove" in action
        moment = info.get("timestamp")
        return DataCommit(
            version,
            tuple(sorted(partitions, key=str)),
            rewrote,
            facts_in(info.get("userMetadata")),
            info.get("operationMetrics") or {},
            datetime.fromtimestamp(moment / 1000, UTC) if moment else None,
        )

    def told(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """What lakebed wrote into each commit, where it did, with the commit's version, oldest first."""
        for version in self.versions:
            for action in self._actions(version, ('"commitInfo"',)):
                facts = facts_in((action.get("commitInfo") or {}).get("userMetadata"))
                if facts:
                    yield version, facts

    def present(self) -> frozenset[Partition] | None:
        """The partitions that hold rows; None where the log does not reach back to the table's first commit."""
        if not self.tells_all_after(-1):
            return None
        files: dict[tuple[str, str | None], Partition] = {}
        for version in self.versions:
            for action in self._actions(version, ('"add"', '"remove"')):
                if file := action.get("remove"):
                    files.pop(_identity(file), None)
                elif file := action.get("add"):
                    files[_identity(file)] = self._partition(file)
        return frozenset(files.values())

    def _partition(self, file: Mapping[str, Any]) -> Partition:
        values = file.get("partitionValues") or {}
        names = self.meta.columns if self.meta else tuple((name, name) for name in values)
        if self.columns is not None:
            wanted = {name.lower() for name in self.columns}
            names = tuple(pair for pair in names if pair[0].lower() in wanted)
        return Partition(tuple((name, values.get(physical) or None) for name, physical in names))

    def _actions(self, version: int, marks: Sequence[str]) -> Iterator[dict[str, Any]]:
        with (self.folder / f"{version:0{_DIGITS}}.json").open(encoding="utf-8") as lines:
            for line in lines:
                if any(mark in line for mark in marks):
                    yield json.loads(line)


def tables_in(warehouse: Path) -> dict[str, Path]:
    """Every Delta table at `<warehouse>/<database>/<table>`, by its name in lower case. A folder with a dot in its name is
    none: SQL would take it for two."""
    logs = warehouse.glob("*/*/_delta_log") if warehouse.is_dir() else ()
    folders = [log.parent for log in logs if "." not in log.parent.name + log.parent.parent.name]
    return {f"{one.parent.name}.{one.name}".lower(): one for one in folders}


def facts_in(metadata: str | None) -> Mapping[str, Any]:
    """What lakebed wrote into a commit; nothing if the commit is not lakebed's."""
    try:
        found = json.loads(metadata or "null")
    except ValueError:
        return {}
    facts = found.get("lakebed") if isinstance(found, dict) else None
    return facts if isinstance(facts, dict) else {}


def _meta(action: Mapping[str, Any]) -> TableMeta:
    fields = {one["name"]: one for one in json.loads(action["schemaString"])["fields"]}
    names = tuple(
        (name, fields[name]["metadata"].get(_PHYSICAL, name) if name in fields else name)
        for name in action.get("partitionColumns") or ()
    )
    return TableMeta(str(action["id"]), names)


def _identity(file: Mapping[str, Any]) -> tuple[str, str | None]:
    """A file is one with its deletion vector: another vector makes it another file."""
    vector = file.get("deletionVector") or {}
    return file["path"], f"{vector.get('pathOrInlineDv')}@{vector.get('offset')}" if vector else None
