"""A project on the disk, and a table in memory in place of Spark and Delta: the same interface, no JVM."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from tests.sources.datasets import put

from lakebed.control import BatchPlan, ControlStore, open_store
from lakebed.errors import BatchError
from lakebed.manifest import Dataset, Project, Spark
from lakebed.runner import Edges, RunOutcome, run_project
from lakebed.sources import AnySource, FileSource, LocalFolder

START = datetime(2026, 1, 1, tzinfo=UTC)

DAYS = [f"a.t/2024010{day}.csv" for day in (1, 2, 3)]  # what the tests land for the dataset a.t


@dataclass(frozen=True)
class Report:
    batch: int
    read: int
    version: int

    def as_dict(self) -> dict[str, Any]:
        return {"batch": self.batch, "read": self.read, "version": self.version}


@dataclass
class MemoryTable:
    """Applies a batch once, refuses gaps (G1) and times that go back (G2); `bad` files cannot be applied."""

    applied: list[dict[str, Any]] = field(default_factory=list)
    bad: set[str] = field(default_factory=set)
    known_columns: tuple[str, ...] = ()

    @property
    def last_batch(self) -> int:
        return len(self.applied)

    def apply(
        self,
        rows: Any,
        *,
        batch: int,
        system_time: datetime,
        event_time: datetime | None,
        inputs: Any,
        immutable: bool,
        before_commit: Callable[[], None] = lambda: None,
    ) -> Report:
        assert immutable
        assert [one["path"] for one in inputs] == list(rows)
        assert batch == self.last_batch + 1, "batch_gap"
        assert not self.applied or system_time >= self.applied[-1]["system_time"], "system_time_backwards"
        if refused := self.bad & set(rows):
            raise BatchError(f"bad rows in {sorted(refused)}", code="bad_rows")
        before_commit()
        self.applied.append(
            {
                "batch": batch,
                "files": list(rows),
                "system_time": system_time,
                "event_time": event_time,
                "inputs": list(inputs),
            }
        )
        return Report(batch, len(rows), batch - 1)

    def commit(self, plan: BatchPlan) -> None:
        """What the Spark of a run does that everybody took for dead."""
        inputs = [one.as_dict() for one in plan.inputs]
        rows = [one.path for one in plan.inputs]
        self.apply(
            rows,
            batch=plan.number,
            system_time=plan.system_time,
            event_time=plan.event_time,
            inputs=inputs,
            immutable=True,
        )

    def batches_told(self) -> Iterator[dict[str, Any]]:
        return (
            {
                "batch": one["batch"],
                "inputs": one["inputs"],
                "system_time": one["system_time"].isoformat(),
                "event_time": one["event_time"].isoformat() if one["event_time"] else None,
                "report": {"read": len(one["files"])},
            }
            for one in reversed(self.applied)
        )

    def preview(self, _rows: Any, **_batch: Any) -> Any:
        raise AssertionError("no test of the runner previews with this stand-in")


@dataclass(frozen=True)
class MemoryRows:
    frame: list[str]
    notes: tuple[str, ...] = ()


def project_in(root: Path, **more: Any) -> Project:
    """A project with its landing folder, warehouse and store below `root`."""
    landing, warehouse = str(root / "landing"), str(root / "warehouse")
    given: dict[str, Any] = {"control": "sqlite:///.lakebed/control.db", **more}
    return Project(name="test", root=root, spark=Spark(), landing=landing, warehouse=warehouse, **given)


@dataclass
class World:
    """A project with memory tables. `spark_starts` counts how often a session was asked for."""

    root: Path
    control: str = "sqlite:///.lakebed/control.db"
    datasets: tuple[Dataset, ...] = ()
    tables: dict[str, MemoryTable] = field(default_factory=dict)
    clock: datetime = START
    spark_starts: int = 0
    pauses: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        (self.root / "landing").mkdir(parents=True, exist_ok=True)

    @property
    def project(self) -> Project:
        return project_in(self.root, control=self.control, datasets=self.datasets)

    def add(self, name: str, feed: dict[str, Any] | None = None, **source: Any) -> World:
        """A dataset whose files are `<name>/<day>.csv`."""
        manifest: dict[str, Any] = {
            "dataset": name,
            "source": {"files": f"{name}/{{day:%Y%m%d}}.csv", "format": "csv"} | source,
            "feed": feed or {"kind": "snapshot", "key": ["id"]},
            "history": {"kind": "log"},
        }
        if "event_time" not in source:
            manifest["source"]["event_time"] = {"from": "path", "part": "day"}
        self.datasets = (*self.datasets, Dataset.model_validate(manifest))
        self.tables.setdefault(name, MemoryTable())
        return self

    def land(self, *paths: str, text: str = "id\n1\n", young: bool = False) -> None:
        """Files of an hour before the world's clock begins, or of right now."""
        modified = None if young else START.timestamp() - 3600
        for path in paths:
            put(self.root / "landing", path, text, modified=modified)

    def spark(self) -> str:
        self.spark_starts += 1
        return "no session"

    def now(self) -> datetime:
        self.clock += timedelta(seconds=1)
        return self.clock

    def open_table(self, _spark: Any, dataset: Dataset, path: str) -> MemoryTable:
        assert path == str(self.root / "warehouse" / dataset.name.replace(".", "/"))
        return self.tables[dataset.name]

    def open_source(self, dataset: Dataset, landing: str, _spark: Any) -> AnySource:
        source: Any = FileSource(dataset, LocalFolder(Path(landing)))
        source.read = lambda _spark, files, _known: MemoryRows([file.path for file in files])
        return cast("AnySource", source)

    @property
    def edges(self) -> Edges:
        return Edges(
            open_table=self.open_table,
            open_source=self.open_source,
            pause=self.pauses.append,
            session=lambda spark: spark,
            set_for_size=lambda *_: None,
        )

    def run(self, **options: Any) -> RunOutcome:
        return self.run_with(self.edges, **options)

    def run_with(self, edges: Edges, **options: Any) -> RunOutcome:
        return run_project(self.project, spark=self.spark, now=self.now, edges=edges, **options)

    def store(self) -> ControlStore:
        return open_store(self.control, base=self.root)

    def open_plan(self, name: str) -> BatchPlan:
        """The plan that a run has left open."""
        with self.store() as store:
            batch = store.open_batch(name)
        assert batch is not None
        return batch.plan

    def files(self, name: str) -> list[list[str]]:
        return [batch["files"] for batch in self.tables[name].applied]


def may_not_be_listed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders of this name are closed to us from now on; to root, the rights of a folder close nothing."""
    scandir = os.scandir

    def denied(place: Any) -> Any:
        if Path(place).name == name:
            raise PermissionError(13, "Permission denied", str(place))
        return scandir(place)

    monkeypatch.setattr(os, "scandir", denied)
