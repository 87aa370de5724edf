"""The control store: what is planned, what ran, what happened. It is not the truth; the tables are."""

from lakebed.control.records import Batch, BatchPlan, Event, Failure, Input, Run, RunState
from lakebed.control.store import ControlStore, open_store

__all__ = ["Batch", "BatchPlan", "ControlStore", "Event", "Failure", "Input", "Run", "RunState", "open_store"]
