"""The project layer: what is new becomes batches, batches become tables."""

from lakebed.runner.alarm import sound
from lakebed.runner.ingest import run_project
from lakebed.runner.previewing import BatchPreview, preview_project
from lakebed.runner.recovering import Recovered, recover
from lakebed.runner.report import BatchOutcome, DatasetOutcome, DatasetStatus, Progress, RunOutcome, Silent
from lakebed.runner.status import anything_new, pending_files, status
from lakebed.runner.waiting import retry, skip
from lakebed.runner.work import Edges

__all__ = [
    "BatchOutcome",
    "BatchPreview",
    "DatasetOutcome",
    "DatasetStatus",
    "Edges",
    "Progress",
    "Recovered",
    "RunOutcome",
    "Silent",
    "anything_new",
    "pending_files",
    "preview_project",
    "recover",
    "retry",
    "run_project",
    "skip",
    "sound",
    "status",
]
