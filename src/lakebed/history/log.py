"""Timelines → rows of the log (L1 to L4), in the order of L3."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

from lakebed.history.changes import (
    ALL1,
    ALL2,
    BEFORE_KIND,
    UNCHANGED,
    collapse,
    in_order,
    is_last,
    timeline,
    with_truncates,
)
from lakebed.history.columns import (
    BATCH,
    EFFECTIVE,
    EVENT_TIME,
    FROM,
    HASH1,
    HASH2,
    KIND,
    ORDER,
    ROW,
    SEED,
    SETS,
    UPSERT,
    batch_number,
    constant,
    key_names,
    null_row,
    unpack,
)
from lakebed.history.normalise import Moment
from lakebed.history.shape import Shape
from lakebed.manifest import Log, Snapshot

OP = "_lb_op"
STEP = "_lb_step"


def emissions(line: DataFrame, keys: Sequence[str], shape: Shape, moment: Moment) -> DataFrame:
    """What each event of the timelines writes (L2): keys, ORDER, STEP, OP, ROW, EVENT_TIME, EFFECTIVE. Seeds write nothing."""
    window = in_order(keys)
    earlier = window.rowsBetween(Window.unboundedPreceding, -1)
    upsert = F.col(KIND) == UPSERT
    wrote = F.when(upsert & (~F.col(UNCHANGED) | F.col(SEED)), F.struct(ROW, F.col(EVENT_TIME).alias("t")))
    cause = moment.time if isinstance(shape.feed, Snapshot) else F.col(EVENT_TIME)
    marked = line.withColumns(
        {
            "_lb_old": F.last(wrote, ignorenulls=True).over(earlier),
            EFFECTIVE: F.coalesce(F.col(EFFECTIVE), cause) if EFFECTIVE in line.columns else cause,
        }
    ).where(~F.col(SEED) & ~F.col(UNCHANGED))
    old, lived = F.col("_lb_old"), F.coalesce(F.col(BEFORE_KIND) == UPSERT, F.lit(False))

    def written(op: str, row: Column, time: Column) -> Column:
        return F.struct(F.lit(op).alias("op"), row.alias("row"), time.alias("time"))

    undone = (old.getField(ROW), old.getField("t"))
    new = (F.col(ROW), F.col(EVENT_TIME))
    rows = (
        F.when(upsert & ~lived, F.array(written("+A", *new)))
        .when(upsert, F.array(written("-C", *undone), written("+C", *new)))
        .otherwise(F.array(written("-R", *undone)))
    )
    spread = marked.select(*keys, ORDER, EFFECTIVE, F.posexplode(rows).alias(STEP, "_lb_w"))
    wrote_ = F.col("_lb_w")
    return spread.select(
        *keys,
        ORDER,
        STEP,
        EFFECTIVE,
        wrote_.getField("op").alias(OP),
        wrote_.getField("row").alias(ROW),
        wrote_.getField("time").alias(EVENT_TIME),
    )


def sort_of(shape: Shape) -> list[str]:
    """L3: by order, then key; each change's rows together."""
    return [ORDER, *key_names(shape.key), STEP]


def target_fields(shape: Shape) -> list[StructField]:
    history = shape.history
    assert isinstance(history, Log)
    own = history.own
    merged = shape.event_time if shape.event_time_is_own else None
    first = next((f for f in shape.data if f.name == merged), None)
    return [
        StructField(own("offset"), LongType()),
        StructField(own("op"), StringType()),
        StructField(own("system_time"), TimestampType()),
        first or StructField(own("event_time"), TimestampType()),
        *[f for f in shape.data if f is not first],
        StructField(EFFECTIVE, TimestampType()),
        StructField(BATCH, LongType()),
    ]


def schema_of(shape: Shape) -> StructType:
    return StructType(target_fields(shape))


