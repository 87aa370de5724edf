"""A sorted batch → the write sets of its history: keys in order on top of what is known, the others from all their events."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column, DataFrame, Observation, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructField

from lakebed.history import current, log, versions
from lakebed.history.changes import (
    EVENT_COLUMNS,
    UNCHANGED,
    collapse,
    distinct_events,
    timeline,
    with_row,
    with_truncates,
)
from lakebed.history.columns import (
    BATCH,
    CLOSED,
    COPIES,
    DEAD_HEAD,
    DELETE,
    EFFECTIVE,
    EVENT_TIME,
    FIRST,
    FROM,
    HASH1,
    HASH2,
    KIND,
    OPENED,
    ORDER,
    ROW,
    SEED,
    SETS,
    SK,
    col,
    null_row,
    with_key,
)
from lakebed.history.hashing import row_hash
from lakebed.history.normalise import SALTS
from lakebed.history.shape import Shape
from lakebed.manifest import Log, Versions
from lakebed.table.context import Context, WritePlan, matching, seed_columns
from lakebed.table.journaled import KNOWN, LATE, MET, REFOLD, WINS, Sorted, journal_of
from lakebed.table.write_sets import (
    current_write_set,
    heads_beside,
    heads_write_set,
    log_write_set,
    versions_write_set,
)

COUNTED = "_lb_counted"  # an event of this batch whose effect is to be counted
_LINE = (KIND, ORDER, SETS, EVENT_TIME, FROM, HASH1, HASH2, BATCH, ROW)
_SEEDS = (SEED, SK, FIRST, OPENED, versions.INITIAL)


def fold_sorted(ctx: Context, sorted_: Sorted, *, deletes: bool) -> WritePlan:
    """`deletes`: whether any event of the batch is one. Without, and with no dead key, no head changes."""
    plan = WritePlan(counts={"unchanged": 0, **sorted_.counts}, facts={"refolded": sorted_.refolds})
    line = newer_than_heads(ctx, sorted_.line)
    anew = _all_events(ctx, sorted_) if sorted_.refolds else None
    if anew is not None:
        _count_anew(ctx, anew, sorted_, plan)
    history = ctx.shape.history
    heads = deletes or sorted_.dead or sorted_.refolds
    if isinstance(history, Log):
        _fold_log(ctx, sorted_, line, plan)
    elif isinstance(history, Versions):
        _fold_versions(ctx, sorted_, line, anew, plan)
        if heads:
            plan.heads = heads_write_set(ctx, line if anew is None else line.unionByName(anew))
    else:
        _fold_current(ctx, line, anew, plan, heads=heads)
    return plan


def newer_than_heads(ctx: Context, line: DataFrame) -> DataFrame:
    """Of a line, the keys whose events are all above their head: these events and their seeds, ready to be folded."""
    line = line.where(~F.col(REFOLD) & F.col(WINS)).withColumn(COUNTED, ~F.col(SEED) & ~F.col(KNOWN))
    return _columns(ctx, with_row(line, ctx.shape))


def _columns(ctx: Context, events: DataFrame) -> DataFrame:
    return seed_columns(events, ctx.shape).select(*ctx.keys, *_LINE, *_SEEDS, COUNTED)


def _new_events(sorted_: Sorted) -> DataFrame:
    """Events of the keys to fold anew. One that is late, or a delete that met an event of its order, is not looked at
    for its effect: it has been counted, or is applied."""
    met = (F.col(KIND) == DELETE) & (F.col(MET) > 0)
    return sorted_.events.where(REFOLD).withColumn(COUNTED, ~F.col(KNOWN) & ~F.col(LATE) & ~met)


def _all_events(ctx: Context, sorted_: Sorted) -> DataFrame:
    """Every event of the keys that are folded anew, old and new, one per order, truncates included; staged."""
    mine = _new_events(sorted_)
    columns = [*ctx.keys, *EVENT_COLUMNS, COUNTED]
    events = mine.select(*columns)
    if ctx.before.journal is not None:
        old = journal_of(ctx, None if sorted_.everything else mine, size=sorted_.size)
        events = events.unionByName(old.withColumn(COUNTED, F.lit(False)).select(*columns))
    once = with_row(distinct_events(events, ctx.keys, COUNTED).drop(COPIES), ctx.shape)
    # V3 asks for any event of the first batch, also for one that has lost a tie.
    once = once.withColumn(versions.INITIAL, F.min(BATCH).over(Window.partitionBy(*ctx.keys)) == 1)
    one_each = collapse(once, ctx.keys)
    if sorted_.truncates is not None:
        one_each = with_truncates(one_each, sorted_.truncates, ctx.keys, null_row(ctx.shape.data))
        one_each = one_each.withColumn(COUNTED, F.coalesce(F.col(COUNTED), F.lit(False)))
    staged, _ = ctx.staging.write(_columns(ctx, one_each), "anew")
    return staged


def _count_anew(ctx: Context, anew: DataFrame, sorted_: Sorted, plan: WritePlan) -> None:
    line = timeline(anew, ctx.keys, ctx.shape)
    found = line.agg(F.count_if(F.col(UNCHANGED) & F.col(COUNTED)).alias("n")).first()
    plan.counts["unchanged"] += int(found["n"]) if found else 0
    if sorted_.new_truncates is not None:
        ended = line.where((F.col(ORDER).getField("t") == 0) & ~F.col(UNCHANGED)).select(ORDER).distinct()
        plan.counts["unchanged"] += sorted_.new_truncates.join(ended, [ORDER], "left_anti").count()


def tap(count: Observation) -> Callable[[DataFrame], DataFrame]:
    """Counts the events of timelines that change nothing, on their way."""
    return lambda line: line.observe(count, F.count_if(F.col(UNCHANGED) & F.col(COUNTED)).alias("n"))


def tapped(count: Observation) -> int:
    return int(count.get.get("n") or 0)


# ---- current


def _fold_current(
    ctx: Context, line: DataFrame, anew: DataFrame | None, plan: WritePlan, *, heads: bool
) -> None:
    count = Observation()
    finals = current.current_of(tap(count)(timeline(line, ctx.keys, ctx.shape)), ctx.keys)
    if anew is not None:
        folded = current.current_of(timeline(anew, ctx.keys, ctx.shape), ctx.keys)
        # From all its events, nobody knows what the tables have of a key.
        guesses = {current.KNOWN_ROW: F.lit(True), DEAD_HEAD: F.lit(ctx.before.heads is not None)}
        finals = finals.unionByName(folded.withColumns(guesses))
    plan.target, staged = current_write_set(ctx, finals, "current")
    if heads:
        plan.heads = heads_beside(ctx, staged)
    plan.counts["unchanged"] += tapped(count)


# ---- versions


def _fold_versions(
    ctx: Context, sorted_: Sorted, line: DataFrame, anew: DataFrame | None, plan: WritePlan
) -> None:
    shape, batch = ctx.shape, ctx.moment.batch
    count = Observation()
    found = versions.versions_of(versions.with_initial(line, shape, batch), ctx.keys, shape, tap(count))
    rows = versions.target_rows(found, shape, batch)
    gone = None
    if anew is not None:
        changed, gone = _versions_anew(ctx, anew, sorted_)
        rows = rows.unionByName(changed)
    plan.target, plan.next_number, _ = versions_write_set(
        ctx, rows, gone, open_only=anew is None, size=sorted_.size
    )
    plan.counts["unchanged"] += tapped(count)


def _versions_anew(ctx: Context, events: DataFrame, sorted_: Sorted) -> tuple[DataFrame, DataFrame | None]:
    """Versions of keys that are folded anew: the rows that differ from the table's, and the `sk`s that go (V1, V6)."""
    shape = ctx.shape
    assert isinstance(shape.history, Versions)
    initial = shape.history.initial
    if initial is not None:
        whole = Window.partitionBy(*ctx.keys)
        keyed = F.when(F.col(ORDER).getField("t") == 1, F.col(BATCH))  # a truncate is no event of one key
        first = F.max(versions.INITIAL).over(whole) | (F.min(keyed).over(whole) == 1)
        events = events.withColumn(versions.INITIAL, F.lit(True) if initial.keys == "all" else first)
    if ctx.before.target is None:
        found = versions.versions_of(events, ctx.keys, shape)
        return versions.target_rows(found, shape, ctx.moment.batch), None
    sk = shape.history.own("sk")
    old = with_key(ctx.align(ctx.before.target, versions.target_fields(shape)), shape.key)
    if not sorted_.everything:
        old = matching(old, events.select(*ctx.keys).distinct(), ctx.keys, size=sorted_.size)
    old, _ = ctx.staging.write(old, "old_versions")
    marks = old.select(*ctx.keys, F.col(FIRST).alias(ORDER), col(sk).alias("_lb_old_sk"))
    matched = events.join(marks, [*ctx.keys, ORDER], "left")
    matched = matched.withColumn(SK, F.col("_lb_old_sk")).drop("_lb_old_sk")
    rows = versions.target_rows(versions.versions_of(matched, ctx.keys, shape), shape, ctx.moment.batch)
    rows, counts = ctx.staging.write(rows, "new_versions", {"unnamed": F.count_if(col(sk).isNull())})
    if counts["unnamed"]:
        rows, _ = ctx.staging.write(_equal_ones_named(shape, sk, old, rows), "named_versions")
    gone = old.select(col(sk)).join(rows.where(col(sk).isNotNull()).select(col(sk)), [sk], "left_anti")
    return _changed_rows(shape, sk, old, rows), gone


