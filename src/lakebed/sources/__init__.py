"""Where rows come from: find what is new, decide the next batch, read it."""

from lakebed.sources.batches import batch_time, event_time, next_files
from lakebed.sources.files import FoundFile, find_files, local_folder, near_misses, unchanged

__all__ = [
    "FoundFile",
    "batch_time",
    "event_time",
    "find_files",
    "local_folder",
    "near_misses",
    "next_files",
    "unchanged",
]
