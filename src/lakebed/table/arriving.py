"""Feeds without `order_by`, in the order of arrival: nothing comes late, so what is known plus the batch is enough."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column, DataFrame, Observation, Window
from pyspark.sql import functions as F

from lakebed.errors import BatchError
from lakebed.history import current, log, versions
from lakebed.history.changes import (
    ALL1,
    ALL2,
    UNCHANGED,
    events_of,
    in_order,
    timeline,
    with_row,
    with_truncates,
)
from lakebed.history.columns import (
    BATCH,
    EFFECTIVE,
    EVENT_TIME,
    FROM,
    KIND,
    ORDER,
    POSITION,
    ROW,
    SEED,
    TRUNCATE,
    UPSERT,
    as_json,
    col,
    null_row,
    with_key,
)
from lakebed.history.log import OP, STEP
from lakebed.history.normalise import to_valid_time
from lakebed.manifest import Ledger, Log, Snapshot, Versions
from lakebed.table.context import Context, Size, WritePlan, seed_columns
from lakebed.table.write_sets import current_write_set, log_write_set, versions_write_set


def plan_append(ctx: Context, rows: DataFrame, *, size: Size) -> WritePlan:
    """F1: all rows are new facts, by event time, then position."""
    written = rows.withColumns(
        {
            ROW: F.struct(*[col(f.name).alias(f.name) for f in ctx.shape.data]),
            OP: F.lit("+A"),
            EFFECTIVE: F.col(EVENT_TIME),
        }
    )
    by = [F.col(EVENT_TIME), F.col(POSITION)]
    appended, next_number = log_write_set(ctx, written, by, size=size)
    return WritePlan(counts={}, appended=appended, next_number=next_number)


def plan_arriving(ctx: Context, rows: DataFrame, *, size: Size, deletes: int, truncates: int) -> WritePlan:
    """F4, F5 by arrival: each row is an event above all that is known. `deletes` and `truncates` are the counts of those."""
    plan = WritePlan(counts={})
    if ctx.shape.ignores_deletes:
        rows = rows.where(F.col(KIND) == UPSERT)
        plan.counts["unchanged"], truncates = deletes + truncates, 0
    good = with_row(events_of(rows, ctx.shape), ctx.shape)
    events = good.where(F.col(KIND) != TRUNCATE)
    keys = None if truncates else events.select(*ctx.keys)
    seeds = ctx.seeds(keys, size=size)
    line = seed_columns(events, ctx.shape)
    line = line if seeds is None else line.unionByName(seeds)
    if truncates:
        marks, _ = ctx.staging.write(good.where(F.col(KIND) == TRUNCATE), "truncates")
        line = seed_columns(
            with_truncates(line.drop(SEED), marks, ctx.keys, null_row(ctx.shape.data)), ctx.shape
        )
        line = _refill_seeds(ctx, line)
        _count_truncates(ctx, line, marks, plan)
    return fold_arriving(ctx, line, plan, size=size)


def _refill_seeds(ctx: Context, line: DataFrame) -> DataFrame:
    """After truncates were added: a seed is what came from before this batch."""
    return line.withColumn(SEED, F.coalesce(F.col(BATCH) < ctx.moment.batch, F.col(BATCH).isNull()))


def _count_truncates(ctx: Context, line: DataFrame, marks: DataFrame, plan: WritePlan) -> None:
    effective = (
        timeline(line, ctx.keys, ctx.shape)
        .where((F.col(ORDER).getField("t") == 0) & ~F.col(UNCHANGED))
        .select(ORDER)
        .distinct()
    )
    plan.counts["unchanged"] = marks.join(effective, [ORDER], "left_anti").count()


def plan_ledger(ctx: Context, rows: DataFrame, *, size: Size) -> WritePlan:
    """F2: by event time, then position; a key that is known already is not added again."""
    feed = ctx.shape.feed
    assert isinstance(feed, Ledger)
    events = seed_columns(with_row(events_of(rows, ctx.shape), ctx.shape), ctx.shape)
    seeds = ctx.seeds(events.select(*ctx.keys), size=size)
    both = events if seeds is None else events.unionByName(seeds)
    window = in_order(ctx.keys)
    first = F.row_number().over(window) == 1
    line = timeline(both, ctx.keys, ctx.shape)
    kept = window.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    differs = (F.first(ALL1).over(kept) != F.col(ALL1)) | (F.first(ALL2).over(kept) != F.col(ALL2))
    if feed.on_modified == "correct":
        differs = ~F.col(UNCHANGED)
    marked = line.withColumns({"_lb_first_": first, "_lb_modified": differs & ~first})
    staged, found = ctx.staging.write(
        marked,
        "ledger",
        {
            "modified": F.count_if(F.col("_lb_modified") & ~F.col(SEED)),
            "again": F.count_if(~F.col("_lb_first_") & ~F.col(SEED)),
        },
    )
    modified, again = int(found["modified"]), int(found["again"])
    if modified and feed.on_modified == "fail":
        sample = staged.where(F.col("_lb_modified") & ~F.col(SEED)).select(as_json(ROW)).take(3)
        raise BatchError(
            f"{modified} records of the ledger came again with other values",
            code="modified_record",
            counts={"modified": modified},
            sample=[row[0] for row in sample],
            hint="set on_modified to ignore or correct, or mend the source",
        )
    correct = feed.on_modified == "correct"
    taken = F.col("_lb_first_") | F.col(SEED) | (F.col("_lb_modified") if correct else F.lit(False))
    plan = WritePlan(counts={"modified": modified, "duplicate": again - (modified if correct else 0)})
    return fold_arriving(ctx, staged.where(taken), plan, size=size)


def fold_arriving(ctx: Context, line: DataFrame, plan: WritePlan, *, size: Size) -> WritePlan:
    """Seeds and newer events → the write sets of the history."""
    shape = ctx.shape
    count = Observation()
    tapped = False

    def tap(events: DataFrame) -> DataFrame:
        nonlocal tapped
        tapped = True
        unchanged = F.count_if(F.col(UNCHANGED) & ~F.col(SEED) & (F.col(ORDER).getField("t") == 1))
        return events.observe(count, unchanged.alias("unchanged"))

    if isinstance(shape.history, Versions):
        _fold_versions(ctx, line, plan, tap, size=size)
    elif isinstance(shape.history, Log):
        staged, found = ctx.staging.write(
            timeline(line, ctx.keys, shape), "line", {"unchanged": _unchanged_count()}
        )
        plan.counts["unchanged"] = plan.counts.get("unchanged", 0) + int(found["unchanged"])
        written = log.emissions(staged, ctx.keys, shape, ctx.moment)
        plan.appended, plan.next_number = log_write_set(ctx, written, log_order(ctx), size=size)
        finals = current.current_of(staged, ctx.keys)
        plan.state, _ = current_write_set(ctx, finals.where(F.col(current.CHANGED)), "state")
    else:
        finals = current.current_of(tap(timeline(line, ctx.keys, shape)), ctx.keys)
        plan.target, _ = current_write_set(ctx, finals.where(F.col(current.CHANGED)), "current")
    if tapped and not isinstance(shape.feed, (Snapshot, Ledger)):
        plan.counts["unchanged"] = plan.counts.get("unchanged", 0) + int(count.get["unchanged"])
    if isinstance(shape.feed, (Snapshot, Ledger)):
        plan.counts["unchanged"] = 0
    return plan


def _unchanged_count() -> Column:
    return F.count_if(F.col(UNCHANGED) & ~F.col(SEED) & (F.col(ORDER).getField("t") == 1))


def log_order(ctx: Context) -> list[Column]:
    """L3; a ledger's ORDER begins with its event time, so the key only decides where nothing else does."""
    return [F.col(name) for name in (ORDER, *ctx.keys, STEP)]


