"""Columns as the manifest declares them: by name, in their types, and a value that does not fit makes its row bad (G5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    DecimalType,
    FractionalType,
    IntegralType,
    MapType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from lakebed.errors import BatchError
from lakebed.history.columns import BAD, FROM_SOURCE, RAW, as_json, as_one, col, find, quote_ident
from lakebed.history.types import is_time, type_text
from lakebed.manifest.ddl import parse_ddl

UNREADABLE = "unreadable"
BAD_CAST = "bad_cast"
NESTED = (ArrayType, MapType, StructType)
_OF_A_PROGRAM = (
    r"(?i)^\s*[+-]?0x|[\d.][df]\s*$"  # 12d and 0x1p3 are numbers to Java, and texts to everybody else
)
_LAST_YEAR = 9999  # a later one is a number that was taken for a day, or milliseconds taken for seconds


@dataclass(frozen=True)
class Reader:
    """Whose columns they are: named in errors, its options for dates and times, and where notes for people go."""

    where: str
    options: Mapping[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def fields_of(ddl: str) -> list[StructField]:
    """The declared columns. Spark wants odd names in backticks, and the manifest does not."""
    parsed = StructType.fromDDL(", ".join(f"{quote_ident(one.name)} {one.type}" for one in parse_ddl(ddl)))
    assert isinstance(parsed, StructType)
    return list(parsed.fields)


def typed(frame: DataFrame, declared: Sequence[StructField] | None, reader: Reader) -> DataFrame:
    """The declared columns that the frame has, by name, in their types; a declared one it lacks stays missing (G9). `frame`
    has the raw text of records that could not be read."""
    arrived = [name for name in frame.columns if name not in FROM_SOURCE]
    unreadable = F.when(F.col(RAW).isNotNull(), F.lit(UNREADABLE))
    if declared is None:
        return frame.withColumn(BAD, unreadable)
    pairs = [(f, name) for f in declared if (name := _arrived_as(f.name, arrived)) is not None]
    if not pairs:
        raise BatchError(
            "none of the columns that are declared is there",
            code="missing_columns",
            where=reader.where,
            hint=f"there are {', '.join(arrived)}; is `header` right, and the separator?",
        )
    _note_unread(reader, arrived, declared)
    types = {f.name: f.dataType for f in frame.schema}
    values = {f.name: _cast(reader, col(name), types[name], f.dataType) for f, name in pairs}
    failed = [col(name).isNotNull() & values[f.name].isNull() for f, name in pairs]
    bad = unreadable.when(reduce(lambda one, other: one | other, failed), F.lit(BAD_CAST))
    raw = F.when(bad.isNotNull(), F.coalesce(F.col(RAW), _as_text(frame, arrived)))
    data = [value.alias(name) for name, value in values.items()]
    marks = [F.col(name) for name in FROM_SOURCE if name in frame.columns and name not in (RAW, BAD)]
    return frame.select(*data, *marks, raw.alias(RAW), bad.alias(BAD))


def _arrived_as(name: str, arrived: Sequence[str]) -> str | None:
    """A header's names come without the blanks around them."""
    return find(name, arrived) or find(name.strip(), arrived)


def _note_unread(reader: Reader, arrived: Sequence[str], declared: Sequence[StructField]) -> None:
    read = {_arrived_as(f.name, arrived) for f in declared}
    reader.notes.extend(
        f"the column {name!r} is in the source, but not in source.schema: it is not read"
        for name in arrived
        if name not in read
    )


def _cast(reader: Reader, value: Column, arrived: DataType, wanted: DataType) -> Column:
    """NULL where the value does not fit, or would lose something of itself."""
    if arrived == wanted:
        return value
    found = _fitting(reader, value, arrived, wanted)
    if is_time(wanted):
        return F.when(F.year(found) <= _LAST_YEAR, found)
    return found


def _fitting(reader: Reader, value: Column, arrived: DataType, wanted: DataType) -> Column:
    if isinstance(wanted, NESTED):
        return _nested(reader, value, arrived, wanted)
    fitting = value.try_cast(wanted)
    if not isinstance(arrived, StringType):
        number = isinstance(arrived, NumericType) and isinstance(wanted, (IntegralType, DecimalType))
        day = isinstance(arrived, (TimestampType, TimestampNTZType)) and isinstance(wanted, DateType)
        return F.when(fitting.try_cast(arrived).eqNullSafe(value), fitting) if number or day else fitting
    format_ = _format_of(wanted, reader.options)
    if format_:
        return F.try_to_timestamp(value, F.lit(format_)).cast(wanted)
    time = value.try_cast("timestamp_ntz")
    if isinstance(wanted, DateType):
        return F.when(
            time == fitting.cast("timestamp_ntz"), fitting
        )  # with a time of day it is more than a day
    if isinstance(wanted, TimestampType):
        # A time of day without a day is none: Spark would take today's.
        return F.when(time.isNotNull(), fitting)
    if isinstance(wanted, FractionalType):
        fitting = F.when(~value.rlike(_OF_A_PROGRAM), fitting)
    return unrounded(value, wanted) if isinstance(wanted, DecimalType) else fitting


