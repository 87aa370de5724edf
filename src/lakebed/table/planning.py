"""A batch's rows → its write plan, by the way that its feed needs. Nothing is written but staged files."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import NullType

from lakebed.errors import BatchError
from lakebed.history.columns import POSITION
from lakebed.history.normalise import usable
from lakebed.manifest import Append, Ledger, Snapshot
from lakebed.manifest.histories import AnyFeed
from lakebed.table.arriving import plan_append, plan_arriving, plan_ledger
from lakebed.table.context import Context, Size, WritePlan
from lakebed.table.journaled import journal_rows, sort_batch
from lakebed.table.one_pass import fits_one_pass, fold_in_one_pass
from lakebed.table.refolding import fold_sorted
from lakebed.table.snapshots import Arrived, plan_snapshot
from lakebed.table.validation import changes_of, counted, refuse_bad_rows, row_counts
from lakebed.tables.settings import is_utc
from lakebed.tables.staging import Staging, watched

_UNSTEADY = re.compile(
    r"\b(current_\w+|localtimestamp|now|unix_timestamp|rand\w*|uuid|shuffle|curdate|today|tomorrow|yesterday)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Planned:
    """What a batch will write, its rows as changes, bad ones included, and every count of them."""

    ctx: Context
    plan: WritePlan
    rows: DataFrame
    counts: dict[str, Any]


def as_it_came(df: DataFrame, staging: Staging, *, immutable: bool) -> tuple[DataFrame, bool]:
    """The batch as its own session reads it, and whether it gives the same rows whenever it is read.

    Spark reads a time out of a text file when its rows are asked for, in the zone of the session that asks, and lakebed asks in UTC. So
    where the batch's session has another zone, it copies the rows first."""
    if is_utc(df.sparkSession):
        return df, immutable
    if POSITION not in df.columns:
        df = df.withColumn(POSITION, F.monotonically_increasing_id())
    empty = {f.name: F.lit(None).cast("string") for f in df.schema if isinstance(f.dataType, NullType)}
    return staging.write(df.withColumns(empty) if empty else df, "came")[0], True


def planned(
    ctx: Context, df: DataFrame, truth: str, where: str, *, refolded: bool, immutable: bool
) -> Planned:
    """`refolded`: the batch before this one had late events. `immutable`: `df` gives the same rows whenever it is read."""
    changes = changes_of(df, ctx.shape, ctx.moment, where)
    feed = ctx.shape.feed
    if truth == "journal":
        return _planned_events(ctx, df, changes, where, refolded=refolded, immutable=immutable)
    as_it_is = immutable and isinstance(feed, Snapshot)
    stale = isinstance(feed, Snapshot) and _is_stale(ctx, feed, where)
    rows, counts = counted(changes, None if as_it_is else ctx.staging)
    if stale:  # whatever its rows are, none is taken, nor set aside
        late = WritePlan(counts={"late": int(counts["read"])}, next_number=ctx.before.next_number)
        return Planned(ctx, late, rows, {**counts, "rejected": 0})
    refuse_bad_rows(feed, rows, counts, where)
    ctx = replace(ctx, least_from=counts["least_from"])
    size = Size(int(counts["read"]))
    if isinstance(feed, Snapshot):
        whole = Arrived(rows, df if as_it_is else None)
        plan = plan_snapshot(ctx, whole, read=size.rows, rejected=int(counts["rejected"]))
        plan.facts["newest_snapshot"] = _time_of(ctx).isoformat()
    elif isinstance(feed, Append):
        plan = plan_append(ctx, usable(rows), size=size)
    elif isinstance(feed, Ledger):
        plan = plan_ledger(ctx, usable(rows), size=size)
    else:
        plan = plan_arriving(
            ctx, usable(rows), size=size, deletes=int(counts["deletes"]), truncates=int(counts["truncates"])
        )
    return Planned(ctx, plan, rows, counts)


def _planned_events(
    ctx: Context, df: DataFrame, changes: DataFrame, where: str, *, refolded: bool, immutable: bool
) -> Planned:
    """Events with an order: in one pass if they are newer than all that is known, else sorted first."""
    if immutable and _is_steady(ctx.shape.feed):
        size = Size(df.count())
        if fits_one_pass(ctx, size=size, refolded=refolded):
            done = _planned_in_place(ctx, changes, where, size=size)
            if done is not None:
                return done
            refolded = True
    rows, found = counted(changes, ctx.staging)
    refuse_bad_rows(ctx.shape.feed, rows, found, where)
    size = Size(int(found["read"]))
    if fits_one_pass(ctx, size=size, refolded=refolded):
        plan = fold_in_one_pass(ctx, rows, size=size)
        if plan is not None:
            return Planned(ctx, plan, rows, found)
    told = {name: int(found[name]) for name in ("deletes", "truncates")}
    sorted_ = sort_batch(ctx, usable(rows), total=size.rows, **told)
    plan = fold_sorted(ctx, sorted_, deletes=bool(told["deletes"]))
    plan.journal = journal_rows(ctx, sorted_)
    return Planned(ctx, plan, rows, found)


def _planned_in_place(ctx: Context, changes: DataFrame, where: str, *, size: Size) -> Planned | None:
    """In one pass over rows that are not copied first; None if that cannot tell all."""
    passing, watch = watched(changes, row_counts())
    plan = fold_in_one_pass(ctx, changes, passing, size=size)
    found = dict(watch.get)
    if int(found["read"]) != size.rows:
        return None  # a part was computed twice, because a machine went down, and counted twice
    refuse_bad_rows(ctx.shape.feed, changes, found, where)
    return None if plan is None else Planned(ctx, plan, changes, found)


def _is_steady(feed: AnyFeed) -> bool:
    """Whether the same rows are the same changes whenever they are read: their order is no matter of their place, and no
    condition asks the clock or a dice."""
    conditions = [
        getattr(feed, name, None) for name in ("delete_when", "truncate_when", "ignore_when", "upsert_when")
    ]
    return bool(getattr(feed, "order_by", ())) and not any(
        _UNSTEADY.search(text) for text in conditions if text
    )


def _time_of(ctx: Context) -> dt.datetime:
    return ctx.moment.event_time or ctx.moment.system_time


def _is_stale(ctx: Context, feed: Snapshot, where: str) -> bool:
    """F3: whether the snapshot is to be passed over, being older than one that was applied. Raises where it may not be."""
    time, newest = _time_of(ctx), ctx.before.newest_snapshot
    if not newest or time >= dt.datetime.fromisoformat(newest):
        return False
    if feed.on_stale == "skip":
        return True
    raise BatchError(
        f"the snapshot is of {time.isoformat()}, and one of {newest} was applied before",
        code="stale_snapshot",
        where=where,
        hint="set on_stale: skip to pass over such snapshots",
    )
