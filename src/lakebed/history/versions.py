"""Events of keys → their versions (V1 to V8).

`versions_of` is the whole of V2 to V8 for any set of events, and for a known state plus newer events: what is known of
a key (its open version, or that it is deleted) is a seed, an event that comes before the new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    DataType,
    LongType,
    StructField,
    StructType,
)

from lakebed.history.changes import (
    ALL1,
    ALL2,
    BEFORE_KIND,
    TRACK1,
    TRACK2,
    in_order,
    timeline,
)
from lakebed.history.columns import (
    BATCH,
    CLOSED,
    DEAD_HEAD,
    DELETE,
    EVENT_TIME,
    FIRST,
    FROM,
    HASH1,
    HASH2,
    HEAD,
    KIND,
    NOW_DEAD,
    OPENED,
    ORDER,
    ROW,
    SAME1,
    SAME2,
    SEED,
    SETS,
    SK,
    UPSERT,
    batch_number,
    col,
    field,
    key_names,
    pack,
    unpack,
    with_key,
)
from lakebed.history.hashing import row_hash
from lakebed.history.normalise import SALTS
from lakebed.history.shape import Shape, flag_type
from lakebed.history.types import is_time
from lakebed.manifest import Snapshot, Versions

INITIAL = "_lb_initial"  # this event's key has its first version start at `initial_valid_from`
UNTIL = "_lb_until"
DELETED = "_lb_deleted"
VERSION = "_lb_version"
MOVED = "_lb_moved"  # whether a version differs from the seed it grew out of
LAST = "_lb_is_last"  # of its key's versions
_SHOWN = (ROW, TRACK1, TRACK2, ALL1, ALL2)
OF_HEADS = (HEAD, DEAD_HEAD, NOW_DEAD, LAST)  # what is told of keys beside their versions, if asked for


def versions_of(
    events: DataFrame,
    keys: Sequence[str],
    shape: Shape,
    tap: Callable[[DataFrame], DataFrame] = lambda line: line,
    *,
    heads: bool = False,
) -> DataFrame:
    """One row per version: keys, ROW, FROM, UNTIL (NULL = open), DELETED, FIRST, ORDER (head of the key), SK, OPENED, MOVED.

    Before: one event per key and order; SEED, SK, FIRST, OPENED, INITIAL tell of seeds. After: V7 holds for each key.
    `tap` sees the timelines on their way, to count. With `heads`, HEAD, LAST, DEAD_HEAD and NOW_DEAD are told, and a key that
    has no version at all gets a row too, with VERSION 0.
    """
    history = _history(shape)
    whole = in_order(keys).rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    of_key = {HEAD: F.last(F.struct(KIND, ORDER, FROM)).over(whole)}
    if heads:
        of_key[DEAD_HEAD] = F.max(F.col(SEED) & F.col(ROW).isNull()).over(whole)
    also = {**of_key, **_neighbours(keys, history)}
    if history.deletes == "ignore":  # deletes still tell the head
        events = events.withColumns(of_key)
        events = events.where((F.col(KIND) == UPSERT) | _open_seed())
        also = _neighbours(keys, history)
    line = _numbered(tap(timeline(events, keys, shape, also)), keys, history)
    members, times = _members(history)
    taken = members & (F.col(VERSION) > 0)
    told: list[Column] = []
    if heads:
        taken = taken | (F.col(VERSION) == 0) & (F.col(ORDER) == field(HEAD, ORDER))
        told = [F.max(name).alias(name) for name in (DEAD_HEAD, LAST)]
    grouped = line.where(taken).groupBy(*keys, VERSION)
    # What decides the end is the last event of the version, so it is carried with its order.
    found = grouped.agg(
        F.min(F.when(times, F.col(FROM))).alias(FROM),
        F.max_by(
            F.struct(ROW, KIND, "_lb_next_from", "_lb_next_kind", TRACK1, TRACK2, ALL1, ALL2), F.col(ORDER)
        ).alias("_lb_last"),
        F.min(F.coalesce(F.col(FIRST), F.col(ORDER))).alias(FIRST),
        F.min(SK).alias(SK),
        F.min(OPENED).alias(OPENED),
        F.max(HEAD).alias(HEAD),
        F.max(INITIAL).alias(INITIAL),
        F.max(F.when(_open_seed(), F.struct(FROM, KIND, ALL1, ALL2))).alias("_lb_was"),
        *told,
    )
    last = F.col("_lb_last")
    deleted = (
        last.getField("_lb_next_kind") == DELETE
        if history.deletes == "close"
        else last.getField(KIND) == DELETE
    )
    start = F.col(FROM)
    if history.initial is not None:
        first = F.col(INITIAL) & (F.col(VERSION) == 1) & F.col("_lb_was").isNull()
        start = F.when(first, F.lit(history.initial.at).cast(shape.from_type)).otherwise(start)
    result = found.withColumns(
        {
            ROW: last.getField(ROW),
            FROM: start,
            UNTIL: last.getField("_lb_next_from"),
            DELETED: F.coalesce(deleted, F.lit(False)),
            TRACK1: last.getField(TRACK1),
            ORDER: field(HEAD, ORDER),
        }
    ).withColumn(UNTIL, F.when(F.col(UNTIL).isNotNull(), F.greatest(F.col(FROM), F.col(UNTIL))))
    if heads:
        result = result.withColumn(NOW_DEAD, F.col(LAST) & _has_no_row(history))
    return result.withColumn(MOVED, _moved()).drop("_lb_was", "_lb_last", INITIAL)


def with_initial(line: DataFrame, shape: Shape, batch: int) -> DataFrame:
    """V3: marks the events of keys whose first version starts at `initial_valid_from`, where the batch alone tells: of its keys
    nothing is known, or they are folded on top of what is."""
    initial = _history(shape).initial
    if initial is None:
        return line
    return line.withColumn(INITIAL, F.lit(initial.keys == "all" or batch == 1))


def _has_no_row(history: Versions) -> Column:
    """After all events of a key: it has no version that is open, or that shows it as deleted."""
    none = F.col(VERSION) == 0
    return none | (field(HEAD, KIND) == DELETE) if history.deletes == "close" else none


def _history(shape: Shape) -> Versions:
    assert isinstance(shape.history, Versions)
    return shape.history


def _neighbours(keys: Sequence[str], history: Versions) -> dict[str, Column]:
    """What an event must know of those beside it (V4, V5), found in the order of events."""
    window = in_order(keys)
    equal = (F.lag(TRACK1).over(window) == F.col(TRACK1)) & (F.lag(TRACK2).over(window) == F.col(TRACK2))
    found = {
        "_lb_tracks_same": F.coalesce(equal, F.lit(False)),
        "_lb_next_kind": F.lead(KIND).over(window),
    }
    if history.deletes in ("flag", "mark"):
        # A deleted version shows the values it had (V5).
        so_far = window.rowsBetween(Window.unboundedPreceding, Window.currentRow)
        shown = F.when((F.col(KIND) == UPSERT) | _open_seed(), F.struct(*[F.col(name) for name in _SHOWN]))
        found["_lb_shown"] = F.last(shown, ignorenulls=True).over(so_far)
    return found


def _open_seed() -> Column:
    return F.col(SEED) & F.col(SK).isNotNull()


def _numbered(line: DataFrame, keys: Sequence[str], history: Versions) -> DataFrame:
    """Each event of a timeline with its `_neighbours`, told the number of the version it belongs to (V4, V5), whether that is its
    key's last, and the smallest valid_from of the events after it (V8)."""
    upsert = F.col(KIND) == UPSERT
    lived = F.coalesce(F.col(BEFORE_KIND) == UPSERT, F.lit(False))
    starts = _open_seed() | (upsert & ~(lived & F.col("_lb_tracks_same")))
    if history.deletes == "flag":
        starts = starts | (~upsert & lived)
    # All of it latest first, sorted once. The events after one are then a frame that grows; in the other direction it would
    # shrink, and be read anew for each event of a key.
    latest_first = Window.partitionBy(*keys).orderBy(F.desc(ORDER))
    later = latest_first.rowsBetween(Window.unboundedPreceding, -1)
    whole = latest_first.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    counts = upsert if history.deletes == "mark" else F.lit(True)
    start = F.col("_lb_starts")
    numbered = line.withColumn("_lb_starts", starts.cast("int")).withColumns(
        {
            "_lb_starts_later": F.coalesce(F.sum(start).over(later), F.lit(0)),
            "_lb_all_starts": F.sum(start).over(whole),
            "_lb_next_from": F.min(F.when(counts, F.col(FROM))).over(later),
        }
    )
    number = {
        VERSION: F.col("_lb_all_starts") - F.col("_lb_starts_later"),
        LAST: F.col("_lb_starts_later") == 0,
    }
    if history.deletes in ("flag", "mark"):
        number |= {name: F.col("_lb_shown").getField(name) for name in _SHOWN}
    return numbered.withColumns(number)