def target_rows(written: DataFrame, shape: Shape, moment: Moment) -> DataFrame:
    """Rows of the table but for `offset`, which is given on the staged write set."""
    history = shape.history
    assert isinstance(history, Log)
    own = history.own
    values: dict[str, Column] = dict(zip((f.name for f in shape.data), unpack(shape.data), strict=True))
    values |= {
        own("offset"): F.lit(None).cast("bigint").alias(own("offset")),
        own("op"): F.col(OP).alias(own("op")),
        own("system_time"): constant(F.lit(moment.system_time).cast("timestamp"), EVENT_TIME).alias(
            own("system_time")
        ),
        EFFECTIVE: F.col(EFFECTIVE),
        BATCH: batch_number(moment.batch, EVENT_TIME).alias(BATCH),
    }
    if not shape.event_time_is_own:
        values[own("event_time")] = F.col(EVENT_TIME).alias(own("event_time"))
    return written.select(*[values[f.name] for f in target_fields(shape)])


# ---- late events (G7)

ROUND = "_lb_round"
DIFFERS = "_lb_differs"
NEWEST = "_lb_newest"


def states_in_turn(
    known: DataFrame | None,
    new: DataFrame,
    truncates: DataFrame | None,
    keys: Sequence[str],
    shape: Shape,
) -> DataFrame:
    """The state of each key after each of its new events, taken in order: keys, ROUND, ORDER, KIND, ROW, EVENT_TIME,
    EFFECTIVE (the time of the event that is new), DIFFERS (from the round before), NEWEST (the order of the newest event by then, which
    may be a truncate).

    Round 0 is the state before; events of one order are one round. Folding every round anew costs rounds times events, but
    only for keys where an event came late. A state keeps the newest event's time (L3).
    """
    turn = Window.partitionBy(*keys).orderBy(ORDER)
    numbered = new.withColumn(ROUND, F.dense_rank().over(turn))
    last_round = numbered.groupBy(*keys).agg(F.max(ROUND).alias("_lb_rounds"))
    causes = numbered.groupBy(*keys, ROUND).agg(
        F.first(ORDER).alias("_lb_cause"), F.min(EVENT_TIME).alias(EFFECTIVE)
    )

    def from_round(events: DataFrame, first: Column) -> DataFrame:
        repeated = events.join(last_round, list(keys)).withColumn(
            ROUND, F.explode(F.sequence(first.cast("int"), F.col("_lb_rounds").cast("int")))
        )
        return repeated.select(*keys, ROUND, KIND, ORDER, SETS, EVENT_TIME, FROM, HASH1, HASH2, BATCH, ROW)

    both = from_round(numbered, F.col(ROUND))
    if known is not None:
        both = both.unionByName(from_round(known, F.lit(0)))
    by_round = [*keys, ROUND]
    one_each = collapse(both, by_round)
    if truncates is not None:
        one_each = with_truncates(one_each, truncates, by_round, null_row(shape.data))
    line = timeline(one_each.withColumn(SEED, F.lit(False)), by_round, shape)
    last = line.withColumn("_lb_last", is_last(by_round)).where("_lb_last")
    newest = F.col(ORDER).alias(NEWEST)
    states = last.select(*by_round, KIND, ROW, EVENT_TIME, newest, ALL1, ALL2).join(causes, by_round, "left")
    before = Window.partitionBy(*keys).orderBy(ROUND)
    lives, lived = F.col(KIND) == UPSERT, F.coalesce(F.lag(KIND).over(before) == UPSERT, F.lit(False))
    equal = (F.lag(ALL1).over(before) == F.col(ALL1)) & (F.lag(ALL2).over(before) == F.col(ALL2))
    differs = (lives != lived) | (lives & lived & ~F.coalesce(equal, F.lit(False)))
    states = states.withColumns({DIFFERS: (F.col(ROUND) > 0) & differs, ORDER: F.col("_lb_cause")})
    return states.drop("_lb_cause", ALL1, ALL2)
