"""History for the data lake: feeds become Delta tables that tell the truth.

>>> import lakebed as lb
>>> customers = lb.table(spark, "crm.customers",
...     feed=lb.Changes(key=["id"], order_by=["lsn"], delete_when="op = 'D'", except_columns=["op"]),
...     history=lb.Versions(track=["address"]))
>>> report = customers.apply(df, batch=customers.last_batch + 1, system_time=now)

Importing this package imports no Spark and starts no JVM; each name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lakebed.errors import LakebedError
    from lakebed.history.fold import fold
    from lakebed.manifest import Append, Changes, Current, Ledger, Log, Snapshot, Updates, Versions
    from lakebed.table import BatchReport, Table, table

__all__ = [
    "Append",
    "BatchReport",
    "Changes",
    "Current",
    "LakebedError",
    "Ledger",
    "Log",
    "Snapshot",
    "Table",
    "Updates",
    "Versions",
    "fold",
    "table",
]

_PLACES = {
    "LakebedError": "lakebed.errors",
    "BatchReport": "lakebed.table.report",
    "Table": "lakebed.table.facade",
    "fold": "lakebed.history.fold",
    **dict.fromkeys(
        ("Append", "Changes", "Current", "Ledger", "Log", "Snapshot", "Updates", "Versions"),
        "lakebed.manifest",
    ),
}


def __getattr__(name: str) -> Any:
    if name == "table":
        return import_module("lakebed.table")
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module 'lakebed' has no attribute {name!r}")
