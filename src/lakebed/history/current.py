"""Events of keys → one row per live key (C1 to C3). The state beside a log (L4) has the same form."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, LongType, StructField, StructType, TimestampType

from lakebed.history.changes import UNCHANGED, in_order, is_last
from lakebed.history.columns import (
    BATCH,
    DEAD,
    DEAD_HEAD,
    DELETE,
    EVENT_TIME,
    FROM,
    HASH1,
    HASH2,
    KIND,
    ORDER,
    ROW,
    SAME1,
    SAME2,
    SEED,
    SETS,
    UPSERT,
    batch_number,
    col,
    field,
    key_names,
    pack,
    with_key,
)
from lakebed.history.hashing import row_hash
from lakebed.history.normalise import SALTS
from lakebed.history.shape import Shape
from lakebed.manifest import Current, Log, Snapshot

CHANGED = "_lb_changed"
KNOWN_ROW = "_lb_known_row"  # the table has a row of this key already


def current_of(line: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The last event of each timeline: keys, KIND, ROW (of a delete: the values it ended), ORDER, FROM, EVENT_TIME, CHANGED,
    and of what was known of its key, KNOWN_ROW or DEAD_HEAD.

    EVENT_TIME is that of the event which last changed the row, so a log can repeat it (L2).
    """
    whole = Window.partitionBy(*keys)
    window = in_order(keys)
    so_far = window.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    changing = ~F.col(UNCHANGED) | F.col(SEED)
    shown = F.when(F.col(ROW).isNotNull(), F.col(ROW))
    wrote = F.when((F.col(KIND) == UPSERT) & changing, F.struct(F.col(EVENT_TIME).alias("t")))
    marked = line.withColumns(
        {
            ROW: F.last(shown, ignorenulls=True).over(so_far),
            EVENT_TIME: F.last(wrote, ignorenulls=True).over(so_far).getField("t"),
            CHANGED: F.max(~F.col(UNCHANGED) & ~F.col(SEED)).over(whole),
            KNOWN_ROW: F.max(F.col(SEED) & F.col(ROW).isNotNull()).over(whole),
            DEAD_HEAD: F.max(F.col(SEED) & F.col(ROW).isNull()).over(whole),
            "_lb_last": is_last(keys),
        }
    )
    told = (KIND, ROW, ORDER, FROM, EVENT_TIME, CHANGED, KNOWN_ROW, DEAD_HEAD)
    return marked.where("_lb_last").select(*keys, *told)


def flags_deletes(shape: Shape) -> bool:
    return isinstance(shape.history, Current) and shape.history.deletes == "flag"


def target_fields(shape: Shape) -> list[StructField]:
    """The columns of a current table, or of the state beside a log; internal ones last."""
    own: list[StructField] = []
    extra: list[StructField] = []
    if isinstance(shape.history, Current) and flags_deletes(shape):
        own = [StructField(shape.history.own("is_deleted"), BooleanType())]
    if isinstance(shape.history, Log):
        extra = [StructField(EVENT_TIME, TimestampType()), StructField(DEAD, BooleanType())]
    if isinstance(shape.feed, Snapshot):
        extra += [StructField(SAME1, LongType()), StructField(SAME2, LongType())]
    return [
        *shape.data,
        *own,
        StructField(ORDER, shape.order_type),
        StructField(BATCH, LongType()),
        *extra,
    ]


def schema_of(shape: Shape) -> StructType:
    return StructType(target_fields(shape))


def target_rows(current: DataFrame, shape: Shape, batch: int, *also: str) -> DataFrame:
    """Each key as a row of the table, and the columns named besides. What a key without a row (see `has_row`) shows
    beside its key means nothing."""
    dead = F.col(KIND) == DELETE
    columns: list[Column] = [_or_key(shape, f) for f in shape.data]
    if isinstance(shape.history, Current) and flags_deletes(shape):
        columns.append(dead.alias(shape.history.own("is_deleted")))
    columns += [F.col(ORDER), batch_number(batch, key_names(shape.key)[0]).alias(BATCH)]
    if isinstance(shape.history, Log):
        columns += [F.when(~dead, F.col(EVENT_TIME)).alias(EVENT_TIME), dead.alias(DEAD)]
    if isinstance(shape.feed, Snapshot):
        compared = [(f, field(ROW, f.name)) for f in shape.compared]
        columns += [
            row_hash(compared, salt).alias(name) for name, salt in zip((SAME1, SAME2), SALTS, strict=True)
        ]
    return current.select(*columns, *also)


def has_row(shape: Shape) -> Column:
    """Whether a key has a row in the table: if it lives, or had values that are kept and flagged; in the state of a log always."""
    if isinstance(shape.history, Log):
        return F.lit(True)
    return F.col(ROW).isNotNull() if flags_deletes(shape) else F.col(KIND) == UPSERT


def _or_key(shape: Shape, f: StructField) -> Column:
    if f.name in shape.key:
        return F.col(key_names(shape.key)[shape.key.index(f.name)]).alias(f.name)
    shown = field(ROW, f.name)
    if isinstance(shape.history, Log):  # a tombstone in the state of a log has its key and nothing else
        shown = F.when(F.col(KIND) == UPSERT, shown)
    return shown.alias(f.name)


def seeds_of(rows: DataFrame, shape: Shape) -> DataFrame:
    """Rows of the table as seeds."""
    dead: Column = F.lit(False)
    if isinstance(shape.history, Current) and flags_deletes(shape):
        dead = col(shape.history.own("is_deleted"))
    is_log = isinstance(shape.history, Log)
    if is_log:
        dead = F.col(DEAD)
    return with_key(rows, shape.key).select(
        *key_names(shape.key),
        F.when(dead, F.lit(DELETE)).otherwise(F.lit(UPSERT)).alias(KIND),
        F.col(ORDER),
        F.lit(None).cast("array<string>").alias(SETS),
        (F.col(EVENT_TIME) if is_log else F.lit(None).cast("timestamp")).alias(EVENT_TIME),
        F.lit(None).cast(shape.from_type).alias(FROM),
        F.lit(None).cast("bigint").alias(HASH1),
        F.lit(None).cast("bigint").alias(HASH2),
        F.lit(None).cast("bigint").alias(BATCH),
        (F.when(~dead, pack(shape.data)) if is_log else pack(shape.data)).alias(ROW),
        F.lit(True).alias(SEED),
    )
