"""Small graphs and events, in few words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lakebed.dependencies import Event, Graph, Partition, Plan
from lakebed.manifest import Derived

DAY = "%Y%m%d"


def on(table: str, usage: str = "overwrite", **more: Any) -> dict[str, Any]:
    """A dependency on a table with a partition column `day`. `shift` stands for relativedelta_attributes; `day=False` leaves
    the column out."""
    mapped = {"field_column": "day", "date_expression": DAY} if more.pop("day", True) else {}
    shift = more.pop("shift", {})
    return {
        "table_name": table,
        "usage": usage,
        **mapped,
        "relativedelta_attributes": shift,
        **more,
    }


def derived(name: str, *dependencies: Mapping[str, Any], **more: Any) -> Derived:
    """A derived dataset with a partition column `day`."""
    fields = {
        "dataset": name,
        "dependencies": list(dependencies),
        "steps": [{"sql": more.pop("sql", "SELECT 1")}],
        "partition_column": "day",
        "partition_python_mask": DAY,
        **more,
    }
    return Derived.model_validate({key: value for key, value in fields.items() if value is not None})


def whole(name: str, *dependencies: Mapping[str, Any], **more: Any) -> Derived:
    """A derived dataset without partitions."""
    return derived(name, *dependencies, partition_column=None, partition_python_mask=None, **more)


def graph(*items: Derived) -> Graph:
    return Graph.of(items)


def day(value: str | None, column: str = "day") -> Partition:
    return Partition(((column, value),))


def event(table: str, *days: str, id: str | None = None, **more: Any) -> Event:  # noqa: A002
    """A commit that touched these days; without days, one of a table without partitions."""
    partitions = tuple(day(one) for one in days) or (Partition(),)
    return Event(id or f"{table}@{','.join(days)}", table, partitions, **more)


def ran(done: Plan) -> list[tuple[str, str | None]]:
    """What ran, in order."""
    return [(run.dataset, run.target.value) for run in done.runs]


def waits(done: Plan) -> dict[tuple[str, str | None], tuple[list[str], list[str]]]:
    """What waits: what of it has arrived, what is missing."""
    return {
        (one.dataset, one.partition.values[0][1] if one.partition else None): (
            list(one.arrived),
            list(one.missing),
        )
        for one in done.waiting
    }
