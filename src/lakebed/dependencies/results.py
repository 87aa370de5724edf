"""What comes of a pass."""

from __future__ import annotations

from dataclasses import dataclass

from lakebed.dependencies.events import Cause, Partition, Run
from lakebed.dependencies.state import State


@dataclass(frozen=True)
class Outcome:
    """A run, and the step at which it failed for good (from 1), if it did."""

    run: Run
    failed_step: int | None = None

    @property
    def status(self) -> str:
        return "succeeded" if self.failed_step is None else "failed"


@dataclass(frozen=True)
class Waiting:
    """A target that has causes to run and lacks something: what has arrived of all it waits for, and what has not."""

    dataset: str
    partition: Partition | None
    arrived: tuple[str, ...]
    missing: tuple[str, ...]
    causes: tuple[Cause, ...]


@dataclass(frozen=True)
class Refused:
    """A run that cannot be: a dead letter without a step. `partition` is None where none could be told."""

    dataset: str
    partition: Partition | None
    code: str
    what: str
    causes: tuple[Cause, ...]
    hint: str | None = None


@dataclass(frozen=True)
class Reported:
    """An arrival that was not applied, or of which little is known: for somebody to know of (D2, D9)."""

    dataset: str
    table: str
    event: str
    what: str


@dataclass(frozen=True)
class Plan:
    """A pass as it went: runs upstream first, equal rank by name; and the state after it."""

    outcomes: tuple[Outcome, ...]
    waiting: tuple[Waiting, ...]
    refused: tuple[Refused, ...]
    reported: tuple[Reported, ...]
    already_handled: tuple[str, ...]
    state: State

    @property
    def runs(self) -> tuple[Run, ...]:
        return tuple(outcome.run for outcome in self.outcomes)

    @property
    def failed(self) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.outcomes if outcome.failed_step is not None)
