"""The logs of a project's tables, each read once for a pass: what a pass knows, it knows from here."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from lakebed.dependencies import Partition, Run
from lakebed.manifest import Project, Versions
from lakebed.sources import local_folder
from lakebed.tables.data_commits import TableLog, tables_in


@dataclass
class Done:
    """What the commits of a derived table say was computed: their runs, and for each target the events that were overwritten
    for. It is told by the table alone, so a run that died after its commit, or a lost store, makes nothing twice."""

    runs: set[str] = field(default_factory=set)
    events: dict[str | None, set[str]] = field(default_factory=dict)

    def holds(self, run: Run) -> bool:
        """Whether the target has what this run would give it."""
        if run.id in self.runs:
            return True
        mine = {cause.event for cause in run.causes}
        return run.write == "overwrite" and mine <= self.events.get(run.target.value, set())


class TableLogs:
    """Every table of the warehouse, by its name in whatever case."""

    def __init__(self, project: Project, spark: Callable[[], Any]) -> None:
        self.warehouse = local_folder(project.warehouse, setting="warehouse")
        self._spark = spark
        self._partition_by = {one.name.lower(): one.partition_columns for one in project.datasets}
        names = [*(one.name for one in project.datasets), *(one.name for one in project.derived)]
        self._own = {name.lower(): self.warehouse.joinpath(*name.split(".")) for name in names}
        self._lock = threading.Lock()
        self._logs: dict[str, TableLog | None] = {}
        self._done: dict[str, Done] = {}
        self.versions = {
            one.name.lower(): one.history for one in project.datasets if isinstance(one.history, Versions)
        }

    def folder(self, name: str) -> Path:
        """Where a table lies, or would."""
        return self._own.get(name.lower()) or self._others.get(
            name.lower(), self.warehouse.joinpath(*name.split("."))
        )

    @cached_property
    def _others(self) -> dict[str, Path]:
        return tables_in(self.warehouse)

    def log(self, name: str) -> TableLog | None:
        """The table's log as it stood when first asked; None if there is no table."""
        key = name.lower()
        if key not in self._logs:
            self._logs[key] = TableLog.of(self.folder(name), self._partition_by.get(key))
        return self._logs[key]

    def forget(self, name: str) -> None:
        """Look anew at the next use: somebody has written."""
        self._logs.pop(name.lower(), None)

    def present(self, names: Iterable[str]) -> dict[str, frozenset[Partition]]:
        """The partitions that are there, of each table by its name in lower case. One that a run left without rows counts:
        it was computed."""
        return {name.lower(): self._present(name) for name in names}

    def _present(self, name: str) -> frozenset[Partition]:
        log = self.log(name)
        if log is None:
            return frozenset()
        there = log.present()
        if there is None:
            there = self._seen_by_spark(name, log)
        return there | self._computed_empty(log)

    def _seen_by_spark(self, name: str, log: TableLog) -> frozenset[Partition]:
        """For a log whose beginning is gone."""
        from lakebed.tables.partitions import partitions_of  # noqa: PLC0415 - only where Spark is needed

        return partitions_of(self._spark(), self.folder(name), log.columns)

    @staticmethod
    def _computed_empty(log: TableLog) -> frozenset[Partition]:
        commits = (log.commit(version) for version, facts in log.told() if "run" in facts)
        return frozenset(
            Partition(tuple(commit.facts["partition"].items()))
            for commit in commits
            if commit.facts.get("partition") and commit.metrics.get("numFiles") == "0"
        )

    def done(self, name: str) -> Done:
        """What the derived table of this name has computed; kept up by whoever adds to it."""
        key = name.lower()
        with self._lock:
            if key not in self._done:
                found = Done()
                log = self.log(name)
                for _, facts in log.told() if log else ():
                    note(found, facts)
                self._done[key] = found
            return self._done[key]


def note(done: Done, facts: Mapping[str, Any]) -> None:
    """Take a commit's facts into account."""
    if "run" not in facts:
        return
    done.runs.add(facts["run"])
    value = next(iter((facts.get("partition") or {}).values()), None)
    if facts.get("write") == "overwrite":
        done.events.setdefault(value, set()).update(cause["event"] for cause in facts.get("causes", ()))
