"""Changes under the total order of G6, and the timeline of each key that follows from them.

An *event* is a change with its columns packed into one struct. Every function is pure and takes `keys`, the names of
the columns that tell one timeline from another; seeds (what is known of a key so far) are events too, and come first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F
from pyspark.sql.types import StructField

from lakebed.history.columns import (
    BATCH,
    CARRIED,
    COPIES,
    DELETE,
    EVENT_TIME,
    EVERY_OTHER,
    FROM,
    HASH1,
    HASH2,
    KIND,
    ORDER,
    ROW,
    SEED,
    SETS,
    UPSERT,
    field,
    key_names,
    pack,
    with_key,
)
from lakebed.history.hashing import row_hash
from lakebed.history.normalise import SALTS
from lakebed.history.shape import Shape

EVENT_COLUMNS = (KIND, ORDER, SETS, EVENT_TIME, FROM, HASH1, HASH2, BATCH, CARRIED)

# What a timeline tells of each event besides.
ALL1, ALL2 = "_lb_all1", "_lb_all2"
TRACK1, TRACK2 = "_lb_track1", "_lb_track2"
BEFORE_KIND = "_lb_before_kind"
UNCHANGED = "_lb_unchanged"


def events_of(changes: DataFrame, shape: Shape) -> DataFrame:
    """Changes with all their columns packed into CARRIED; what a delete carries is not compared (G6)."""
    delete = F.col(KIND) != UPSERT
    packed = with_key(changes, shape.key).withColumns(
        {
            CARRIED: pack(shape.columns),
            HASH1: F.when(delete, F.lit(0)).otherwise(F.col(HASH1)).cast("bigint"),
            HASH2: F.when(delete, F.lit(0)).otherwise(F.col(HASH2)).cast("bigint"),
        }
    )
    return packed.select(*key_names(shape.key), *EVENT_COLUMNS)


def with_row(events: DataFrame, shape: Shape) -> DataFrame:
    """CARRIED → ROW: of an upsert the stored columns, of a delete nothing; a seed has its row."""
    stored = F.struct(*[field(CARRIED, f.name).alias(f.name) for f in shape.data])
    row = F.when(F.col(KIND) == UPSERT, stored)
    if SEED in events.columns:
        row = F.when(F.col(SEED), F.col(ROW)).otherwise(row)
    return events.withColumn(ROW, row).drop(CARRIED)


def distinct_events(events: DataFrame, keys: Sequence[str], *flags: str) -> DataFrame:
    """Identical events are one, with the smallest of their times (G6); `COPIES` counts them; a flag is true if any has it."""
    identity = [*keys, ORDER, KIND, HASH1, HASH2]
    return events.groupBy(*identity).agg(
        F.min(EVENT_TIME).alias(EVENT_TIME),
        F.min(FROM).alias(FROM),
        F.min(BATCH).alias(BATCH),
        F.count(F.lit(1)).alias(COPIES),
        F.first(SETS).alias(SETS),
        F.first(CARRIED).alias(CARRIED),
        *[F.max(flag).alias(flag) for flag in flags],
    )


def collapse(events: DataFrame, keys: Sequence[str]) -> DataFrame:
    """One event per key and order, the strongest."""
    ranked = events.withColumn("_lb_rank", F.row_number().over(strongest_first(keys)))
    return ranked.where("_lb_rank = 1").drop("_lb_rank")


def strongest_first(keys: Sequence[str]) -> WindowSpec:
    """The events of a key and order: a delete beats an upsert, of two upserts the greater hash wins (G6)."""
    return Window.partitionBy(*keys, ORDER).orderBy(
        (F.col(KIND) == UPSERT).asc(), F.col(HASH1).desc(), F.col(HASH2).desc()
    )


def with_truncates(events: DataFrame, truncates: DataFrame, keys: Sequence[str], row: Column) -> DataFrame:
    """Each truncate as a delete of every key that has an event below it (F5). `truncates` is small by nature."""
    firsts = events.groupBy(*keys).agg(F.min(ORDER).alias("_lb_least"))
    marks = truncates.select(
        F.col(ORDER),
        F.col(EVENT_TIME),
        F.col(FROM),
        F.col(BATCH),
    )
    hit = firsts.join(F.broadcast(marks), F.col("_lb_least") < F.col(ORDER)).drop("_lb_least")
    deletes = hit.withColumns({KIND: F.lit(DELETE), ROW: row})
    return events.unionByName(deletes, allowMissingColumns=True)


def in_order(keys: Sequence[str]) -> WindowSpec:
    return Window.partitionBy(*keys).orderBy(ORDER)


def is_last(keys: Sequence[str]) -> Column:
    """Whether no event of its key comes after this one."""
    return F.lead(F.lit(True)).over(in_order(keys)).isNull()


def carry(events: DataFrame, keys: Sequence[str], shape: Shape) -> DataFrame:
    """F6: a column that an event does not set keeps the value before it; a delete ends the inheritance."""
    before = in_order(keys).rowsBetween(Window.unboundedPreceding, -1)
    ended = F.coalesce(F.sum((F.col(KIND) == DELETE).cast("int")).over(before), F.lit(0))
    lives = events.withColumn("_lb_life", ended)
    so_far = (
        Window.partitionBy(*keys, "_lb_life")
        .orderBy(ORDER)
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )

    nulls_keep = shape.nulls_keep

    def carried(f: StructField) -> Column:
        sets = F.lit(True)
        if f.name.lower() in shape.optional:
            sets = F.col(SETS).isNull() | F.array_contains(F.col(SETS), f.name.lower())
            if nulls_keep is not None and f.name.lower() not in nulls_keep:
                sets = sets | F.array_contains(F.col(SETS), EVERY_OTHER)
        value = F.when((F.col(KIND) == UPSERT) & sets, F.struct(field(ROW, f.name).alias("v")))
        return F.last(value, ignorenulls=True).over(so_far)

    places = {f"_lb_c{place}": f for place, f in enumerate(shape.data)}
    filled = lives.withColumns({place: carried(f) for place, f in places.items()})
    row = F.struct(*[F.col(place).getField("v").alias(f.name) for place, f in places.items()])
    filled = filled.withColumn(ROW, F.when(F.col(KIND) == UPSERT, row).otherwise(F.col(ROW)))
    return filled.drop("_lb_life", *places)


def timeline(
    events: DataFrame, keys: Sequence[str], shape: Shape, also: Mapping[str, Column] | None = None
) -> DataFrame:
    """Each event with the whole row after it, the hashes of that row, and whether it left the state as it was.

    Takes one event per key and order (`collapse`). Rows of deletes stay as they are given. `also` are columns over `in_order`,
    found in the same pass.
    """
    whole = carry(events, keys, shape) if shape.carries else events
    hashed = whole.withColumns(
        {
            **_row_hashes(shape.data, ALL1, ALL2),
            **_row_hashes(shape.hashed, TRACK1, TRACK2),
        }
    )
    window = in_order(keys)
    upsert = F.col(KIND) == UPSERT
    before = F.lag(KIND).over(window)
    equal = (F.lag(ALL1).over(window) == F.col(ALL1)) & (F.lag(ALL2).over(window) == F.col(ALL2))
    lived = F.coalesce(before == UPSERT, F.lit(False))
    return hashed.withColumns(
        {
            BEFORE_KIND: before,
            UNCHANGED: F.when(upsert, lived & F.coalesce(equal, F.lit(False))).otherwise(~lived),
            **(also or {}),
        }
    )


def _row_hashes(fields: Sequence[StructField], one: str, two: str) -> dict[str, Column]:
    values = [(f, field(ROW, f.name)) for f in fields]
    return {name: row_hash(values, salt) for name, salt in zip((one, two), SALTS, strict=True)}
