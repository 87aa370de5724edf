"""What is known between two passes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lakebed.dependencies.events import Cause, Partition, Target


@dataclass(frozen=True)
class Pending:
    """Events that have come for a target and not yet led to a run. `behind`: tables whose run failed in the pass in which
    they came."""

    causes: tuple[Cause, ...]
    behind: tuple[str, ...] = ()


@dataclass(frozen=True)
class State:
    """What was handled, what is there, what waits.

    `handled` are the ids of events that need not be looked at again; `present` the partitions of each table, by its name
    in lower case, of which all that a run may wait for must be here; `waiting` the targets that lack something.
    """

    handled: frozenset[str] = frozenset()
    present: Mapping[str, frozenset[Partition]] = field(default_factory=dict)
    waiting: Mapping[Target, Pending] = field(default_factory=dict)
