"""Folds → staged write sets. Everything that is numbered, counted and committed is read back from what was staged."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.history import current, log
from lakebed.history.columns import (
    FIRST,
    FROM,
    GONE,
    KIND,
    ORDER,
    ROW,
    SEED,
    UPSERT,
    col,
    key_names,
)
from lakebed.manifest import Current, Log, Versions
from lakebed.table.context import Context, Size
from lakebed.tables.replacement import Replacement
from lakebed.tables.staging import numbered


def versions_write_set(
    ctx: Context, rows: DataFrame, gone: DataFrame | None, *, open_only: bool, size: Size
) -> tuple[Replacement, int]:
    """Rows of the table (those without `sk` get one) and the `sk`s that go, staged together."""
    shape = ctx.shape
    assert isinstance(shape.history, Versions)
    sk = shape.history.own("sk")
    rows = rows.withColumn(GONE, F.lit(False))
    if gone is not None:
        rows = rows.unionByName(gone.select(col(sk)).withColumn(GONE, F.lit(True)), allowMissingColumns=True)
    # Any order will do for `sk`, if it is the same again after a crash; ranges would compute everything twice, to find them.
    by = [F.col(FIRST), *[col(name) for name in shape.key]]
    parted = rows.repartition(size.parts, *by[1:]).sortWithinPartitions(*by)
    numbered_rows, next_number, found = numbered(
        ctx.staging,
        parted,
        "versions",
        sk,
        ctx.before.next_number,
        {
            "replaced": F.count_if(col(sk).isNotNull() & ~F.col(GONE)),
            "gone": F.count_if(F.col(GONE)),
            "written": F.count_if(~F.col(GONE)),
        },
        one_part=size.parts == 1,
    )
    staged = Replacement(
        staged=ctx.staging.path("versions"),
        rows=numbered_rows.where(~F.col(GONE)).drop(GONE),
        columns=[sk],
        open_only=open_only,
        **found,
    )
    return staged, next_number


def current_write_set(ctx: Context, finals: DataFrame, name: str) -> Replacement:
    """One row per key that changed; GONE where the key has no row any more. Also the state beside a log."""
    shape = ctx.shape
    kept = (
        F.lit(True)
        if isinstance(shape.history, Log)
        else (F.col(ROW).isNotNull() if current.flags_deletes(shape) else F.col(KIND) == UPSERT)
    )
    rows = current.target_rows(finals.where(kept), shape, ctx.moment.batch).withColumn(GONE, F.lit(False))
    if not isinstance(shape.history, Log):
        names = key_names(shape.key)
        columns = [F.col(k).alias(n) for k, n in zip(names, shape.key, strict=True)]
        gone = finals.where(~kept).select(*columns).withColumn(GONE, F.lit(True))
        rows = rows.unionByName(gone, allowMissingColumns=True)
    return _keyed(ctx, rows, name)


def heads_write_set(ctx: Context, events: DataFrame) -> Replacement:
    """Heads of the keys that have no live row after this batch; GONE for those that have one again.

    `events` are all events that were folded, seeds included.
    """
    rows = F.col(ROW).isNotNull() & (F.col(KIND) == UPSERT)
    history = ctx.shape.history
    newest = F.max_by(F.struct(KIND, FROM), F.col(ORDER))
    finals = events.groupBy(*ctx.keys).agg(
        newest.alias("_lb_newest"),
        F.max(ORDER).alias(ORDER),
        F.max(rows | (F.col(SEED) & F.col(ROW).isNotNull())).alias("_lb_ever"),
    )
    last = F.col("_lb_newest")
    keeps = isinstance(history, Versions) and history.deletes != "close"
    keeps = keeps or (isinstance(history, Current) and history.deletes == "flag")
    has_row = F.col("_lb_ever") if keeps else last.getField(KIND) == UPSERT
    finals = finals.withColumns(
        {KIND: last.getField(KIND), FROM: last.getField(FROM), GONE: F.coalesce(has_row, F.lit(False))}
    )
    if ctx.before.heads is None:
        finals = finals.where(~F.col(GONE))
    names = key_names(ctx.shape.key)
    columns = [F.col(k).alias(n) for k, n in zip(names, ctx.shape.key, strict=True)]
    return _keyed(ctx, finals.select(*columns, KIND, ORDER, FROM, GONE), "heads")


def _keyed(ctx: Context, rows: DataFrame, name: str) -> Replacement:
    staged, found = ctx.staging.write(
        rows,
        name,
        {
            "replaced": F.count_if(~F.col(GONE)),
            "gone": F.count_if(F.col(GONE)),
            "written": F.count_if(~F.col(GONE)),
        },
    )
    return Replacement(
        staged=ctx.staging.path(name),
        rows=staged.where(~F.col(GONE)).drop(GONE),
        columns=list(ctx.shape.key),
        **found,
    )


def log_write_set(
    ctx: Context, rows: DataFrame, by: Sequence[Column], *, size: Size
) -> tuple[DataFrame, int]:
    """Rows of the log in the order of L3, with their offsets."""
    assert isinstance(ctx.shape.history, Log)
    offset = ctx.shape.history.own("offset")
    # In one part where it is little, else in ranges: either way the parts follow each other, as the offsets do.
    in_order = rows.repartition(1).sortWithinPartitions(*by) if size.parts == 1 else rows.orderBy(*by)
    sorted_rows = log.target_rows(in_order, ctx.shape, ctx.moment)
    numbered_rows, next_number, _ = numbered(
        ctx.staging, sorted_rows, "log", offset, ctx.before.next_number, {}, one_part=size.parts == 1
    )
    return numbered_rows, next_number
