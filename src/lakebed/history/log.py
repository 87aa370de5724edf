"""Timelines → rows of the log (L1 to L4), in the order of L3."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

from lakebed.history.changes import (
    BEFORE_KIND,
    UNCHANGED,
    collapse,
    in_order,
    timeline,
    with_truncates,
)
from lakebed.history.columns import (
    BATCH,
    EFFECTIVE,
    EVENT_TIME,
    HASH1,
    HASH2,
    KIND,
    ORDER,
    ROW,
    SEED,
    SETS,
    UPSERT,
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
    wrote = F.when(
        upsert & (~F.col(UNCHANGED) | F.col(SEED)), F.struct(ROW, F.col(EVENT_TIME).alias("t"))
    )
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
        own("system_time"): F.lit(moment.system_time).cast("timestamp").alias(own("system_time")),
        EFFECTIVE: F.col(EFFECTIVE),
        BATCH: F.lit(moment.batch).cast("bigint").alias(BATCH),
    }
    if not shape.event_time_is_own:
        values[own("event_time")] = F.col(EVENT_TIME).alias(own("event_time"))
    return written.select(*[values[f.name] for f in target_fields(shape)])


# ---- late events (G7)

ROUND = "_lb_round"


def late_rounds(
    known: DataFrame, late: DataFrame, truncates: DataFrame | None, keys: Sequence[str], shape: Shape
) -> DataFrame:
    """The state of each key after each of its late events, taken in order: keys, ROUND, KIND, ROW, EVENT_TIME.

    Round 0 is the state without them; round n includes the first n. Folding every round anew costs rounds times events,
    but only for keys with late events.
    """
    in_turn = Window.partitionBy(*keys).orderBy(ORDER, KIND, HASH1, HASH2)
    counted = late.withColumns(
        {ROUND: F.row_number().over(in_turn), "_lb_rounds": F.count(F.lit(1)).over(Window.partitionBy(*keys))}
    )
    rounds = counted.select(*keys, "_lb_rounds").distinct()
    everywhere = known.join(rounds, list(keys)).withColumn(
        ROUND, F.explode(F.sequence(F.lit(0), F.col("_lb_rounds").cast("int")))
    )
    later = counted.withColumn(
        ROUND, F.explode(F.sequence(F.col(ROUND).cast("int"), F.col("_lb_rounds").cast("int")))
    )
    both = everywhere.unionByName(later, allowMissingColumns=True).drop("_lb_rounds")
    by_round = [*keys, ROUND]
    one_each = collapse(both, by_round)
    if truncates is not None:
        one_each = with_truncates(one_each, truncates, by_round, null_row(shape.data))
    line = timeline(one_each.withColumn(SEED, F.lit(False)), by_round, shape)
    newest = Window.partitionBy(*by_round).orderBy(F.col(ORDER).desc())
    last = line.withColumn("_lb_rank", F.row_number().over(newest)).where("_lb_rank = 1")
    return last.select(*by_round, KIND, ROW, EVENT_TIME)


def corrections(rounds: DataFrame, late: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Each late event as an event that sets the whole state there is after it; it keeps the newest event's time (L3)."""
    in_turn = Window.partitionBy(*keys).orderBy(ORDER, KIND, HASH1, HASH2)
    marks = late.select(
        *keys,
        ORDER,
        F.col(EVENT_TIME).alias(EFFECTIVE),
        F.row_number().over(in_turn).alias(ROUND),
        F.col(KIND).alias("_lb_late_kind"),
        HASH1,
        HASH2,
    )
    return (
        rounds.join(marks, [*keys, ROUND])
        .withColumn(SETS, F.lit(None).cast("array<string>"))
        .drop("_lb_late_kind", ROUND)
    )
