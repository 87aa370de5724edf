"""The library's front door: one table, fed batch by batch, exactly once."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from lakebed.table.facade import Table, table
from lakebed.table.report import BatchReport

__all__ = ["BatchReport", "Table", "table"]


class _Callable(ModuleType):
    """`lb.table` is this module once it is imported, and a function to its users: so it can be called."""

    def __call__(self, *args: Any, **options: Any) -> Table:
        return table(*args, **options)


sys.modules[__name__].__class__ = _Callable
