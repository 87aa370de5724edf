"""G12: the columns by which a table is partitioned, and those that Delta makes of a time as rows are written.

Such a column is one of Delta's generated columns, its text that of UTC.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, DateType, StringType, StructType

from lakebed.errors import BatchError
from lakebed.history.columns import find, quote_ident, same
from lakebed.history.shape import Shape
from lakebed.history.times import spark_pattern
from lakebed.history.types import is_time
from lakebed.manifest import Versions
from lakebed.manifest.partitions import Partition
from lakebed.tables.sql import quote_text


def partition_columns(partitions: Sequence[Partition], shape: Shape) -> list[str]:
    """Their names as the table writes them; of versions, the open ones lie apart from the others. (Not if a text that tells them
    apart is empty: as the value of a partition that would be NULL.)"""
    names = partition_names(partitions, shape)
    apart = isinstance(shape.history, Versions) and "" not in (shape.history.flag or ())
    return [shape.history.own("is_current"), *names] if apart else names


def partition_names(partitions: Sequence[Partition], shape: Shape) -> list[str]:
    return [one.name if one.is_made else _stored(one.name, shape) for one in partitions]


def made_columns(partitions: Sequence[Partition], shape: Shape, schema: StructType) -> dict[str, str]:
    """Name → SQL expression of the columns that are made of a time; `schema` is the table's."""
    return {one.name: _expression(one, shape, schema) for one in partitions if one.is_made}


def refuse_made(partitions: Sequence[Partition], df: DataFrame, excepted: Sequence[str]) -> None:
    """A batch that brings a column of the same name would fight with it."""
    for one in partitions:
        brought = any(same(one.name, name) for name in df.columns)
        if one.is_made and brought and not any(same(one.name, name) for name in excepted):
            raise BatchError(
                f"the batch has a column {one.name!r}, and partition_by makes one of that name from {one.source!r}",
                code="invalid_options",
                hint=f"give the partition another name, or partition by the column itself: partition_by: [{one.name}]",
            )


def refuse_missing(partitions: Sequence[Partition], shape: Shape, schema: StructType) -> None:
    """Every partition is a column that the table gets, or is made of one; `schema` is the table's."""
    partition_names(partitions, shape)
    made_columns(partitions, shape, schema)


def _stored(name: str, shape: Shape) -> str:
    """The column's name as the table has it."""
    found = find(name, [f.name for f in shape.data])
    if found is not None:
        return found
    if find(name, shape.feed.except_columns) is not None:
        raise BatchError(
            f"partition_by names {name!r}, which except_columns leaves out of the table",
            code="invalid_options",
            hint="take it out of one of the two",
        )
    raise BatchError(
        f"partition_by names {name!r}, which is no column of the batch",
        code="missing_column",
        hint="name a column of the rows; the first batch must have it, since a table's partitions never change",
    )


def _expression(one: Partition, shape: Shape, schema: StructType) -> str:
    assert one.source is not None
    assert one.format is not None
    kinds: Mapping[str, DataType] = {f.name.lower(): f.dataType for f in schema}
    kind = kinds.get(one.source.lower())
    if kind is None:
        raise BatchError(
            f"partition_by makes {one.name!r} from {one.source!r}, which is no column of the table",
            code="missing_column",
            hint="name a column of the rows, or the table's own event_time or valid_from",
        )
    name = next(f.name for f in schema if same(f.name, one.source))
    value = quote_ident(name)
    time = shape.feed.event_time_column
    if isinstance(kind, StringType) and time is not None and same(time.column, name) and time.format:
        value = f"to_timestamp({value}, {quote_text(spark_pattern(time.format))})"
    elif not is_time(kind):
        raise BatchError(
            f"partition_by makes {one.name!r} from {one.source!r}, which is {kind.simpleString()} and no time",
            code="invalid_options",
            hint="name a date or a timestamp, or the feed's event_time column with its format",
        )
    made = f"date_format({value}, {quote_text(spark_pattern(one.format))})"
    # Of some such texts Delta infers which partitions a reader needs, in the reader's zone, and the text is that of UTC. What it
    # cannot see through it leaves alone; the files' own bounds of the time still tell which ones to skip.
    return made if isinstance(kind, DateType) else f"concat({made}, '')"