def _equal_ones_named(shape: Shape, sk: str, old: DataFrame, rows: DataFrame) -> DataFrame:
    """V6: a row that is equal before and after keeps its `sk`, also if the event that its version started with lost a tie since.
    So versions without one take that of an equal row whose version is gone."""
    named = rows.where(col(sk).isNotNull())
    gone = old.join(named.select(col(sk)), [sk], "left_anti")
    shown = [f for f in versions.target_fields(shape) if f.name not in (sk, ORDER, FIRST, OPENED, CLOSED)]
    content = {f"_lb_shown{salt}": row_hash([(f, col(f.name)) for f in shown], salt) for salt in SALTS}
    place = {"_lb_place": F.row_number().over(Window.partitionBy(*content).orderBy(FIRST))}
    free = gone.withColumns(content).withColumns(place).select(*content, *place, col(sk).alias("_lb_free"))
    nameless = rows.where(col(sk).isNull()).withColumns(content).withColumns(place)
    taken = nameless.join(free, [*content, *place], "left").withColumn(sk, F.col("_lb_free"))
    return named.unionByName(taken.select(*[col(name) for name in named.columns]))


def _changed_rows(shape: Shape, sk: str, old: DataFrame, rows: DataFrame) -> DataFrame:
    """Rows that are new or differ from the one with their `sk`; when a version was opened, or closed at this end, stays."""
    assert isinstance(shape.history, Versions)
    valid_to = shape.history.own("valid_to")
    then = old.select(
        col(sk).alias("_lb_then_sk"),
        *[value.alias(f"_lb_then{i}") for i, value in enumerate(_content(shape))],
        F.col(OPENED).alias("_lb_then_opened"),
        F.col(CLOSED).alias("_lb_then_closed"),
        col(valid_to).alias("_lb_then_to"),
    )
    joined = rows.join(then, col(sk) == F.col("_lb_then_sk"), "left")
    now = _content(shape)
    equal = F.lit(True)
    for place, value in enumerate(now):
        equal = equal & (F.col(f"_lb_then{place}") == value)
    changed = joined.where(F.col("_lb_then_sk").isNull() | ~equal)
    same_end = F.col("_lb_then_to").eqNullSafe(col(valid_to)) & F.col("_lb_then_closed").isNotNull()
    changed = changed.withColumns(
        {
            OPENED: F.coalesce(F.col("_lb_then_opened"), F.col(OPENED)),
            CLOSED: F.when(same_end & F.col(CLOSED).isNotNull(), F.col("_lb_then_closed")).otherwise(
                F.col(CLOSED)
            ),
        }
    )
    return changed.select(*[col(f.name) for f in versions.target_fields(shape)])


