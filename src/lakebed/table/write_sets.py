"""Folds → staged write sets. Everything that is numbered, counted and committed is read back from what was staged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.history import current, log, versions
from lakebed.history.columns import (
    DEAD_HEAD,
    FIRST,
    FROM,
    GONE,
    HEAD,
    KIND,
    NOW_DEAD,
    ORDER,
    ROW,
    SEED,
    UPSERT,
    col,
    field,
    key_names,
)
from lakebed.manifest import Log, Versions
from lakebed.table.context import Context, Size
from lakebed.tables.replacement import Replacement
from lakebed.tables.staging import numbered


@dataclass(frozen=True)
class Staged:
    """A write set on disk, and what was counted while it was written."""

    frame: DataFrame
    path: str
    counts: dict[str, int]


class _Replacing(TypedDict):
    replaced: int
    gone: int
    written: int


def _replacing(found: Mapping[str, int], prefix: str = "") -> _Replacing:
    """Of what was counted, that which decides how rows are replaced."""
    return _Replacing(
        replaced=found[f"{prefix}replaced"], gone=found[f"{prefix}gone"], written=found[f"{prefix}written"]
    )


def versions_write_set(
    ctx: Context,
    rows: DataFrame,
    gone: DataFrame | None,
    *,
    open_only: bool,
    size: Size,
    parted: bool = False,
) -> tuple[Replacement, int, Staged]:
    """Rows of the table (those without `sk` get one) and the `sk`s that go, staged together. `rows` may tell of heads, and
    have rows that do nothing else, without a version: these are GONE. `parted`: by key into `size.parts` already."""
    shape = ctx.shape
    assert isinstance(shape.history, Versions)
    sk = shape.history.own("sk")
    if GONE not in rows.columns:
        rows = rows.withColumn(GONE, F.lit(False))
    if gone is not None:
        rows = rows.unionByName(gone.select(col(sk)).withColumn(GONE, F.lit(True)), allowMissingColumns=True)
    # Any order will do for `sk`, if it is the same again after a crash; ranges would compute everything twice, to find them.
    key = [col(name) for name in shape.key]
    rows = rows if parted else rows.repartition(size.parts, *key)
    has_number = col(sk).isNotNull()
    numbered_rows, next_number, found = numbered(
        ctx.staging,
        rows.sortWithinPartitions(GONE, FIRST, *key),
        "versions",
        sk,
        ctx.before.next_number,
        which=~F.col(GONE),
        counts={
            "replaced": F.count_if(has_number & ~F.col(GONE)),
            "gone": F.count_if(has_number & F.col(GONE)),
            "written": F.count_if(~F.col(GONE)),
            **_heads_counts(rows),
        },
        parts=size.parts,
    )
    path = ctx.staging.path("versions")
    replacement = Replacement(
        staged=path,
        rows=numbered_rows.where(~F.col(GONE)).drop(GONE, *versions.OF_HEADS),
        columns=[sk],
        open_only=open_only,
        **_replacing(found),
    )
    return replacement, next_number, Staged(numbered_rows, path, found)


def current_write_set(ctx: Context, finals: DataFrame, name: str) -> tuple[Replacement, Staged]:
    """One row per key that changed; GONE where the key has no row any more. Also the state beside a log."""
    shape = ctx.shape
    is_log = isinstance(shape.history, Log)
    known = F.lit(True)  # unless it is told
    if current.KNOWN_ROW in finals.columns:
        known = F.col(current.KNOWN_ROW) | F.col(DEAD_HEAD) if is_log else F.col(current.KNOWN_ROW)
    gone = ~current.has_row(shape)
    told = finals.withColumns(
        {GONE: gone, NOW_DEAD: gone, HEAD: F.struct(KIND, ORDER, FROM), current.KNOWN_ROW: known}
    )
    heads = [] if is_log else [column for column in versions.OF_HEADS if column in told.columns]
    rows = current.target_rows(told, shape, ctx.moment.batch, GONE, current.KNOWN_ROW, *heads)
    known = F.col(current.KNOWN_ROW)
    staged, found = ctx.staging.write(
        rows,
        name,
        {
            "replaced": F.count_if(known & ~F.col(GONE)),
            "gone": F.count_if(known & F.col(GONE)),
            "written": F.count_if(~F.col(GONE)),
            **_heads_counts(rows),
        },
    )
    path = ctx.staging.path(name)
    replacement = Replacement(
        staged=path,
        rows=staged.where(~F.col(GONE)).drop(GONE, current.KNOWN_ROW, *versions.OF_HEADS),
        columns=list(shape.key),
        **_replacing(found),
    )
    return replacement, Staged(staged, path, found)


# ---- heads of the keys that have no row in the table


def _heads_counts(rows: DataFrame) -> dict[str, Column]:
    if DEAD_HEAD not in rows.columns:
        return {}
    last = F.col(versions.LAST) if versions.LAST in rows.columns else F.lit(True)
    was, is_ = F.col(DEAD_HEAD), F.col(NOW_DEAD)
    return {
        "heads_replaced": F.count_if(was & is_),
        "heads_gone": F.count_if(was & ~is_ & last),
        "heads_written": F.count_if(is_),
    }


def heads_beside(ctx: Context, staged: Staged) -> Replacement:
    """Heads from a write set that tells of them: all its keys are there, so those with a row again go by the same files."""
    key = list(ctx.shape.key)
    head = [field(HEAD, name).alias(name) for name in (KIND, ORDER, FROM)]
    rows = staged.frame.where(F.col(NOW_DEAD)).select(*[col(name) for name in key], *head)
    return Replacement(staged=staged.path, rows=rows, columns=key, **_replacing(staged.counts, "heads_"))


def heads_write_set(ctx: Context, events: DataFrame) -> Replacement:
    """Heads of the keys that have no version to show for it after this batch; GONE for those that have one again.

    `events` are all events that were folded, seeds included.
    """
    history = ctx.shape.history
    assert isinstance(history, Versions)
    rows = F.col(ROW).isNotNull() & (F.col(KIND) == UPSERT)
    newest = F.max_by(F.struct(KIND, FROM), F.col(ORDER))
    finals = events.groupBy(*ctx.keys).agg(
        newest.alias("_lb_newest"),
        F.max(ORDER).alias(ORDER),
        F.max(rows | (F.col(SEED) & F.col(ROW).isNotNull())).alias("_lb_ever"),
    )
    last = F.col("_lb_newest")
    has_row = last.getField(KIND) == UPSERT if history.deletes == "close" else F.col("_lb_ever")
    finals = finals.withColumns(
        {KIND: last.getField(KIND), FROM: last.getField(FROM), GONE: F.coalesce(has_row, F.lit(False))}
    )
    if ctx.before.heads is None:
        finals = finals.where(~F.col(GONE))
    names = key_names(ctx.shape.key)
    columns = [F.col(k).alias(n) for k, n in zip(names, ctx.shape.key, strict=True)]
    counts = {
        "replaced": F.count_if(~F.col(GONE)),
        "gone": F.count_if(F.col(GONE)),
        "written": F.count_if(~F.col(GONE)),
    }
    staged, found = ctx.staging.write(finals.select(*columns, KIND, ORDER, FROM, GONE), "heads", counts)
    return Replacement(
        staged=ctx.staging.path("heads"),
        rows=staged.where(~F.col(GONE)).drop(GONE),
        columns=list(ctx.shape.key),
        **found,
    )


# ---- logs


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
        ctx.staging,
        sorted_rows,
        "log",
        offset,
        ctx.before.next_number,
        which=F.lit(True),
        counts={},
        parts=size.parts,
    )
    return numbered_rows, next_number