def _fold_versions(
    ctx: Context, line: DataFrame, plan: WritePlan, tap: Callable[[DataFrame], DataFrame], *, size: Size
) -> None:
    shape = ctx.shape
    line = _with_initial(ctx, line)
    found = versions.versions_of(line, ctx.keys, shape, tap)
    # With deletes ignored, a key that a snapshot lacks, or has again, is noted in its row although nothing of it shows.
    if not (isinstance(shape.feed, Snapshot) and shape.ignores_deletes):
        found = found.where(F.col(versions.MOVED))
    rows = versions.target_rows(found, shape, ctx.moment.batch)
    late = _shortened(ctx, line)
    if late is not None:
        rows = rows.unionByName(late)
    plan.target, plan.next_number, _ = versions_write_set(ctx, rows, None, open_only=late is None, size=size)


def _with_initial(ctx: Context, line: DataFrame) -> DataFrame:
    """V3: mark the events of keys whose first version starts at `initial_valid_from`."""
    history = ctx.shape.history
    assert isinstance(history, Versions)
    initial = history.initial
    if initial is None or initial.keys == "first_batch" or ctx.before.target is None:
        return versions.with_initial(line, ctx.shape, ctx.moment.batch)
    had = with_key(ctx.before.target.where(~versions.is_open(ctx.shape)), ctx.shape.key)
    had = had.select(*ctx.keys).join(F.broadcast(line.select(*ctx.keys).distinct()), ctx.keys, "left_semi")
    had = had.distinct().withColumn("_lb_had", F.lit(True))
    return (
        line.join(F.broadcast(had), ctx.keys, "left")
        .withColumn(versions.INITIAL, F.col("_lb_had").isNull())
        .drop("_lb_had")
    )


def _shortened(ctx: Context, line: DataFrame) -> DataFrame | None:
    """V8: closed versions whose end lies after a new event's valid_from; None where time cannot run backwards."""
    shape, before = ctx.shape, ctx.before
    if before.target is None or (shape.from_column is None and shape.event_time is None and _in_time(ctx)):
        return None
    history = shape.history
    assert isinstance(history, Versions)
    new = line.where(~F.col(SEED))
    if history.deletes in ("mark", "ignore"):
        new = new.where(F.col(KIND) == "U")
    earliest = new.groupBy(*ctx.keys).agg(F.min(FROM).alias(FROM))
    closed = before.target.where(~versions.is_open(shape))
    if ctx.least_from is not None:
        # Files whose versions all ended before the earliest new event are not even opened.
        end = F.lit(ctx.least_from).cast(shape.from_type)
        if isinstance(shape.feed, Snapshot):  # keys that are gone end at its time, which no row may have
            end = F.least(end, to_valid_time(ctx.moment.time, shape.from_type))
        closed = closed.where(
            col(history.own("valid_to")) >= (F.date_sub(end, 1) if history.end == "inclusive_day" else end)
        )
    return versions.shortened(ctx.align(closed, versions.target_fields(shape)), shape, earliest)


def _in_time(ctx: Context) -> bool:
    """A snapshot's time and the system time never go back; the times of other files may, and system times may lie before them."""
    timed = ctx.moment.event_time is not None or ctx.before.batch_times
    return isinstance(ctx.shape.feed, Snapshot) or not timed