def _members(history: Versions) -> tuple[Column, Column]:
    """Which events are part of a version, and which of them count for its start."""
    upsert = (F.col(KIND) == UPSERT) | _open_seed()
    if history.deletes == "flag":
        return F.lit(True), F.lit(True)
    if history.deletes == "mark":
        return F.lit(True), upsert
    return upsert, upsert


def _moved() -> Column:
    was, last = F.col("_lb_was"), F.col("_lb_last")
    stays = (
        F.col(UNTIL).isNull()
        & (was.getField(FROM) == F.col(FROM))
        & ((was.getField(KIND) == DELETE) == F.col(DELETED))
        & (was.getField(ALL1) == last.getField(ALL1))
        & (was.getField(ALL2) == last.getField(ALL2))
    )
    return F.coalesce(~stays, F.lit(True))


# ---- rows of the table


def target_fields(shape: Shape) -> list[StructField]:
    """The columns of a versions table, in order (V1); internal ones last."""
    history = _history(shape)
    own = history.own
    key = [f for f in shape.data if f.name in shape.key]
    rest = [f for f in shape.data if f.name not in shape.key]
    compared = [StructField(name, LongType()) for name in (SAME1, SAME2)] if _is_snapshot(shape) else []
    return [
        StructField(own("sk"), LongType()),
        *key,
        *rest,
        StructField(own("row_hash"), LongType()),
        StructField(own("valid_from"), shape.from_type),
        StructField(own("valid_to"), shape.from_type),
        StructField(own("is_current"), flag_type(history)),
        StructField(own("is_deleted"), BooleanType()),
        StructField(ORDER, shape.order_type),
        StructField(FIRST, shape.order_type),
        StructField(OPENED, LongType()),
        StructField(CLOSED, LongType()),
        *compared,
    ]


