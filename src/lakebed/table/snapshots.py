"""F3: a complete state against the one before. Only keys and hashes are compared; whole rows are read for what differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.errors import BatchError
from lakebed.history.changes import events_of, with_row
from lakebed.history.columns import (
    BATCH,
    DEAD,
    DELETE,
    EVENT_TIME,
    FROM,
    HASH1,
    HASH2,
    KIND,
    ORDER,
    REASON,
    ROW,
    SAME1,
    SAME2,
    SETS,
    as_json,
    col,
    null_row,
    with_key,
)
from lakebed.history.hashing import row_hash
from lakebed.history.normalise import (
    SALTS,
    has_plain_key,
    normalise,
    to_valid_time,
    usable,
    with_raw_key,
)
from lakebed.manifest import Log, Snapshot, Versions
from lakebed.table.arriving import fold_arriving
from lakebed.table.context import Context, Size, WritePlan, matching, seed_columns
from lakebed.tables.at_once import at_once
from lakebed.tables.staging import watched

DIFFERENCE = "_lb_difference"
LARGE = 200_000  # rows of a snapshot from which on grouping them costs more than two more queries
NEW, CHANGED, GONE_, SAME_, BACK = "new", "changed", "gone", "same", "back"
_LIVE, _CLASHES, _ROWS, _IN_SCOPE, _WAS_DEAD = (
    "_lb_live",
    "_lb_clashes",
    "_lb_rows",
    "_lb_in_scope",
    "_lb_was_dead",
)


@dataclass(frozen=True)
class Arrived:
    """A snapshot as changes, bad rows included; `raw` are its rows as they came, where they can be read again."""

    rows: DataFrame
    raw: DataFrame | None = None

    def of(self, ctx: Context, keys: DataFrame, *, size: Size) -> DataFrame:
        """The good changes of these keys. Rows as they came are narrowed first: to make a change of a row, with its hashes,
        costs more than to read it."""
        shape = ctx.shape
        if self.raw is None or not has_plain_key(shape):
            return matching(with_key(usable(self.rows), shape.key), keys, ctx.keys, size=size)
        narrowed = matching(with_raw_key(self.raw, shape), keys, ctx.keys, size=size)
        return with_key(usable(normalise(narrowed, shape, ctx.moment)), shape.key)

    def set_aside(self, ctx: Context) -> DataFrame:
        """The keys of bad rows, where they can be read: presence is decided by the key alone (F3), so these are not gone."""
        bad = with_key(self.rows.where(F.col(REASON).isNotNull()), ctx.shape.key)
        readable = reduce(lambda one, other: one & other, [F.col(name).isNotNull() for name in ctx.keys])
        return bad.where(readable).select(*ctx.keys).distinct()


def plan_snapshot(ctx: Context, arrived: Arrived, *, read: int, rejected: int) -> WritePlan:
    """The differences staged and counted, the guards asked, then the same fold as for any feed by arrival."""
    keyed = with_key(usable(arrived.rows), ctx.shape.key)
    staged, found = _found_differences(ctx, keyed, arrived.set_aside(ctx) if rejected else None, read)
    _guard(ctx, found, keyed, rejected)
    differing = int(found["new"]) + int(found["changed"]) + int(found["gone"]) + int(found["back"])
    size = Size(differing)
    wanted = staged.where(F.col(DIFFERENCE).isin(NEW, CHANGED, BACK)).select(*ctx.keys)
    fresh = keyed
    if ctx.live is not None:
        fresh = arrived.of(ctx, wanted, size=size)
    if int(found["rows"]) != int(found["keys"]):
        fresh = fresh.dropDuplicates(ctx.keys)
    events = with_row(events_of(fresh, ctx.shape), ctx.shape)
    line = seed_columns(events.unionByName(_deletes(ctx, staged)), ctx.shape)
    if ctx.live is not None:
        touched = staged.where(F.col(DIFFERENCE) != NEW).select(*ctx.keys)
        seeds = ctx.seeds(touched, size=size)
        line = line if seeds is None else line.unionByName(seeds)
    unchanged = int(found["same"])
    plan = WritePlan(
        counts={
            "duplicate": int(found["rows"]) - int(found["keys"]),
            "deleted": int(found["gone"]),
        }
    )
    ahead = None
    if ctx.live is not None and size.few:
        line = ahead = line.repartition(size.parts, *ctx.keys)
    with ctx.staging.fetching(ahead):
        plan = fold_arriving(ctx, line, plan, size=size)
    plan.counts["unchanged"] = unchanged
    return plan


def _found_differences(
    ctx: Context, keyed: DataFrame, set_aside: DataFrame | None, read: int
) -> tuple[DataFrame, dict[str, int]]:
    """Keys that differ, staged, and how many there are of each kind. Nearly every snapshot has a row per key. To make sure of it
    by grouping costs a third of all for a large one, so that is done only if the numbers do not add up without."""
    if ctx.live is not None and read >= LARGE:
        live = ctx.open_rows()
        assert live is not None
        tasks: dict[str, Callable[[], Any]] = {
            "compared": lambda: _stage_differences(ctx, keyed, _as_they_are(ctx, keyed), set_aside),
            "live": live.count,
        }
        done = at_once(keyed.sparkSession, tasks)
        staged, found = done["compared"]
        if not _has_twins(ctx, staged, found, done["live"]):
            return staged, found
    return _stage_differences(ctx, keyed, _grouped(ctx, keyed), set_aside)


def _has_twins(ctx: Context, staged: DataFrame, found: Mapping[str, int], live: int) -> bool:
    """Whether a key has two rows in a snapshot that was joined without grouping. `live`: how many keys were known. Then a known
    key was met, or missed, more often than there are, or a new one is there twice."""
    if found["rows"] - found["new"] + found["missing"] != live:
        return True
    new = staged.where(F.col(DIFFERENCE) == NEW).groupBy(*ctx.keys).count()
    return bool(found["new"]) and bool(new.where("count > 1").take(1))


def _stage_differences(
    ctx: Context, keyed: DataFrame, here: DataFrame, set_aside: DataFrame | None
) -> tuple[DataFrame, dict[str, int]]:
    """Keys that differ, with how; all keys are counted on the way. `here` are the keys of the snapshot with their hashes."""
    differences = _differences(ctx, keyed, here, set_aside)
    is_ = F.col(DIFFERENCE)
    counts: dict[str, Column] = {
        "rows": F.sum(F.coalesce(F.col(_ROWS), F.lit(0))),
        "keys": F.count_if(F.col(_ROWS).isNotNull()),
        "missing": F.count_if(F.col(_ROWS).isNull()),
        "clashes": F.count_if(F.col(_CLASHES)),
        "all_live": F.count_if(F.col(_LIVE) & ~F.col(_WAS_DEAD)),
        "live": F.count_if(F.col(_LIVE) & ~F.col(_WAS_DEAD) & F.col(_IN_SCOPE)),
        "same": F.count_if((is_ == SAME_) & F.col(_ROWS).isNotNull()),
        **{name: F.count_if(is_ == name) for name in (NEW, CHANGED, GONE_, BACK)},
    }
    counted, watch = watched(differences, counts)
    staged, _ = ctx.staging.write(counted.where(is_ != SAME_).select(*ctx.keys, DIFFERENCE), "differences")
    return staged, {name: int(value or 0) for name, value in watch.get.items()}


def _as_they_are(ctx: Context, keyed: DataFrame) -> DataFrame:
    one = {_ROWS: F.lit(1).cast("bigint"), _CLASHES: F.lit(False)}
    return keyed.withColumns(one).select(*ctx.keys, _ROWS, _CLASHES, SAME1, SAME2)


def _grouped(ctx: Context, keyed: DataFrame) -> DataFrame:
    """One row per key, with the number of its rows, and whether they differ."""
    # Plain numbers only: Spark sorts all rows to group them if a struct is among what it keeps.
    return (
        keyed.groupBy(*ctx.keys)
        .agg(
            F.count(F.lit(1)).alias(_ROWS),
            F.min(HASH1).alias(HASH1),
            F.max(HASH1).alias("_lb_high1"),
            F.min(HASH2).alias(HASH2),
            F.max(HASH2).alias("_lb_high2"),
            F.first(SAME1).alias(SAME1),
            F.first(SAME2).alias(SAME2),
        )
        .withColumn(_CLASHES, (F.col(HASH1) != F.col("_lb_high1")) | (F.col(HASH2) != F.col("_lb_high2")))
        .select(*ctx.keys, _ROWS, _CLASHES, SAME1, SAME2)
    )


def _differences(ctx: Context, keyed: DataFrame, here: DataFrame, set_aside: DataFrame | None) -> DataFrame:
    live = ctx.open_rows()
    if live is None:
        return here.withColumns(
            {
                DIFFERENCE: F.lit(NEW),
                _LIVE: F.lit(False),
                _WAS_DEAD: F.lit(False),
                _IN_SCOPE: F.lit(True),
            }
        )
    there = _known(ctx, live, keyed)
    if set_aside is not None:
        marked = set_aside.withColumn("_lb_set_aside", F.lit(True))
        there = there.join(F.broadcast(marked), ctx.keys, "left")
    both = here.join(there, ctx.keys, "full_outer")
    present, known = F.col(_ROWS).isNotNull(), F.coalesce(F.col(_LIVE), F.lit(False))
    dead = F.coalesce(F.col(_WAS_DEAD), F.lit(False))
    equal = (F.col(SAME1) == F.col("_lb_there1")) & (F.col(SAME2) == F.col("_lb_there2"))
    in_scope = F.coalesce(F.col(_IN_SCOPE), F.lit(True))
    aside = F.lit(False) if set_aside is None else F.col("_lb_set_aside").isNotNull()
    difference = (
        F.when(present & ~known, F.lit(NEW))
        .when(present & dead, F.lit(BACK))
        .when(present & ~equal, F.lit(CHANGED))
        .when(present, F.lit(SAME_))
        .when(dead | ~in_scope | aside, F.lit(SAME_))
        .otherwise(F.lit(GONE_))
    )
    return both.withColumns({DIFFERENCE: difference, _LIVE: known, _WAS_DEAD: dead, _IN_SCOPE: in_scope})


def _known(ctx: Context, live: DataFrame, rows: DataFrame) -> DataFrame:
    """Keys of the state with the hashes to compare, whether they are deleted, and whether the batch speaks of them."""
    shape = ctx.shape
    feed, history = shape.feed, shape.history
    assert isinstance(feed, Snapshot)
    one, two = F.col(SAME1), F.col(SAME2)
    if feed.on_missing_column == "keep" and shape.missing:
        arrived = [(f, col(f.name)) for f in shape.compared if f.name in shape.sources]
        one, two = (row_hash(arrived, salt) for salt in SALTS)
    dead: Column = F.lit(False)
    if isinstance(history, Log):
        dead = F.col(DEAD)
    elif shape.ignores_deletes:
        dead = F.col(SAME1).isNull()
    elif isinstance(history, Versions) or history.deletes == "flag":
        dead = col(history.own("is_deleted"))
    known = with_key(live, shape.key).withColumns(
        {"_lb_there1": one, "_lb_there2": two, _LIVE: F.lit(True), _WAS_DEAD: dead}
    )
    if not feed.scope:
        known = known.withColumn(_IN_SCOPE, F.lit(True))
        return known.select(*ctx.keys, "_lb_there1", "_lb_there2", _LIVE, _WAS_DEAD, _IN_SCOPE)
    scope = {f"_lb_s{place}": name for place, name in enumerate(shape.names(feed.scope))}
    told = rows.select(*[col(name).alias(alias) for alias, name in scope.items()]).distinct()
    condition = F.lit(True)
    for alias, name in scope.items():
        condition = condition & told[alias].eqNullSafe(col(name))
    inside = known.join(F.broadcast(told.withColumn(_IN_SCOPE, F.lit(True))), condition, "left")
    inside = inside.withColumn(_IN_SCOPE, F.coalesce(F.col(_IN_SCOPE), F.lit(False)))
    return inside.select(*ctx.keys, "_lb_there1", "_lb_there2", _LIVE, _WAS_DEAD, _IN_SCOPE)


def _deletes(ctx: Context, staged: DataFrame) -> DataFrame:
    """A key that is gone is a delete at the snapshot's time."""
    shape, moment = ctx.shape, ctx.moment
    order = F.struct(
        F.lit(moment.batch).cast("bigint").alias("batch"),
        F.lit(0).cast("bigint").alias("position"),
        F.lit(1).cast("int").alias("t"),
    )
    return staged.where(F.col(DIFFERENCE) == GONE_).select(
        *ctx.keys,
        F.lit(DELETE).alias(KIND),
        order.alias(ORDER),
        F.lit(None).cast("array<string>").alias(SETS),
        moment.time.alias(EVENT_TIME),
        to_valid_time(moment.time, shape.from_type).alias(FROM),
        F.lit(0).cast("bigint").alias(HASH1),
        F.lit(0).cast("bigint").alias(HASH2),
        F.lit(moment.batch).cast("bigint").alias(BATCH),
        null_row(shape.data).alias(ROW),
    )


