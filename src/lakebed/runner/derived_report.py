"""What came of runs of derived datasets, as data: for people, for `--format json`, for tests."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from lakebed.control import DeadLetter
from lakebed.dependencies import Cause, Partition, Reported, Run, Waiting
from lakebed.errors import LakebedError


@dataclass(frozen=True)
class DerivedOutcome:
    """One run: `done`, `failed` for good at a step, or `held`: the table had all of it already."""

    run: Run
    state: Literal["done", "failed", "held"]
    seconds: float = 0.0
    version: int | None = None
    rows: int | None = None
    files: int | None = None
    rewrote: bool = False
    failed_step: int | None = None
    error: LakebedError | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "run": self.run.id,
            "dataset": self.run.dataset,
            "partition": as_object(self.run.partition),
            "write": self.run.write,
            "state": self.state,
            "causes": causes_as_data(self.run.causes),
            "seconds": round(self.seconds, 3),
            "version": self.version,
            "rows": self.rows,
            "files": self.files,
            "failed_step": self.failed_step,
            "error": self.error.as_dict() if self.error else None,
        }


@dataclass(frozen=True)
class PassOutcome:
    """One pass: its runs as they ended, what waits, which dead letters it left, what somebody should know of."""

    runs: tuple[DerivedOutcome, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    dead: tuple[DeadLetter, ...] = ()
    reported: tuple[Reported, ...] = ()
    busy: bool = False  # another process is at work on derived datasets

    @property
    def failed(self) -> tuple[DerivedOutcome, ...]:
        return tuple(one for one in self.runs if one.state == "failed")

    @property
    def done(self) -> tuple[DerivedOutcome, ...]:
        return tuple(one for one in self.runs if one.state == "done")

    def as_dict(self) -> dict[str, Any]:
        return {
            "runs": [one.as_dict() for one in self.runs],
            "waiting": [
                {
                    "dataset": one.dataset,
                    "partition": as_object(one.partition),
                    "arrived": list(one.arrived),
                    "missing": list(one.missing),
                }
                for one in self.waiting
            ],
            "dead": [letter_as_data(one) for one in self.dead],
            "reported": [
                {"dataset": one.dataset, "table": one.table, "event": one.event, "what": one.what}
                for one in self.reported
            ],
            "busy": self.busy,
        }


class RunProgress(Protocol):
    """Who wants to know how far a pass is."""

    def run_started(self, run: Run) -> None: ...
    def run_finished(self, outcome: DerivedOutcome) -> None: ...


class RunsInTurn:
    """One voice at a time: runs that go side by side tell their progress one after the other."""

    def __init__(self, to: RunProgress) -> None:
        self._to, self._lock = to, threading.Lock()

    def run_started(self, run: Run) -> None:
        with self._lock:
            self._to.run_started(run)

    def run_finished(self, outcome: DerivedOutcome) -> None:
        with self._lock:
            self._to.run_finished(outcome)


class NobodyWatches:
    """Progress of a pass that nobody wants to know."""

    def run_started(self, run: Run) -> None: ...
    def run_finished(self, outcome: DerivedOutcome) -> None: ...


def as_object(partition: Partition | None) -> dict[str, str | None] | None:
    return dict(partition.values) if partition else None


def causes_as_data(causes: Iterable[Cause]) -> list[dict[str, Any]]:
    return [cause.as_dict() for cause in causes]


def letter_as_data(letter: DeadLetter) -> dict[str, Any]:
    return {
        "id": letter.id,
        "dataset": letter.dataset,
        "partition": letter.partition,
        "step": letter.step,
        "error": dict(letter.error),
        "causes": causes_as_data(letter.causes),
        "at": letter.at,
    }
