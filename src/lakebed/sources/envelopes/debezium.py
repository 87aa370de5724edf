"""Debezium's messages → changes.

Read from top to bottom: the text becomes parts, the parts a position and a time, the row image values in their declared
types. A value that PostgreSQL did not send is not set by the change (F6), which is not the same as NULL.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.history.columns import BAD, FROM_SOURCE, RAW, col, find
from lakebed.manifest import Debezium
from lakebed.manifest.envelopes import DELETE, OPERATION, ORDER, SETS, TIME, UPSERT
from lakebed.sources.envelopes.debezium_messages import KIND, UNREAD, with_parts
from lakebed.sources.envelopes.debezium_positions import with_position
from lakebed.sources.envelopes.debezium_times import readable
from lakebed.sources.envelopes.debezium_values import Value
from lakebed.sources.envelopes.decimals import decimals
from lakebed.sources.envelopes.given import BAD_CAST, UNKNOWN_OPERATION, UNREADABLE, Given, mark
from lakebed.sources.envelopes.unavailable import is_unavailable

_ENCODED, _NUMBERS, _TEXTS = "_lb_d_encoded", "_lb_d_numbers", "_lb_d_texts"
_PAIRS = "array<struct<scale:int,value:string>>"
_MEANT = "array<struct<meaning:string,text:string>>"


def changes(rows: DataFrame, envelope: Debezium, given: Given) -> DataFrame:
    """The declared columns in their types, the columns of an envelope, and the marks of the source.

    `rows` have each message as text in the raw-text column (`as_messages`); columns of the path stay, where a message has none of that
    name itself. Every row comes out again: what is no change is to be ignored, what cannot be used is bad. Raw text is kept of
    rows that are bad, or will be for lack of a key.
    """
    read = with_position(with_parts(rows, envelope))
    values = [Value(column, place, envelope) for place, column in enumerate(given.declared)]
    in_path = [name for name in rows.columns if given.is_beside(name)]
    beside = [name for name in in_path if find(name, [column.name for column in given.declared]) is None]
    read = _decoded(read, values, envelope, in_path)
    bad = _bad(rows, values, given)
    no_key = _any([_result(value).isNull() for value in values if given.in_key(value.column.name)])
    keyless = F.col(KIND).isin(UPSERT, DELETE) & no_key
    marks = [name for name in FROM_SOURCE if name in rows.columns and name not in (RAW, BAD)]
    return read.select(
        *[_result(value).alias(value.column.name) for value in values],
        *[col(name) for name in beside],
        F.col(KIND).alias(OPERATION),
        F.col(TIME),
        _sets(values, in_path, beside, given).alias(SETS),
        *[F.col(name) for name in ORDER],
        *[F.col(name) for name in marks],
        F.when(bad.isNotNull() | keyless, F.col(RAW)).alias(RAW),
        bad.alias(BAD),
    )


def _result(value: Value) -> Column:
    return F.col(f"_lb_d_result{value.place}")


def _away(value: Value) -> Column:
    """Whether the placeholder stands in the value's stead."""
    return F.col(f"_lb_d_away{value.place}")


def _decoded(
    read: DataFrame, values: Sequence[Value], envelope: Debezium, in_path: Sequence[str]
) -> DataFrame:
    """Each value in its type. Codes are made readable for all columns at once: it is much work for Spark to plan."""
    numeric, texts = (
        [value for value in values if value.takes_numbers],
        [value for value in values if value.is_text],
    )
    for step in (Value.seen, Value.typed, Value.understood):
        read = read.withColumns({name: column for value in values for name, column in step(value).items()})
    read = read.withColumn(_ENCODED, F.array(*[value.encoded() for value in numeric]).cast(_PAIRS))
    meant = [F.struct(value.meaning.alias("meaning"), value.text.alias("text")) for value in texts]
    read = read.withColumns(
        {_NUMBERS: decimals(F.col(_ENCODED)), _TEXTS: readable(F.array(*meant).cast(_MEANT))}
    )
    results: dict[str, Column] = {}
    for value in values:
        plain = F.get(F.col(_TEXTS), texts.index(value)) if value in texts else value.text
        if value in numeric:
            coded = F.get(F.col(_ENCODED), numeric.index(value)).isNotNull()
            plain = F.when(coded, F.get(F.col(_NUMBERS), numeric.index(value))).otherwise(plain)
        away = is_unavailable(value.text, envelope.unavailable)
        results[f"_lb_d_away{value.place}"] = away
        result = F.when(~away, value.decoded(plain))
        if name := find(value.column.name, in_path):
            result = F.when(value.known, result).otherwise(col(name))
        results[f"_lb_d_result{value.place}"] = result
    return read.withColumns(results)


def _sets(values: Sequence[Value], in_path: Sequence[str], beside: Sequence[str], given: Given) -> Column:
    """The columns that an upsert sets, where it does not set all; those of the path are always among them."""

    def missing(value: Value) -> Column:
        may_lack = given.keep_missing and find(value.column.name, in_path) is None
        return _away(value) | ~value.known if may_lack else _away(value)

    names = [F.when(~missing(value), F.lit(value.column.name.lower())) for value in values]
    names += [F.lit(name.lower()) for name in beside]
    partial = (F.col(KIND) == UPSERT) & _any([missing(value) for value in values])
    return F.when(partial, F.array_compact(F.array(*names)))


def _bad(rows: DataFrame, values: Sequence[Value], given: Given) -> Column:
    """Why a row cannot be used, or NULL. Of a delete only the key matters."""

    def unfit(some: Sequence[Value]) -> Column:
        return _any([~_away(value) & value.unfit(_result(value)) for value in some])

    key = [value for value in values if given.in_key(value.column.name)]
    failed = F.when(F.col(KIND) == UPSERT, unfit(values)).when(F.col(KIND) == DELETE, unfit(key))
    told = mark(rows, BAD, "string")
    return (
        F.when(told.isNotNull(), told)
        .when(F.col(UNREAD), F.lit(UNREADABLE))
        .when(F.col(KIND).isNull(), F.lit(UNKNOWN_OPERATION))
        .when(failed, F.lit(BAD_CAST))
    )


def _any(conditions: Sequence[Column]) -> Column:
    return reduce(lambda one, other: one | other, conditions, F.lit(False))
