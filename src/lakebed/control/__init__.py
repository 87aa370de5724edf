"""The control store: what is planned, what ran, what happened. It is not the truth; the tables are."""

from lakebed.control.derived_store import DerivedStore
from lakebed.control.records import (
    Batch,
    BatchPlan,
    DeadLetter,
    DerivedRun,
    Event,
    Failure,
    Input,
    Position,
    Run,
    RunState,
    Waits,
)
from lakebed.control.store import ControlStore, open_store

__all__ = [
    "Batch",
    "BatchPlan",
    "ControlStore",
    "DeadLetter",
    "DerivedRun",
    "DerivedStore",
    "Event",
    "Failure",
    "Input",
    "Position",
    "Run",
    "RunState",
    "Waits",
    "open_store",
]
