"""Feeds with `order_by`: events may come late, twice and in any order, and the tables must not show it (G6, G7, V6).

This module sorts a batch: what is new, known already, late, in conflict; and which keys must be *folded anew* from the
journal, because an event is not above its key's head, or because only all its events can tell (V8, truncates, first
versions). In order, only the heads of the batch's keys are read. `refolding` folds what is sorted here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from lakebed.history.changes import distinct_events, events_of, strongest_first
from lakebed.history.columns import (
    BATCH,
    BUCKET,
    BUCKETS,
    CARRIED,
    COPIES,
    DEAD_HEAD,
    EVENT_TIME,
    FROM,
    HASH1,
    HASH2,
    KIND,
    ORDER,
    ROW,
    SEED,
    SETS,
    TRUNCATE,
    UPSERT,
    col,
    field,
    key_names,
    null_row,
    pack,
    with_key,
)
from lakebed.history.hashing import row_hash
from lakebed.history.shape import Shape
from lakebed.manifest import Versions
from lakebed.table.context import Context, Size, matching, seed_columns

KNOWN = "_lb_known"  # an identical event is in the journal already
LOWERS = "_lb_lowers"  # … but this one has a smaller time
LATE = "_lb_is_late"
REFOLD = "_lb_refold"
MET, MET_UPSERTS = "_lb_met", "_lb_met_upserts"  # how many events of its key and order the journal has
CONFLICT = "_lb_conflict"
WINS = "_lb_wins"  # of the batch's events of its key and order

_OF_AN_EVENT = (KIND, ORDER, SETS, EVENT_TIME, FROM, HASH1, HASH2, BATCH)


@dataclass(frozen=True)
class Sorted:
    """A batch's distinct events and the seeds of their keys, staged: each with the head of its key and what is to be
    done with it."""

    line: DataFrame
    truncates: DataFrame | None  # every truncate there is, old and new; None where there can be none
    new_truncates: DataFrame | None
    # Kept in the journal, not folded: deletes that the history ignores, truncates that came again with smaller times.
    passed_over: DataFrame | None
    refolds: bool
    dead: bool  # some keys of the batch were known, and not live
    size: Size
    counts: dict[str, int]

    @property
    def events(self) -> DataFrame:
        return self.line.where(~F.col(SEED))

    @property
    def everything(self) -> bool:
        """A new truncate speaks of every key."""
        return self.new_truncates is not None


def sort_batch(ctx: Context, rows: DataFrame, *, total: int, deletes: int, truncates: int) -> Sorted:
    """Normalised rows → `Sorted`. `total`, `deletes` and `truncates` are their counts."""
    # Once parted by key, all that follows finds the events of a key together.
    events = events_of(rows, ctx.shape)
    if truncates:  # what their rows have in the key's columns says nothing
        keyed = F.col(KIND) != TRUNCATE
        events = events.withColumns({name: F.when(keyed, F.col(name)) for name in ctx.keys})
    events = distinct_events(events.repartition(*ctx.keys), ctx.keys)
    passed_over, unchanged = None, 0
    if ctx.shape.ignores_deletes and deletes + truncates:
        passed_over = events.where(F.col(KIND) != UPSERT)
        events, unchanged, truncates = events.where(F.col(KIND) == UPSERT), deletes + truncates, 0
    sorted_ = sort_events(ctx, events, size=Size(total), has_truncates=truncates > 0)
    counts = {**sorted_.counts, "unchanged": unchanged}
    return replace(
        sorted_, passed_over=sorted_.passed_over if passed_over is None else passed_over, counts=counts
    )


def sort_events(ctx: Context, events: DataFrame, *, size: Size, has_truncates: bool) -> Sorted:
    """Distinct events → `Sorted`."""
    marks = None
    if getattr(ctx.shape.feed, "truncate_when", None) and not ctx.shape.ignores_deletes:
        marks = _truncates(ctx, events)
    keyed = events.where(F.col(KIND) != TRUNCATE)
    seeds = ctx.seeds(None if has_truncates else keyed.select(*ctx.keys), size=size)
    line = line_of(ctx, keyed, seeds, marks, refold_all=has_truncates)
    final, found = ctx.staging.write(line, "sorted", line_counts())
    refolds = bool(found["refolds"])
    if refolds and ctx.before.journal is not None:
        known = _with_conflicts(ctx, _with_known(ctx, final, size=size))
        final, again = ctx.staging.write(known, "events", _tallies())
        found |= again
        if not has_truncates:
            final = _with_news(ctx, final)
    told = tallied(found)
    new_truncates, lowering = None, None
    if has_truncates:
        new_truncates, lowering, known_again = _sort_truncates(ctx, events.where(F.col(KIND) == TRUNCATE))
        told["duplicate"] += known_again
    return Sorted(
        line=final,
        truncates=marks,
        new_truncates=new_truncates,
        passed_over=lowering,
        refolds=refolds or has_truncates,
        dead=bool(found["dead"]),
        size=size,
        counts=told,
    )


def line_of(
    ctx: Context,
    events: DataFrame,
    seeds: DataFrame | None,
    truncates: DataFrame | None,
    *,
    refold_all: bool = False,
) -> DataFrame:
    """Distinct events and seeds, each told what is to be done with it; not computed yet. Where both are parted by key into the same
    number of parts, so is what comes out."""
    line = seed_columns(events, ctx.shape).withColumn(ROW, null_row(ctx.shape.data))
    if seeds is not None:
        line = line.unionByName(seeds, allowMissingColumns=True)
    line = _with_conflicts(ctx, _unmet(line))  # first, since what follows finds its rows sorted by it
    if seeds is None and truncates is None:
        return _first_of_their_keys(line)
    return _with_heads(ctx, line, truncates, refold_all=refold_all)


def line_counts() -> dict[str, Column]:
    """What is counted of a line while it is computed."""
    return {"refolds": F.count_if(F.col(REFOLD)), "dead": F.count_if(F.col(DEAD_HEAD)), **_tallies()}


def tallied(found: Mapping[str, Any]) -> dict[str, int]:
    """Of what was counted, the part that the report tells."""
    return {name: int(found[name] or 0) for name in _tallies()}


def _tallies() -> dict[str, Column]:
    new = ~F.col(KNOWN)
    return {
        "duplicate": F.sum(F.when(new, F.col(COPIES) - 1).otherwise(F.col(COPIES))),
        "late": F.count_if(F.col(LATE) & new),
        "conflicts": F.count_if(F.col(CONFLICT)),
    }


def _unmet(line: DataFrame) -> DataFrame:
    """As long as the journal was not asked, no event of it is known."""
    return line.withColumns(
        {
            **{name: F.lit(False) for name in (KNOWN, LOWERS)},
            **{name: F.lit(0).cast("bigint") for name in (MET, MET_UPSERTS)},
        }
    )


def _first_of_their_keys(line: DataFrame) -> DataFrame:
    """The same as `_with_heads` where nothing is known yet."""
    return line.withColumns({name: F.lit(False) for name in (DEAD_HEAD, REFOLD, LATE)})


def _with_heads(ctx: Context, line: DataFrame, truncates: DataFrame | None, *, refold_all: bool) -> DataFrame:
    """Each event with the head of its key, whether it is late, and whether its key must be folded anew."""
    whole_key = Window.partitionBy(*ctx.keys)
    seed = F.struct(F.col(ORDER).alias("o"), F.col(FROM).alias("f"), F.col(ROW).isNull().alias("dead"))
    joined = line.withColumns(
        {
            "_lb_head": F.max(F.when(F.col(SEED), seed)).over(whole_key),
            "_lb_least": F.min(F.when(~F.col(SEED), F.col(ORDER))).over(whole_key),
            "_lb_least_from": F.min(F.when(~F.col(SEED), F.col(FROM))).over(whole_key),
        }
    )
    head, least = F.col("_lb_head"), F.col("_lb_least")
    known = head.getField("o").isNotNull()
    late = known & (F.col(ORDER) < head.getField("o"))
    refold = known & (least <= head.getField("o"))
    history = ctx.shape.history
    if isinstance(history, Versions):
        refold = refold | (known & (F.col("_lb_least_from") < head.getField("f")))
        if history.initial is not None:
            refold = refold | (known & head.getField("dead") & least.isNotNull())
    if truncates is not None:
        # A truncate known before is an event of this key too, once the key has one below it (F5).
        old = truncates.where(F.col(BATCH) < ctx.moment.batch)
        joined = joined.crossJoin(F.broadcast(old.agg(F.max(ORDER).alias("_lb_last_truncate"))))
        refold = refold | (~known & (least < F.col("_lb_last_truncate")))
        late = late | (~known & (F.col(ORDER) < F.col("_lb_last_truncate")))
    return joined.withColumns(
        {
            DEAD_HEAD: F.coalesce(head.getField("dead"), F.lit(False)),
            REFOLD: F.lit(True) if refold_all else F.coalesce(refold, F.lit(False)),
            LATE: ~F.col(SEED) & F.coalesce(late, F.lit(False)),
        }
    ).drop("_lb_head", "_lb_least", "_lb_least_from")


def _with_known(ctx: Context, line: DataFrame, *, size: Size) -> DataFrame:
    """Of the keys to fold anew: which events the journal has already, whether they lower its times, and whom they meet."""
    journal = journal_of(ctx, line.where(F.col(REFOLD) & ~F.col(SEED)), size=size)
    place = [*ctx.keys, ORDER]
    identity = [*place, KIND, HASH1, HASH2]
    there = journal.groupBy(*identity).agg(
        F.min(EVENT_TIME).alias("_lb_there_time"), F.min(FROM).alias("_lb_there_from")
    )
    met = journal.groupBy(*place).agg(
        F.count_if(F.col(KIND) == UPSERT).alias(MET_UPSERTS), F.count(F.lit(1)).alias(MET)
    )
    joined = line.drop(KNOWN, LOWERS, MET, MET_UPSERTS, CONFLICT, WINS)
    joined = joined.join(there, identity, "left").join(met, place, "left").fillna(0, [MET, MET_UPSERTS])
    return _compared_times(joined)


def _compared_times(events: DataFrame) -> DataFrame:
    """Whether the journal has each event, told by the times that it has it with, and whether those are greater."""
    known = F.col("_lb_there_time").isNotNull()
    lowers = (F.col(EVENT_TIME) < F.col("_lb_there_time")) | (F.col(FROM) < F.col("_lb_there_from"))
    return events.withColumns({KNOWN: known, LOWERS: F.coalesce(known & lowers, F.lit(False))}).drop(
        "_lb_there_time", "_lb_there_from"
    )


def _with_news(ctx: Context, line: DataFrame) -> DataFrame:
    """Without the keys that are to be folded anew and of which the batch told nothing that the journal did not have."""
    tells = F.max(~F.col(SEED) & (~F.col(KNOWN) | F.col(LOWERS))).over(Window.partitionBy(*ctx.keys))
    return line.withColumn("_lb_news", tells).where(~F.col(REFOLD) | F.col("_lb_news")).drop("_lb_news")


def _with_conflicts(ctx: Context, events: DataFrame) -> DataFrame:
    """G6: which upserts met a different one of their key and order, here or in the journal; and which event of them wins."""
    turn = strongest_first(ctx.keys)
    new = ~F.col(SEED) & (F.col(KIND) == UPSERT) & ~F.col(KNOWN)
    stronger = F.sum(new.cast("int")).over(turn.rowsBetween(Window.unboundedPreceding, -1))
    met = new & ((F.col(MET_UPSERTS) > 0) | (F.coalesce(stronger, F.lit(0)) > 0))
    return events.withColumns({CONFLICT: met, WINS: F.row_number().over(turn) == 1})


# ---- truncates


def _truncates(ctx: Context, events: DataFrame) -> DataFrame:
    """Every truncate ever delivered, with its smallest times; few by nature (F5)."""
    columns = (ORDER, EVENT_TIME, FROM, BATCH)
    found = events.where(F.col(KIND) == TRUNCATE).select(*columns)
    if ctx.before.journal is not None:
        found = found.unionByName(ctx.before.journal.where(F.col(KIND) == TRUNCATE).select(*columns))
    once = found.groupBy(ORDER).agg(*[F.min(name).alias(name) for name in (EVENT_TIME, FROM, BATCH)])
    staged, _ = ctx.staging.write(once, "truncates")
    return staged


def _sort_truncates(ctx: Context, mine: DataFrame) -> tuple[DataFrame, DataFrame, int]:
    """The truncates that the journal does not have; those that it has with greater times; and how many rows were of those it has."""
    known = mine.withColumns({KNOWN: F.lit(False), LOWERS: F.lit(False)})
    if ctx.before.journal is not None:
        there = ctx.before.journal.where(F.col(KIND) == TRUNCATE).groupBy(ORDER)
        least = there.agg(F.min(EVENT_TIME).alias("_lb_there_time"), F.min(FROM).alias("_lb_there_from"))
        known = _compared_times(mine.join(F.broadcast(least), [ORDER], "left"))
    again = F.when(F.col(KNOWN), F.col(COPIES)).otherwise(F.col(COPIES) - 1)
    staged, found = ctx.staging.write(known, "new_truncates", {"again": F.sum(again)})
    return staged.where(~F.col(KNOWN)), staged.where(F.col(LOWERS)), int(found["again"] or 0)


# ---- the journal


def journal_rows(ctx: Context, sorted_: Sorted) -> DataFrame:
    """What the batch adds to the journal: every event it does not have, and those that lower a time."""
    columns = [*ctx.keys, CARRIED, *_OF_AN_EVENT]
    fresh = sorted_.events.where(~F.col(KNOWN) | F.col(LOWERS)).select(*columns)
    for more in (sorted_.new_truncates, sorted_.passed_over):
        if more is not None:
            fresh = fresh.unionByName(more.select(*columns))
    return as_journal(ctx, fresh, size=sorted_.size)


def as_journal(ctx: Context, events: DataFrame, *, size: Size) -> DataFrame:
    """Events as rows of the journal, neighbouring buckets in one file, so that a few keys open a few files."""
    shape, parts = ctx.shape, size.parts
    rows = events.select(
        *[field(CARRIED, f.name).alias(f.name) for f in shape.columns],
        *[F.col(name) for name in _OF_AN_EVENT],
        bucket(shape).alias(BUCKET),
    )
    part = (F.col(BUCKET) * F.lit(parts) / F.lit(BUCKETS)).cast("int")
    return rows.repartitionById(parts, part).sortWithinPartitions(BUCKET)


def bucket(shape: Shape) -> Column:
    """Which of the journal's buckets a key is in."""
    fields = [shape.field(name) for name in shape.key]
    values = [(f, F.col(name)) for f, name in zip(fields, key_names(shape.key), strict=True)]
    return F.pmod(row_hash(values, 0), F.lit(BUCKETS)).cast("int")