def _content(shape: Shape) -> list[Column]:
    """All of a row but the batches that opened and closed it, as 128 bits."""
    fields: list[StructField] = [f for f in versions.target_fields(shape) if f.name not in (OPENED, CLOSED)]
    return [row_hash([(f, col(f.name)) for f in fields], salt) for salt in SALTS]


# ---- log


def _fold_log(ctx: Context, sorted_: Sorted, line: DataFrame, plan: WritePlan) -> None:
    """L3, G7: events in turn; those of keys that are folded anew each against all that is known by then."""
    shape, top = ctx.shape, "_lb_top"
    line = line.withColumns({top: F.col(ORDER), EFFECTIVE: F.lit(None).cast("timestamp")})
    if sorted_.refolds:
        turns, plan.rejected = _in_turns(ctx, sorted_)
        line = line.unionByName(turns.withColumn(top, F.col(log.NEWEST)).select(line.columns))
        seeds = sorted_.line.where(F.col(SEED) & F.col(REFOLD)).withColumn(COUNTED, F.lit(False))
        keys = turns.select(*ctx.keys).distinct()
        seeds = _columns(ctx, matching(seeds, keys, ctx.keys))
        seeds = seeds.withColumns({top: F.col(ORDER), EFFECTIVE: F.lit(None).cast("timestamp")})
        # What is known comes before every turn, also before those of late events.
        line = line.unionByName(seeds.withColumn(ORDER, F.lit(None).cast(shape.order_type)))
    counts = {"n": F.count_if(F.col(UNCHANGED) & F.col(COUNTED))}
    staged, found = ctx.staging.write(timeline(line, ctx.keys, shape), "line", counts)
    plan.counts["unchanged"] += int(found["n"] or 0)
    written = log.emissions(staged, ctx.keys, shape, ctx.moment)
    by = [F.col(name) for name in log.sort_of(shape)]
    plan.appended, plan.next_number = log_write_set(ctx, written, by, size=sorted_.size)
    tops = staged.groupBy(*ctx.keys).agg(F.max(top).alias(top))
    finals = current.current_of(staged, ctx.keys).join(tops, ctx.keys)
    plan.state, _ = current_write_set(ctx, finals.withColumn(ORDER, F.col(top)), "state")


