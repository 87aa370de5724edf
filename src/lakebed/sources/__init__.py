"""Where rows come from: find what is new, decide the next batch, read it."""

from lakebed.sources.files import FoundFile, event_time, find_files, local_folder, next_files, unchanged

__all__ = ["FoundFile", "event_time", "find_files", "local_folder", "next_files", "unchanged"]