def _is_snapshot(shape: Shape) -> bool:
    return isinstance(shape.feed, Snapshot)


def target_rows(versions: DataFrame, shape: Shape, batch: int, *also: str) -> DataFrame:
    """Versions as rows of the table, and the columns named besides; `sk` is NULL where a number is still to be given."""
    history = _history(shape)
    own = history.own
    is_open = F.col(UNTIL).isNull()
    this = batch_number(batch, key_names(shape.key)[0])
    closed = F.coalesce(F.col(CLOSED), this) if CLOSED in versions.columns else this
    compared = [(f, field(ROW, f.name)) for f in shape.compared]
    hashes = dict(zip((SAME1, SAME2), (row_hash(compared, salt) for salt in SALTS), strict=True))
    if shape.ignores_deletes:  # the row stays, and that its key is gone is told by its having no hashes
        hashes = {name: F.when(field(HEAD, KIND) == UPSERT, value) for name, value in hashes.items()}
    same = [value.alias(name) for name, value in hashes.items()] if _is_snapshot(shape) else []
    columns = {f.name: c for f, c in zip(shape.data, unpack(shape.data), strict=True)}
    columns |= {
        name: F.col(key).alias(name) for name, key in zip(shape.key, key_names(shape.key), strict=True)
    }
    ordered = [f.name for f in target_fields(shape) if f.name in columns]
    return versions.select(
        F.col(SK).alias(own("sk")),
        *[columns[name] for name in ordered],
        F.col(TRACK1).alias(own("row_hash")),
        F.col(FROM).alias(own("valid_from")),
        _valid_to(shape).alias(own("valid_to")),
        flag_value(history, is_open).alias(own("is_current")),
        F.col(DELETED).alias(own("is_deleted")),
        F.when(is_open, F.col(ORDER)).alias(ORDER),
        F.col(FIRST),
        F.coalesce(F.col(OPENED), this).alias(OPENED),
        F.when(~is_open, closed).alias(CLOSED),
        *same,
        *also,
    )


