"""The table itself, made before its first batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lakebed.history.shape import Shape
from lakebed.manifest.partitions import Partition
from lakebed.table.commits import target_schema
from lakebed.table.opening import Tables
from lakebed.table.partitions import made_columns, partition_columns
from lakebed.tables.delta import overtaken


def make_target(
    tables: Tables,
    partitions: Sequence[Partition],
    shape: Shape,
    settings: Mapping[str, Any],
    *,
    again: bool,
) -> None:
    """An empty table for rows of this shape; a crash leaves none, or an empty one.

    `again`: there is one that held no batch when it was opened. It stays if it is as wanted, so that two writers of a first batch
    meet in their commits, where one is refused. Else it is replaced, unless it holds a batch by now: then this is a
    `ConflictError`. A batch that another writer commits between that look and the replacement would be lost; that takes two
    writers whose first batches have different columns, in the same moments.
    """
    target = tables.target
    schema = target_schema(shape)
    made = made_columns(partitions, shape, schema)
    if again:
        if target.is_like(schema, made, settings):
            return
        if max(target.head().batch, tables.newest.batch):
            raise overtaken(target.place, "this one was about to make it anew")
    target.create(
        schema,
        made=made,
        partition_by=partition_columns(partitions, shape),
        settings=settings,
        again=again,
    )
