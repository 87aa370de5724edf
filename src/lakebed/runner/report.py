"""What a run did, as data: for people, for `--format json`, for tests."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from lakebed.control import Batch, Run
from lakebed.errors import LakebedError


@dataclass(frozen=True)
class BatchOutcome:
    """One batch that has reached its table, in this run or, `already_applied`, in one that died before it could say so."""

    dataset: str
    number: int
    files: tuple[str, ...]
    report: Mapping[str, Any]
    already_applied: bool = False
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {
            "batch": self.number,
            "files": list(self.files),
            "report": dict(self.report),
            "already_applied": self.already_applied,
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class DatasetOutcome:
    """All that a run did for one dataset. `error` is why it stopped; the batches before it are there all the same."""

    dataset: str
    batches: tuple[BatchOutcome, ...] = ()
    error: LakebedError | None = None
    busy: bool = False  # another run is at work on it
    notes: tuple[str, ...] = ()

    @property
    def state(self) -> Literal["idle", "done", "failed", "busy"]:
        if self.error is not None:
            return "failed"
        if self.busy:
            return "busy"
        return "done" if self.batches else "idle"

    def as_dict(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "state": self.state,
            "batches": [batch.as_dict() for batch in self.batches],
            "error": self.error.as_dict() if self.error else None,
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class RunOutcome:
    project: str
    datasets: tuple[DatasetOutcome, ...]

    @property
    def failed(self) -> tuple[DatasetOutcome, ...]:
        return tuple(one for one in self.datasets if one.error is not None)

    def as_dict(self) -> dict[str, Any]:
        return {"project": self.project, "datasets": [one.as_dict() for one in self.datasets]}


@dataclass(frozen=True)
class DatasetStatus:
    """Where a dataset stands, told without Spark. `waiting` are files that no finished batch has; `trouble` says why they are not
    known."""

    dataset: str
    last_batch: Batch | None = None
    open_batch: Batch | None = None
    waiting: tuple[str, ...] = ()
    last_run: Run | None = None
    trouble: str | None = None

    def as_dict(self) -> dict[str, Any]:
        last, run = self.last_batch, self.last_run
        return {
            "dataset": self.dataset,
            "last_batch": last.number if last else None,
            "last_system_time": last.plan.system_time.isoformat() if last else None,
            "open_batch": self.open_batch.number if self.open_batch else None,
            "waiting": list(self.waiting),
            "trouble": self.trouble,
            "last_run": {"state": run.state, "started_at": run.started_at.isoformat(), "error": run.error}
            if run
            else None,
        }


class Progress(Protocol):
    """Who wants to know how far a run is. `left`: how many files are known that come after those of the batch."""

    def dataset_started(self, dataset: str) -> None: ...
    def batch_started(self, dataset: str, number: int, files: Sequence[str], left: int) -> None: ...
    def batch_finished(self, outcome: BatchOutcome) -> None: ...
    def dataset_finished(self, outcome: DatasetOutcome) -> None: ...


class InTurn:
    """One voice at a time: datasets that are loaded side by side tell their progress one after the other."""

    def __init__(self, to: Progress) -> None:
        self._to, self._lock = to, threading.Lock()

    def dataset_started(self, dataset: str) -> None:
        with self._lock:
            self._to.dataset_started(dataset)

    def batch_started(self, dataset: str, number: int, files: Sequence[str], left: int) -> None:
        with self._lock:
            self._to.batch_started(dataset, number, files, left)

    def batch_finished(self, outcome: BatchOutcome) -> None:
        with self._lock:
            self._to.batch_finished(outcome)

    def dataset_finished(self, outcome: DatasetOutcome) -> None:
        with self._lock:
            self._to.dataset_finished(outcome)


class Silent:
    """Progress that nobody watches; also a base for one that watches only some of it."""

    def dataset_started(self, dataset: str) -> None: ...
    def batch_started(self, dataset: str, number: int, files: Sequence[str], left: int) -> None: ...
    def batch_finished(self, outcome: BatchOutcome) -> None: ...
    def dataset_finished(self, outcome: DatasetOutcome) -> None: ...
