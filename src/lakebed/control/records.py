"""What the control store gives out and takes in: plain frozen records, all times UTC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from lakebed.dependencies import Cause

BatchState = Literal["planned", "done"]
RunState = Literal["running", "done", "failed"]


def utc(moment: datetime) -> datetime:
    """The same instant in UTC; a time without a zone has no meaning here and is refused."""
    if moment.tzinfo is None:
        raise ValueError(f"a time without a zone: {moment.isoformat()}")
    return moment.astimezone(UTC)


@dataclass(frozen=True, slots=True)
class Input:
    """One thing a batch reads. The identity decides whether it was taken before: a file that is written again is a new one."""

    path: str
    size: int
    modified_ns: int

    @property
    def identity(self) -> str:
        return f"{self.size}:{self.modified_ns}:{self.path}"

    def as_dict(self) -> dict[str, Any]:
        return {"path": self.path, "size": self.size, "modified_ns": self.modified_ns}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Input:
        return cls(path=str(data["path"]), size=int(data["size"]), modified_ns=int(data["modified_ns"]))


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """What a batch will be, decided before anything is touched. A retry reads this, never the folder again."""

    dataset: str
    number: int
    inputs: tuple[Input, ...]
    system_time: datetime
    event_time: datetime | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "number": self.number,
            "inputs": [one.as_dict() for one in self.inputs],
            "system_time": utc(self.system_time).isoformat(),
            "event_time": utc(self.event_time).isoformat() if self.event_time else None,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> BatchPlan:
        event_time = data["event_time"]
        return cls(
            dataset=str(data["dataset"]),
            number=int(data["number"]),
            inputs=tuple(Input.from_dict(one) for one in data["inputs"]),
            system_time=utc(datetime.fromisoformat(data["system_time"])),
            event_time=utc(datetime.fromisoformat(event_time)) if event_time else None,
        )


@dataclass(frozen=True, slots=True)
class Batch:
    """A plan and what became of it. `report` is the table's (G8), there once the batch is done."""

    plan: BatchPlan
    state: BatchState
    planned_at: datetime
    finished_at: datetime | None = None
    report: Mapping[str, Any] = field(default_factory=dict)

    @property
    def number(self) -> int:
        return self.plan.number


@dataclass(frozen=True, slots=True)
class Run:
    """One dataset's part of one run."""

    id: int
    dataset: str
    state: RunState
    started_at: datetime
    finished_at: datetime | None = None
    batches: int = 0
    error: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """A batch has reached its table (D2). One per batch, in the order in which they were noted."""

    id: int
    dataset: str
    batch: int
    at: datetime
    table_version: int | None = None


@dataclass(frozen=True)
class Failure:
    """Why a dataset waits for a person: its open batch failed for a reason that no further try would mend."""

    dataset: str
    number: int
    at: datetime
    error: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Position:
    """The newest commit of a source that a derived dataset has seen (D2). `table_id` tells a table from another that has
    taken its name."""

    version: int
    table_id: str


@dataclass(frozen=True, slots=True)
class Waits:
    """A target that lacks something, since when, and what. `partition` is None where its dataset has none."""

    dataset: str
    partition: str | None
    causes: tuple[Cause, ...]
    behind: tuple[str, ...]
    arrived: tuple[str, ...]
    missing: tuple[str, ...]
    since: datetime


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A run that failed for good at a step, or, without one, an arrival of which no run could be made (D11)."""

    id: str
    dataset: str
    partition: str | None
    causes: tuple[Cause, ...]
    step: int | None
    error: Mapping[str, Any]
    at: datetime


@dataclass(frozen=True, slots=True)
class DerivedRun:
    """One try at one run. `steps` are as they were run, with their SQL; `version` is that of its commit."""

    number: int
    id: str
    dataset: str
    partition: str | None
    write: str
    state: RunState
    causes: tuple[Cause, ...]
    steps: tuple[Mapping[str, Any], ...]
    started_at: datetime
    finished_at: datetime | None = None
    failed_step: int | None = None
    error: Mapping[str, Any] | None = None
    version_before: int | None = None
    version: int | None = None
    rows: int | None = None
    files: int | None = None