def _clashing(ctx: Context, keyed: DataFrame) -> list[str]:
    """Some of the keys that have different rows."""
    key = F.struct(*[F.col(own).alias(name) for own, name in zip(ctx.keys, ctx.shape.key, strict=True)])
    clashes = _grouped(ctx, keyed).where(F.col(_CLASHES)).select(as_json(key))
    return [row[0] for row in clashes.take(3)]


def _guard(ctx: Context, found: dict[str, int], keyed: DataFrame, rejected: int) -> None:
    """F3's guards; nothing was written yet."""
    feed = ctx.shape.feed
    assert isinstance(feed, Snapshot)
    if found["clashes"]:
        raise BatchError(
            f"{found['clashes']} keys of the snapshot have different rows",
            code="duplicate_key",
            counts={"keys": found["clashes"]},
            sample=_clashing(ctx, keyed),
            hint="a snapshot has one row per key: mend the source, or widen the key",
        )
    if not found["rows"] and found["all_live"] and not feed.allow_empty:
        bad = "all rows of the snapshot are bad" if rejected else "the snapshot is empty"
        mend = "mend the source: on_bad_rows: fail says what is wrong with each row"
        raise BatchError(
            f"{bad}, and the table has {found['all_live']} live keys",
            code="empty_snapshot",
            counts={"live": found["all_live"], "rejected": rejected},
            hint=mend if rejected else "set allow_empty if the source may really be empty",
        )
    limit = feed.max_delete_fraction
    # A quotient rounds to the limit as it is written; a product need not (0.58 of 50 keys is less than 29).
    if limit is not None and found["live"] and found["gone"] / found["live"] > limit:
        raise BatchError(
            f"{found['gone']} of {found['live']} live keys would vanish, more than {limit:g} of them",
            code="too_many_deletes",
            counts={"gone": found["gone"], "live": found["live"]},
            hint="check that the snapshot is complete; raise max_delete_fraction if it is",
        )
