"""A batch in one pass: its rows, what is known of their keys, and the fold of both, computed and staged together.

Events are nearly always newer than all that is known of their keys. So that is tried first; while the write set is staged,
it is counted whether it held. If not, nothing was lost but the time, and `journaled` sorts the batch.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from lakebed.history import current, versions
from lakebed.history.changes import distinct_events, events_of, timeline
from lakebed.history.columns import GONE, with_key
from lakebed.history.normalise import usable
from lakebed.manifest import Changes, Log, Versions
from lakebed.table.context import Context, Size, WritePlan
from lakebed.table.journaled import as_journal, line_counts, line_of, tallied
from lakebed.table.refolding import newer_than_heads, tap, tapped
from lakebed.table.write_sets import Staged, current_write_set, heads_beside, versions_write_set
from lakebed.tables.settings import setting
from lakebed.tables.staging import watched


def fits_one_pass(ctx: Context, *, size: Size, refolded: bool) -> bool:
    """Whether to try. `refolded`: the batch before had late events, so this one may have some too. A log needs its line twice,
    truncates speak of all keys, and a large batch against a large table must not be read twice."""
    feed = ctx.shape.feed
    if refolded or isinstance(ctx.shape.history, Log) or not (size.few or ctx.live is None):
        return False
    return not isinstance(feed, Changes) or not (feed.truncate_when or ctx.shape.ignores_deletes)


def fold_in_one_pass(
    ctx: Context, rows: DataFrame, counted: DataFrame | None = None, *, size: Size
) -> WritePlan | None:
    """The whole plan, or None if an event was not above its key's head. `counted` are the same rows, watched: they pass once."""
    taken = usable(rows)
    seeds = ctx.seeds(with_key(taken, ctx.shape.key).select(*ctx.keys), size=size)
    seeds = seeds if seeds is None else seeds.repartition(size.parts, *ctx.keys)
    # All is parted and joined as it should be: to plan it anew after each step would only cost time.
    with (
        setting(ctx.staging.spark, "spark.sql.adaptive.enabled", "false"),
        ctx.staging.fetching(seeds),
    ):
        passing = taken if counted is None else usable(counted)
        events = distinct_events(events_of(passing, ctx.shape).repartition(size.parts, *ctx.keys), ctx.keys)
        line, told = watched(line_of(ctx, events, seeds, None), line_counts())
        plan = WritePlan(counts={}, facts={"refolded": False})
        count = Observation()
        staged = _fold(ctx, line, plan, tap(count), size=size)
    found = told.get
    if found["refolds"]:
        return None
    plan.counts = {"unchanged": tapped(count), **tallied(found)}
    if isinstance(ctx.shape.feed, Changes):
        plan.heads = heads_beside(ctx, staged)
    fresh = events_of(taken, ctx.shape)
    if plan.counts["duplicate"]:
        fresh = distinct_events(fresh, ctx.keys)
    plan.journal = as_journal(ctx, fresh, size=size)
    return plan


def _fold(
    ctx: Context, line: DataFrame, plan: WritePlan, tap_: Callable[[DataFrame], DataFrame], *, size: Size
) -> Staged:
    if isinstance(ctx.shape.history, Versions):
        return _fold_versions(ctx, line, plan, tap_, size=size)
    line = timeline(newer_than_heads(ctx, line), ctx.keys, ctx.shape)
    finals = current.current_of(tap_(line), ctx.keys)
    plan.target, staged = current_write_set(ctx, finals, "current")
    return staged


def _fold_versions(
    ctx: Context, line: DataFrame, plan: WritePlan, tap_: Callable[[DataFrame], DataFrame], *, size: Size
) -> Staged:
    shape, batch = ctx.shape, ctx.moment.batch
    events = versions.with_initial(newer_than_heads(ctx, line), shape, batch)
    heads = isinstance(shape.feed, Changes)
    found = versions.versions_of(events, ctx.keys, shape, tap_, heads=heads)
    also = (*versions.OF_HEADS, versions.VERSION) if heads else ()
    rows = versions.target_rows(found, shape, batch, *also)
    if heads:
        rows = rows.withColumn(GONE, F.col(versions.VERSION) == 0).drop(versions.VERSION)
    plan.target, plan.next_number, staged = versions_write_set(
        ctx, rows, None, open_only=True, size=size, parted=True
    )
    return staged
