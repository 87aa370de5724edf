"""What a user writes: the options of feeds and histories, and a project's files."""

from lakebed.manifest.feeds import Append, Changes, EventTimeColumn, Feed, Ledger, Snapshot, Updates
from lakebed.manifest.histories import Current, History, InitialValidFrom, Log, Versions, check_combination

__all__ = [
    "Append",
    "Changes",
    "Current",
    "EventTimeColumn",
    "Feed",
    "History",
    "InitialValidFrom",
    "Ledger",
    "Log",
    "Snapshot",
    "Updates",
    "Versions",
    "check_combination",
]
