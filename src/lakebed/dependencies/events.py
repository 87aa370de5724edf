"""What happened, what must be computed, and what is computed: the records of the dependencies."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lakebed.manifest import Derived

Write = Literal["append", "overwrite"]


@dataclass(frozen=True)
class Partition:
    """A partition of a table: its columns and their values, in the table's order. No columns: the whole of a table that
    has no partitions."""

    values: tuple[tuple[str, str | None], ...] = ()

    def value(self, column: str) -> str | None:
        """The value of a column, whatever the case of its name; None if it is NULL or there is no such column."""
        return next((value for name, value in self.values if name.lower() == column.lower()), None)

    def __str__(self) -> str:
        return "/".join(f"{name}={value}" for name, value in self.values) or "(whole table)"


WHOLE_TABLE = Partition()


@dataclass(frozen=True)
class Event:
    """D2. A commit that changed data. `id` is unique, and the same whenever the commit is looked at; that of a run's commit
    is the run's.

    `everything`: what the commit touched is not known, so `partitions` are all that the table has. `rewrote`: rows were
    changed or removed, not only added. `roots`: the events from outside that this one goes back to. `only`: the derived
    datasets, in lower case, for which it is new; None for all.
    """

    id: str
    table: str
    partitions: tuple[Partition, ...] = (WHOLE_TABLE,)
    everything: bool = False
    rewrote: bool = False
    roots: tuple[str, ...] = ()
    only: frozenset[str] | None = None

    @property
    def came_from(self) -> tuple[str, ...]:
        return self.roots or (self.id,)


@dataclass(frozen=True)
class Target:
    """A partition of a derived dataset (`value`), or all of it (None). `dataset` is in lower case."""

    dataset: str
    value: str | None


@dataclass(frozen=True)
class Cause:
    """An event that made a run necessary, and the partitions of the source by which it did."""

    event: str
    table: str
    partitions: tuple[Partition, ...]
    roots: tuple[str, ...]
    write: Write

    def as_dict(self) -> dict[str, Any]:
        """As it is written into a run's commit."""
        return {
            "event": self.event,
            "table": self.table,
            "partitions": [dict(partition.values) for partition in self.partitions],
            "roots": list(self.roots),
            "write": self.write,
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Cause:
        partitions = tuple(Partition(tuple(values.items())) for values in data["partitions"])
        return Cause(data["event"], data["table"], partitions, tuple(data["roots"]), data["write"])


@dataclass(frozen=True)
class RunStep:
    """A statement as it is run, in its database; `info` names it in runs and errors."""

    db: str
    info: str
    sql: str


@dataclass(frozen=True)
class Run:
    """One computation of one target: ends in one commit."""

    id: str
    dataset: str
    partition: Partition | None
    write: Write
    steps: tuple[RunStep, ...]
    causes: tuple[Cause, ...]
    rank: int

    @property
    def target(self) -> Target:
        return Target(self.dataset.lower(), self.partition.values[0][1] if self.partition else None)

    @property
    def roots(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(root for cause in self.causes for root in cause.roots))

    def event(self, *, rewrote: bool = False) -> Event:
        """What this run's commit is for the datasets that depend on its table."""
        touched = (self.partition or WHOLE_TABLE,)
        return Event(self.id, self.dataset, touched, rewrote=rewrote, roots=self.roots)


def partition_of(derived: Derived, value: str | None) -> Partition | None:
    """The target's partition with this value; None for a dataset without partitions."""
    if derived.partition_column is None or value is None:
        return None
    return Partition(((derived.partition_column, value),))


def run_id(target: Target, write: Write, causes: Sequence[Cause]) -> str:
    """The same for the same target and causes, in whatever order these came: a run that is tried again is the same run."""
    known = [target.dataset, target.value, write, sorted({cause.event for cause in causes})]
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:32]
