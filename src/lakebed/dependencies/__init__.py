"""Which target partitions does a commit touch, and what must run: pure, without Spark, files or a clock."""

from lakebed.dependencies.backfill import Range, plan_backfill
from lakebed.dependencies.events import Cause, Event, Partition, Run, RunStep, Target
from lakebed.dependencies.graph import Graph
from lakebed.dependencies.planner import Pass, plan
from lakebed.dependencies.results import Outcome, Plan, Refused, Reported, Waiting
from lakebed.dependencies.state import Pending, State

__all__ = [
    "Cause",
    "Event",
    "Graph",
    "Outcome",
    "Partition",
    "Pass",
    "Pending",
    "Plan",
    "Range",
    "Refused",
    "Reported",
    "Run",
    "RunStep",
    "State",
    "Target",
    "Waiting",
    "plan",
    "plan_backfill",
]