def flag_value(history: Versions, condition: Column) -> Column:
    if history.flag is None:
        return condition
    return F.when(condition, F.lit(history.flag[0])).otherwise(F.lit(history.flag[1]))


def is_open(shape: Shape) -> Column:
    """The condition on a row of the table that it is an open version."""
    history = _history(shape)
    flag = col(history.own("is_current"))
    return flag if history.flag is None else flag == F.lit(history.flag[0])


def _valid_to(shape: Shape) -> Column:
    """V2: half-open, or the day before; an open end as the history says."""
    history = _history(shape)
    end = F.col(UNTIL)
    if history.end == "inclusive_day":
        end = F.date_sub(end, 1)
    return F.when(F.col(UNTIL).isNull(), open_end(history, shape.from_type)).otherwise(end)


def open_end(history: Versions, kind: DataType) -> Column:
    timely = is_time(kind)
    return F.lit(history.open_end if timely else None).cast(kind)


def until_of(shape: Shape) -> Column:
    """The exclusive end of a row of the table, NULL where it is open: the inverse of what V2 shows."""
    history = _history(shape)
    end = col(history.own("valid_to"))
    if history.end == "inclusive_day":
        end = F.date_add(end, 1)
    return F.when(~is_open(shape), end)


def seeds_of(rows: DataFrame, shape: Shape) -> DataFrame:
    """Open versions of the table as seeds."""
    own = _history(shape).own
    return with_key(rows, shape.key).select(
        *key_names(shape.key),
        F.when(col(own("is_deleted")), F.lit(DELETE)).otherwise(F.lit(UPSERT)).alias(KIND),
        F.col(ORDER),
        F.lit(None).cast("array<string>").alias(SETS),
        F.lit(None).cast("timestamp").alias(EVENT_TIME),
        col(own("valid_from")).alias(FROM),
        F.lit(None).cast("bigint").alias(HASH1),
        F.lit(None).cast("bigint").alias(HASH2),
        F.lit(None).cast("bigint").alias(BATCH),
        pack(shape.data).alias(ROW),
        F.lit(True).alias(SEED),
        col(own("sk")).alias(SK),
        F.col(FIRST),
        F.col(OPENED),
    )


def shortened(rows: DataFrame, shape: Shape, earliest: DataFrame) -> DataFrame:
    """V8 without a journal: closed versions that end after a newer event's valid_from end there instead.

    `earliest` has one row per key: the smallest FROM of its new events. Gives whole rows of the table, only those that move.
    """
    own = _history(shape).own
    keyed = with_key(rows, shape.key).join(
        F.broadcast(earliest.withColumnRenamed(FROM, "_lb_least")), key_names(shape.key)
    )
    valid_from = col(own("valid_from"))
    until = until_of(shape)
    end = F.greatest(valid_from, F.least(until, F.col("_lb_least")))
    moved = keyed.withColumn("_lb_end", end).where(F.col("_lb_end") < until)
    shown = F.date_sub(F.col("_lb_end"), 1) if _history(shape).end == "inclusive_day" else F.col("_lb_end")
    return moved.withColumn(own("valid_to"), shown).select(*[col(f.name) for f in target_fields(shape)])


def schema_of(shape: Shape) -> StructType:
    return StructType(target_fields(shape))