def _in_turns(ctx: Context, sorted_: Sorted) -> tuple[DataFrame, DataFrame | None]:
    """Each new event as one that sets the whole row there is after it; and the late ones that change nothing (G7)."""
    keys = ctx.keys
    all_new = _new_events(sorted_)
    new, _ = ctx.staging.write(all_new.where(~F.col(KNOWN)), "new_events")
    events = with_row(new, ctx.shape)
    known = None
    if ctx.before.journal is not None:
        wanted = None if sorted_.everything else new
        old = journal_of(ctx, wanted, size=sorted_.size).select(*keys, *EVENT_COLUMNS)
        # Those that came again are one event with the earlier ones, with the smallest of their times (G6).
        again = all_new.where(KNOWN).select(*keys, *EVENT_COLUMNS)
        known = with_row(distinct_events(old.unionByName(again), keys).drop(COPIES), ctx.shape)
        known, _ = ctx.staging.write(known, "known_events")
    if sorted_.new_truncates is not None:
        events = _with_new_truncates(ctx, sorted_.new_truncates, events, known)
    old_truncates = None
    if sorted_.truncates is not None:
        old_truncates = sorted_.truncates.where(F.col(BATCH) < ctx.moment.batch)
    states = log.states_in_turn(known, events, old_truncates, keys, ctx.shape)
    states, _ = ctx.staging.write(states, "turns")
    turns = states.where(F.col(log.ROUND) > 0).withColumn(COUNTED, F.lit(False))
    shown = states.where(F.col(log.DIFFERS)).select(*keys, ORDER)
    late = new.where(F.col(LATE)).join(shown, [*keys, ORDER], "left_anti")
    return _columns_of_turns(ctx, turns), late


def _columns_of_turns(ctx: Context, turns: DataFrame) -> DataFrame:
    blank = {name: F.lit(None).cast("bigint") for name in (HASH1, HASH2, BATCH)}
    full = turns.withColumns({**blank, SETS: F.lit(None).cast("array<string>")})
    full = full.withColumn(FROM, F.lit(None).cast(ctx.shape.from_type))
    return seed_columns(full, ctx.shape)


def _with_new_truncates(
    ctx: Context, truncates: DataFrame, events: DataFrame, known: DataFrame | None
) -> DataFrame:
    """New truncates as deletes of every key that has an event below them, whether it is in this batch or not."""
    everything = events if known is None else events.unionByName(known, allowMissingColumns=True)
    with_marks = with_truncates(
        everything.withColumn("_lb_mine", F.lit(True)), truncates, ctx.keys, null_row(ctx.shape.data)
    )
    deletes = with_marks.where(F.col("_lb_mine").isNull()).drop("_lb_mine")
    return events.unionByName(deletes.select(events.columns))
