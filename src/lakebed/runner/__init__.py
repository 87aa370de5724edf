"""The project layer: what is new becomes batches, batches become tables."""

from lakebed.runner.ingest import Edges, replan, run_project
from lakebed.runner.report import BatchOutcome, DatasetOutcome, DatasetStatus, Progress, RunOutcome, Silent
from lakebed.runner.status import pending_files, status

__all__ = [
    "BatchOutcome",
    "DatasetOutcome",
    "DatasetStatus",
    "Edges",
    "Progress",
    "RunOutcome",
    "Silent",
    "pending_files",
    "replan",
    "run_project",
    "status",
]