def _format_of(wanted: DataType, options: Mapping[str, str]) -> str | None:
    """Spark's options, of which one suffices for times with and without a zone."""
    if isinstance(wanted, DateType):
        return options.get("dateformat")
    if isinstance(wanted, TimestampNTZType) and "timestampntzformat" in options:
        return options["timestampntzformat"]
    return options.get("timestampformat") if isinstance(wanted, (TimestampType, TimestampNTZType)) else None


def unrounded(text: Column, wanted: DecimalType) -> Column:
    """The text as such a decimal; NULL where it is none, or has digits that would be lost."""
    fitting = text.try_cast(wanted)
    rounded = text.rlike(rf"\.\d{{{wanted.scale}}}\d*[1-9]\d*\s*$")
    changed = text.rlike("[eE]") & (fitting.cast("double") != text.try_cast("double"))
    return F.when(~(rounded | changed), fitting)


def _nested(reader: Reader, value: Column, arrived: DataType, wanted: DataType) -> Column:
    """Each value inside of it in its type, the fields of objects by name; NULL where one of them does not fit."""
    if not isinstance(arrived, type(wanted)):
        raise BatchError(
            f"a column is declared as {type_text(wanted)}, and the source has {type_text(arrived)}",
            code="incompatible_type",
            where=reader.where,
            hint="declare it as the source has it; a list or an object cannot be read out of a text",
        )
    return F.when(
        ~_lost(reader, value, arrived, wanted), _made(reader, value, arrived, wanted).try_cast(wanted)
    )


def _made(reader: Reader, value: Column, arrived: DataType, wanted: DataType) -> Column:
    if isinstance(arrived, StructType) and isinstance(wanted, StructType):
        inside = {f.name: f.dataType for f in arrived}
        fields = [
            F.lit(None).cast(f.dataType)
            if (name := find(f.name, inside)) is None
            else _made(reader, value.getField(name), inside[name], f.dataType)
            for f in wanted
        ]
        named = [field.alias(f.name) for field, f in zip(fields, wanted, strict=True)]
        return F.when(value.isNotNull(), F.struct(*named))
    if isinstance(arrived, ArrayType) and isinstance(wanted, ArrayType):
        return F.transform(value, lambda one: _made(reader, one, arrived.elementType, wanted.elementType))
    if isinstance(arrived, MapType) and isinstance(wanted, MapType):
        keys = F.transform(F.map_keys(value), lambda one: _made(reader, one, arrived.keyType, wanted.keyType))
        values = F.transform(
            F.map_values(value), lambda one: _made(reader, one, arrived.valueType, wanted.valueType)
        )
        return F.map_from_arrays(keys, values)
    return _cast(reader, value, arrived, wanted)


def _lost(reader: Reader, value: Column, arrived: DataType, wanted: DataType) -> Column:
    """Whether anything of it would be lost: judged where it stands, since to look for it in what was made would say the making
    again for each value inside."""
    if isinstance(arrived, StructType) and isinstance(wanted, StructType):
        inside = {f.name: f.dataType for f in arrived}
        lost = [
            _lost(reader, value.getField(name), inside[name], f.dataType)
            for f in wanted
            if (name := find(f.name, inside)) is not None
        ]
        return reduce(lambda one, other: one | other, lost, F.lit(False))
    if isinstance(arrived, ArrayType) and isinstance(wanted, ArrayType):
        return _any_lost(reader, value, arrived.elementType, wanted.elementType)
    if isinstance(arrived, MapType) and isinstance(wanted, MapType):
        keys = F.map_keys(value)
        made = F.transform(keys, lambda one: _made(reader, one, arrived.keyType, wanted.keyType))
        fewer = F.coalesce(F.size(F.array_distinct(made)) < F.size(made), F.lit(False))
        return (
            _any_lost(reader, keys, arrived.keyType, wanted.keyType)
            | fewer
            | _any_lost(reader, F.map_values(value), arrived.valueType, wanted.valueType)
        )
    if arrived == wanted:
        return F.lit(False)
    return value.isNotNull() & _cast(reader, value, arrived, wanted).isNull()


def _any_lost(reader: Reader, values: Column, arrived: DataType, wanted: DataType) -> Column:
    if arrived == wanted:
        return F.lit(False)
    return F.coalesce(F.exists(values, lambda one: _lost(reader, one, arrived, wanted)), F.lit(False))


def _as_text(frame: DataFrame, names: Sequence[str]) -> Column:
    """A row whose cast failed, for people to look at: as near to the source as its values tell."""
    row = as_one(names)
    texts = all(isinstance(f.dataType, StringType) for f in frame.schema if f.name in names)
    return F.to_csv(row) if texts else as_json(row, nulls=False)
