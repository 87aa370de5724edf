"""The project layer: what is new becomes batches, batches become tables, and what depends on them is computed."""

from lakebed.runner.alarm import sound
from lakebed.runner.by_hand import backfill, new_cause, planned_backfill, redrive
from lakebed.runner.derived_report import DerivedOutcome, NobodyWatches, PassOutcome, RunProgress
from lakebed.runner.everything_due import BothProgress, DueOutcome, run_everything_due
from lakebed.runner.ingest import run_project
from lakebed.runner.passes import anything_to_derive, derive_project
from lakebed.runner.previewing import BatchPreview, preview_project
from lakebed.runner.recovering import Recovered, recover
from lakebed.runner.report import BatchOutcome, DatasetOutcome, DatasetStatus, Progress, RunOutcome, Silent
from lakebed.runner.status import anything_new, pending_files, status
from lakebed.runner.waiting import retry, skip
from lakebed.runner.work import Edges

__all__ = [
    "BatchOutcome",
    "BatchPreview",
    "BothProgress",
    "DatasetOutcome",
    "DatasetStatus",
    "DerivedOutcome",
    "DueOutcome",
    "Edges",
    "NobodyWatches",
    "PassOutcome",
    "Progress",
    "Recovered",
    "RunOutcome",
    "RunProgress",
    "Silent",
    "anything_new",
    "anything_to_derive",
    "backfill",
    "derive_project",
    "new_cause",
    "pending_files",
    "planned_backfill",
    "preview_project",
    "recover",
    "redrive",
    "retry",
    "run_everything_due",
    "run_project",
    "skip",
    "sound",
    "status",
]
