"""Rows of a batch → changes: key, kind, order, times, the columns each one sets, and the reason if it is bad (G3, G5, F5, F6).

Nothing is dropped here: a bad row carries its reason, an ignored one its kind, so that one scan can count them all.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DateType, StructField

from lakebed.history.columns import (
    BAD,
    BATCH,
    DELETE,
    EVENT_TIME,
    EVERY_OTHER,
    FILE,
    FROM,
    HASH1,
    HASH2,
    IGNORED,
    KIND,
    LINE,
    ORDER,
    POSITION,
    RAW,
    REASON,
    SAME1,
    SAME2,
    SETS,
    TRUNCATE,
    UPSERT,
    batch_number,
    col,
    constant,
    find,
    key_names,
)
from lakebed.history.hashing import row_hash
from lakebed.history.shape import Shape
from lakebed.history.times import spark_time
from lakebed.history.types import is_time
from lakebed.manifest import Changes, Ledger, Snapshot, Updates

SALTS = (1, 2)


@dataclass(frozen=True)
class Moment:
    """When a batch happens: its number, its system time, and the time its source gave it, if any (G1 to G3)."""

    batch: int
    system_time: dt.datetime
    event_time: dt.datetime | None = None

    @property
    def time(self) -> Column:
        return F.lit(self.event_time or self.system_time).cast("timestamp")


def normalise(rows: DataFrame, shape: Shape, moment: Moment) -> DataFrame:
    """All columns of `shape`, cast to the table's types, plus the internal columns of a change.

    Conditions of the feed see the batch's own columns. `rows` may carry what a source tells of a row (file, line,
    position, raw text, why it could not be read).
    """
    rows = _with_missing(rows, shape)
    given = set(rows.columns)
    marked = rows.withColumns(
        {
            POSITION: F.monotonically_increasing_id() if POSITION not in given else F.col(POSITION),
            BAD: F.col(BAD) if BAD in given else F.lit(None).cast("string"),
            RAW: F.col(RAW) if RAW in given else F.lit(None).cast("string"),
            FILE: F.col(FILE) if FILE in given else F.lit(None).cast("string"),
            LINE: F.col(LINE).cast("bigint") if LINE in given else F.lit(None).cast("bigint"),
            KIND: _kind(shape),
            "_lb_event_raw": _event_time(shape, moment),
        }
    )
    columns = [_column(shape, f).alias(f.name) for f in shape.columns]
    kept = [F.col(name) for name in (POSITION, BAD, RAW, FILE, LINE, KIND, "_lb_event_raw")]
    changes = marked.select(*columns, *kept)
    beside = (*shape.key, *(f.name for f in shape.columns), POSITION)[0]
    event_time = F.col("_lb_event_raw") if shape.event_time is not None else constant(moment.time, beside)
    changes = changes.withColumns({EVENT_TIME: event_time})
    changes = changes.withColumns({FROM: _valid_from(shape, moment), ORDER: _order(shape, moment)})
    changes = changes.withColumns({REASON: _reason(shape), SETS: _sets(shape)})
    if shape.partial:
        changes = changes.withColumns(
            {f.name: _if_set(f) for f in shape.data if f.name.lower() in shape.optional}
        )
    values = [(f, col(f.name)) for f in shape.data]
    keeps = shape.feed.on_missing_column == "keep"
    compared = [(f, col(f.name)) for f in shape.compared if not keeps or f.name in shape.sources]
    # An empty array adds nothing to a hash: without the text, to set no column would be the same as to set all to NULL (F6).
    sets = [F.col(SETS), F.when(F.size(SETS) == 0, F.lit("no column"))] if shape.partial else []
    hashes = {
        HASH1: row_hash(values, SALTS[0], *sets),
        HASH2: row_hash(values, SALTS[1], *sets),
        BATCH: batch_number(moment.batch, beside),
    }
    changes = changes.withColumns(hashes)
    if isinstance(shape.feed, Snapshot):
        whole = not shape.partial and {f.name for f, _ in compared} == {f.name for f, _ in values}
        same = (
            [F.col(HASH1), F.col(HASH2)] if whole else [row_hash(compared, salt) for salt in SALTS]
        )  # a hash is dear
        changes = changes.withColumns(dict(zip((SAME1, SAME2), same, strict=True)))
    return changes.drop("_lb_event_raw", BAD)


def _with_missing(rows: DataFrame, shape: Shape) -> DataFrame:
    """G9: what the table knows and the batch lacks is NULL, also for conditions (F5); so is what is used and not stored."""
    given = {name.lower() for name in rows.columns}
    known = [f for f in shape.columns if f.name.lower() not in given]
    missing: dict[str, Column] = {f.name: F.lit(None).cast(f.dataType) for f in known}
    there = given | {f.name.lower() for f in known}
    missing |= {name: F.lit(None) for name in shape.feed.except_columns if name.lower() not in there}
    return rows.withColumns(missing) if missing else rows


def usable(changes: DataFrame) -> DataFrame:
    """Those that are neither bad nor to be ignored."""
    return changes.where(F.col(REASON).isNull() & (F.col(KIND) != IGNORED))


def has_plain_key(shape: Shape) -> bool:
    """Whether the key's columns are the batch's own, cast at most."""
    return all(name in shape.sources for name in shape.key) and not (
        shape.event_time_is_own and shape.event_time in shape.key
    )


def with_raw_key(rows: DataFrame, shape: Shape) -> DataFrame:
    """Rows of a batch as they came, with the key they will have as changes."""
    fields = [shape.field(name) for name in shape.key]
    names = key_names(shape.key)
    return rows.withColumns({name: _column(shape, f) for name, f in zip(names, fields, strict=True)})


def _column(shape: Shape, f: StructField) -> Column:
    source = shape.sources.get(f.name)
    if source is None:
        return F.lit(None).cast(f.dataType)
    if shape.event_time_is_own and f.name == shape.event_time:
        return F.col("_lb_event_raw")
    return col(source).cast(f.dataType)


def _kind(shape: Shape) -> Column:
    feed = shape.feed
    if not isinstance(feed, Changes):
        return F.lit(UPSERT)

    def holds(condition: str | None) -> Column:
        return F.coalesce(F.expr(condition), F.lit(False)) if condition else F.lit(False)

    fallback = F.when(holds(feed.upsert_when), F.lit(UPSERT)) if feed.upsert_when else F.lit(UPSERT)
    return (
        F.when(holds(feed.truncate_when), F.lit(TRUNCATE))
        .when(holds(feed.ignore_when), F.lit(IGNORED))
        .when(holds(feed.delete_when), F.lit(DELETE))
        .otherwise(fallback)
    )


def _event_time(shape: Shape, moment: Moment) -> Column:
    declared = shape.feed.event_time_column
    if shape.event_time is None or declared is None:
        return moment.time
    source = shape.sources.get(shape.event_time)
    return spark_time(col(source), declared.format) if source else F.lit(None).cast("timestamp")


def _valid_from(shape: Shape, moment: Moment) -> Column:
    """V3; a delete or truncate that lacks it takes its event time (G3)."""
    event_time = moment.time if isinstance(shape.feed, Snapshot) else F.col(EVENT_TIME)
    if shape.from_column is None:
        return to_valid_time(event_time, shape.from_type)
    value = to_valid_time(col(shape.from_column), shape.from_type)
    lacking = F.col(KIND).isin(DELETE, TRUNCATE) & value.isNull()
    may_lack_it = isinstance(shape.feed, Changes) and shape.from_column not in shape.order
    if may_lack_it and is_time(shape.from_type):
        return F.when(lacking, to_valid_time(event_time, shape.from_type)).otherwise(value)
    return value


def to_valid_time(value: Column, kind: DataType) -> Column:
    return value.cast("date") if isinstance(kind, DateType) else value.cast(kind)


def _order(shape: Shape, moment: Moment) -> Column:
    """G6: the order_by columns, else arrival; at the same order a truncate comes before the others (F5)."""
    last = F.when(F.col(KIND) == TRUNCATE, F.lit(0)).otherwise(F.lit(1)).cast("int")
    if shape.order:
        parts = [col(name).alias(f"o{place}") for place, name in enumerate(shape.order)]
    else:
        position = F.lit(0) if isinstance(shape.feed, Snapshot) else F.col(POSITION)
        parts = [
            F.lit(moment.batch).cast("bigint").alias("batch"),
            position.cast("bigint").alias("position"),
        ]
        if isinstance(shape.feed, Ledger):
            parts.insert(1, F.col(EVENT_TIME).alias("time"))
    return F.struct(*parts, last.alias("t"))


def _reason(shape: Shape) -> Column:
    """The first reason why a row is bad, or NULL: unreadable, order, key, time, unknown operation (G5)."""
    timed = ~F.coalesce(F.col(KIND).isin(DELETE, TRUNCATE), F.lit(False))
    truncate = F.coalesce(F.col(KIND) == TRUNCATE, F.lit(False))
    reason = F.when(F.col(BAD).isNotNull(), F.col(BAD)).when(_any_null(shape.order), F.lit("null_order"))
    reason = reason.when(~truncate & _any_null(shape.key), F.lit("null_key"))
    if shape.event_time is not None:
        reason = reason.when(F.col(EVENT_TIME).isNull(), F.lit("null_event_time"))
    if shape.from_column is not None:
        reason = reason.when(timed & F.col(FROM).isNull(), F.lit("null_event_time"))
    reason = reason.when(F.col(KIND).isNull(), F.lit("unknown_operation"))
    return F.when(F.col(KIND) == IGNORED, F.lit(None).cast("string")).otherwise(reason)


def _any_null(names: tuple[str, ...]) -> Column:
    condition = F.lit(False)
    for name in names:
        condition = condition | col(name).isNull()
    return condition


def _sets(shape: Shape) -> Column:
    """F6: the lower-cased names of the columns that a change sets, of those that it may leave unset; NULL means all of them, also
    of those that the table gets later. `EVERY_OTHER` stands for those that `ignore_nulls` does not list, where they are always set: that
    other columns may be unset too can be said later."""
    none = F.lit(None).cast("array<string>")
    if not shape.partial:
        return none
    feed = shape.feed
    free = [f.name for f in shape.data if f.name.lower() in shape.optional]
    arrived = [name for name in free if name in shape.sources]
    keeps = feed.on_missing_column == "keep"
    whole = _names(arrived) if keeps else none
    if isinstance(feed, (Updates, Changes)) and feed.present_columns:
        named = find(feed.present_columns, shape.sources)
        if named is None:
            return F.when(F.col(KIND) == UPSERT, whole)
        listed = F.transform(col(named), F.lower)
        legal = F.array_sort(F.array_distinct(F.filter(listed, lambda name: name.isin(*_lower(arrived)))))
        value = F.when(col(named).isNull(), whole).otherwise(legal)
    elif isinstance(feed, (Updates, Changes)) and feed.ignore_nulls is not False:
        nulls_keep = set(_lower(free)) if shape.nulls_keep is None else shape.nulls_keep
        parts = [
            F.when(col(name).isNotNull(), F.lit(name.lower()))
            if name.lower() in nulls_keep
            else F.lit(name.lower())
            for name in (arrived if keeps else free)
        ]
        if not keeps and shape.nulls_keep is not None:
            parts.append(F.lit(EVERY_OTHER))
        value = F.array_sort(F.array_compact(F.array(*parts))) if parts else _names([])
    else:
        value = whole
    return F.when(F.col(KIND) == UPSERT, value).otherwise(none)


def _names(names: list[str]) -> Column:
    return (
        F.array(*[F.lit(name) for name in sorted(_lower(names))])
        if names
        else F.array().cast("array<string>")
    )


def _lower(names: list[str]) -> list[str]:
    return [name.lower() for name in names]


def _if_set(f: StructField) -> Column:
    """The value where the change sets it: what an unset column holds is no part of the event. For a column that may be unset."""
    unset = F.col(SETS).isNotNull() & ~F.array_contains(F.col(SETS), f.name.lower())
    return F.when(unset, F.lit(None).cast(f.dataType)).otherwise(col(f.name))
