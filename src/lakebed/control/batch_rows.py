"""Batches and their inputs, out of the rows of the control store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, func, select

from lakebed.control import schema
from lakebed.control.records import Batch, BatchPlan, Input
from lakebed.errors import TableError


def taken_paths_of(connection: Connection, dataset: str) -> Iterator[tuple[str, int]]:
    """The paths that batches have, each with the number of the last one."""
    i = schema.inputs.c
    query = select(i.path, func.max(i.number)).where(i.dataset == dataset).group_by(i.path)
    return ((path, number) for path, number in connection.execute(query))


def batch_of(connection: Connection, dataset: str, number: int) -> Batch | None:
    c = schema.batches.c.number
    return next(iter(batches_of(connection, dataset, c == number, c)), None)


def batches_of(
    connection: Connection,
    dataset: str,
    which: ColumnElement[bool],
    order: ColumnElement[Any],
    limit: int | None = None,
) -> list[Batch]:
    """Batches with their inputs: two queries, however many there are."""
    b, i = schema.batches.c, schema.inputs.c
    query = select(schema.batches).where(b.dataset == dataset, which).order_by(order).limit(limit)
    rows = connection.execute(query).all()
    if not rows:
        return []
    numbers = [row.number for row in rows]
    span = i.number.between(min(numbers), max(numbers))
    files: dict[int, list[Input]] = defaultdict(list)
    for row in connection.execute(
        select(schema.inputs).where(i.dataset == dataset, span).order_by(i.number, i.place)
    ):
        files[row.number].append(Input(row.path, row.size, row.modified_ns))
    return [
        Batch(
            BatchPlan(row.dataset, row.number, tuple(files[row.number]), row.system_time, row.event_time),
            row.state,
            row.planned_at,
            row.finished_at,
            row.report,
        )
        for row in rows
    ]


def insert_inputs(connection: Connection, plan: BatchPlan) -> None:
    rows = [
        {"dataset": plan.dataset, "number": plan.number, "place": place, "identity": one.identity}
        | one.as_dict()
        for place, one in enumerate(plan.inputs)
    ]
    if rows:
        connection.execute(schema.inputs.insert(), rows)


def not_open(connection: Connection, dataset: str, number: int, done_to: str) -> TableError:
    """What is said of a batch that is not planned, or done, and so cannot be dropped, skipped or replaced."""
    kept = batch_of(connection, dataset, number)
    return TableError(
        f"batch {number} is {'done' if kept else 'not planned'} and cannot be {done_to}", where=dataset
    )


def forget(connection: Connection, dataset: str, number: int, *tables: Table) -> None:
    """What these tables have of the batch goes."""
    for table in tables:
        connection.execute(table.delete().where(table.c.dataset == dataset, table.c.number == number))
