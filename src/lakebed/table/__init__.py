"""The library's front door: one table, fed batch by batch, exactly once."""

from lakebed.table.facade import Table, table
from lakebed.table.report import BatchReport

__all__ = ["BatchReport", "Table", "table"]