def journal_events(ctx: Context, rows: DataFrame) -> DataFrame:
    """Rows of the journal as events; what the history ignores is left out."""
    shape = ctx.shape
    have = {name.lower(): name for name in rows.columns}
    columns = [
        (col(have[f.name.lower()]) if f.name.lower() in have else F.lit(None)).cast(f.dataType).alias(f.name)
        for f in shape.columns
    ]
    events = with_key(rows.select(*columns, *_OF_AN_EVENT, BUCKET), shape.key)
    events = events.withColumn(CARRIED, pack(shape.columns)).select(*ctx.keys, *_OF_AN_EVENT, BUCKET, CARRIED)
    return events.where(F.col(KIND) == UPSERT) if shape.ignores_deletes else events


def journal_of(ctx: Context, keys: DataFrame | None, *, size: Size) -> DataFrame:
    """The events of these keys (None: of all) before this batch. Their buckets are few numbers, so that files without
    them are not opened."""
    assert ctx.before.journal is not None
    journal = journal_events(ctx, ctx.before.journal).where(F.col(KIND) != TRUNCATE)
    if keys is None:
        return journal.drop(BUCKET)
    wanted = keys.select(*ctx.keys).distinct()
    buckets = wanted.select(bucket(ctx.shape).alias(BUCKET)).distinct().take(BUCKETS)
    if len(buckets) < BUCKETS // 4:
        journal = journal.where(F.col(BUCKET).isin([row[0] for row in buckets]))
    return matching(journal, wanted, ctx.keys, size=size).drop(BUCKET)
