"""Delta logs written by hand, and runs that only write one: what passes decide is tested without Spark."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.runner.stand_in import project_in

from lakebed.control import ControlStore, open_store
from lakebed.dependencies import Run
from lakebed.errors import DependencyError
from lakebed.manifest import Derived, Project
from lakebed.runner import DerivedOutcome, Edges, PassOutcome, derive_project
from lakebed.runner.derive import Derivation, StepError
from lakebed.tables.data_commits import DataCommit, TableLog

_committing = threading.Lock()


@dataclass
class WrittenTable:
    """A Delta table of which only the log is there."""

    folder: Path
    columns: tuple[str, ...] = ("day",)
    id: str = "0f0f0f0f-table"

    @property
    def log(self) -> Path:
        return self.folder / "_delta_log"

    def _next(self) -> int:
        return len(list(self.log.glob("*.json")))

    def commit(self, *actions: dict[str, Any], user: dict[str, Any] | None = None, rows: int = 1) -> int:
        self.log.mkdir(parents=True, exist_ok=True)
        version = self._next()
        info: dict[str, Any] = {"timestamp": 1_700_000_000_000 + version, "operationMetrics": {}}
        info["operationMetrics"] = {"numOutputRows": str(rows), "numFiles": str(min(rows, 1))}
        if user is not None:
            info["userMetadata"] = json.dumps({"lakebed": user})
        lines = [{"commitInfo": info}, *([] if version else [self._meta()]), *actions]
        text = "\n".join(json.dumps(line) for line in lines)
        (self.log / f"{version:020}.json").write_text(text)
        return version

    def _meta(self) -> dict[str, Any]:
        fields = [{"name": name, "type": "string", "metadata": {}} for name in self.columns]
        schema = json.dumps({"type": "struct", "fields": fields})
        return {"metaData": {"id": self.id, "schemaString": schema, "partitionColumns": list(self.columns)}}

    def add(self, *days: str, user: dict[str, Any] | None = None) -> int:
        """New rows in these partitions."""
        number = self._next() if self.log.is_dir() else 0
        return self.commit(*[self._file("add", day, f"{day}-{number}") for day in days], user=user)

    def change(self, day: str, user: dict[str, Any] | None = None, *, rows: int = 1) -> int:
        """The rows of a partition, if there are some, are others now; with `rows=0` none."""
        log = TableLog.of(self.folder)
        live: dict[str, None] = {}
        for version in log.versions if log else ():
            for action in (
                json.loads(line) for line in (self.log / f"{version:020}.json").read_text().splitlines()
            ):
                file = action.get("add") or action.get("remove")
                if file and file["partitionValues"].get(self.columns[0] if self.columns else "") == day:
                    live[file["path"]] = None
                    if "remove" in action:
                        del live[file["path"]]
        removes = [self._file("remove", day, path) for path in live]
        number = self._next() if self.log.is_dir() else 0
        adds = [self._file("add", day, f"{day}-{number}")] if rows else []
        return self.commit(*removes, *adds, user=user, rows=rows)

    def optimize(self, day: str) -> int:
        return self.commit(self._file("add", day, f"{day}-optimized", changes=False))

    def _file(self, kind: str, day: str | None, path: str, *, changes: bool = True) -> dict[str, Any]:
        values = {self.columns[0]: day} if self.columns else {}
        return {kind: {"path": path, "partitionValues": values, "dataChange": changes}}


@dataclass
class World:
    """A project with derived datasets; its runs write logs and no rows. `broken` are datasets whose runs fail; `dies` ends
    the process, as it were, at the n-th commit: before it or after it."""

    root: Path
    derived: tuple[Derived, ...] = ()
    broken: set[str] = field(default_factory=set)
    ran: list[tuple[str, str | None]] = field(default_factory=list)
    clock: datetime = datetime(2026, 1, 1, tzinfo=UTC)

    @property
    def project(self) -> Project:
        return project_in(self.root, derived=self.derived)

    def table(self, name: str, *columns: str, id: str = "0f0f0f0f-table") -> WrittenTable:  # noqa: A002
        return WrittenTable(self.root / "warehouse" / Path(*name.split(".")), columns or ("day",), id)

    def now(self) -> datetime:
        self.clock += timedelta(seconds=1)
        return self.clock

    @property
    def edges(self) -> Edges:
        return Edges(now=self.now, session=lambda spark: spark, pause=lambda _: None)

    def pass_(self, **options: Any) -> PassOutcome:
        """One pass; what ran is in `ran`, in the order in which it began."""
        self.ran.clear()
        return derive_project(self.project, spark=lambda: None, edges=self.edges, **options)

    def store(self) -> ControlStore:
        return open_store("sqlite:///.lakebed/control.db", base=self.root)

    def lose_the_store(self) -> None:
        for path in (self.root / ".lakebed").iterdir():
            path.unlink()

    def derive(self, work: Derivation, run: Run) -> DerivedOutcome:
        """In place of the real one."""
        self.ran.append((run.dataset, run.target.value))
        if run.dataset in self.broken:
            raise StepError(1, DependencyError("broken", code="sql"))
        commit = self.write(work, run)
        return DerivedOutcome(run, "done", version=commit.version, rewrote=commit.rewrote)

    def write(self, work: Derivation, run: Run) -> DataCommit:
        table = self.table(run.dataset, *[name for name, _ in run.partition.values] if run.partition else ())
        if run.partition is None:
            table.columns = ()
        user = {"run": run.id, **work.facts(run)}
        value = run.target.value or ""
        with _committing:
            before = TableLog.of(table.folder)
            told = {facts.get("run"): version for version, facts in (before.told() if before else ())}
            if run.id in told:  # as Delta does: what has this run's mark already is not written again
                version = told[run.id]
            elif run.write == "overwrite":
                version = table.change(value, user)
            else:
                version = table.add(value, user=user)
        log = TableLog.of(table.folder)
        assert log is not None
        return log.commit(version)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World(tmp_path)
    monkeypatch.setattr("lakebed.runner.derive.derive", made.derive)
    return made
