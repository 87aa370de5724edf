"""The row hash of G11, recipe 1.

Over columns sorted by lower-cased name, each that is not NULL gives its name, its type's family and its value:
integers as bigint, floats as double with one zero and one NaN, decimals by value. A NULL column gives nothing,
so a new NULL column or a wider type changes no hash, and a value that moves to another column does.

`xxhash64` skips NULLs and chains its arguments, each value hashed with its length, so two chains with different
beginnings give 128 bits.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StructField,
    StructType,
)

RECIPE = 1
_INTEGERS = (ByteType, ShortType, IntegerType, LongType)
_FLOATS = (FloatType, DoubleType)


def family(kind: DataType) -> str:
    if isinstance(kind, _INTEGERS):
        return "integer"
    if isinstance(kind, _FLOATS):
        return "float"
    if isinstance(kind, DecimalType):
        return "decimal"
    return kind.typeName()


def canonical(value: Column, kind: DataType) -> Column:  # noqa: PLR0911 - one line per type
    """`value` in the one form that equal values share (G4), of a type that can be hashed."""
    if isinstance(kind, _INTEGERS):
        return value.cast("bigint")
    if isinstance(kind, _FLOATS):
        return value.cast("double") + F.lit(0.0)
    if isinstance(kind, DecimalType):
        text = value.cast("string")
        return text if kind.scale == 0 else F.rtrim(F.rtrim(text, F.lit("0")), F.lit("."))
    if isinstance(kind, ArrayType):
        return _counted(F.transform(value, lambda item: _placed(item, kind.elementType)))
    if isinstance(kind, MapType):
        entries = F.transform(
            F.map_entries(value),
            lambda entry: F.struct(
                canonical(entry.getField("key"), kind.keyType).alias("key"),
                _placed(entry.getField("value"), kind.valueType).alias("value"),
            ),
        )
        return _counted(F.array_sort(entries))
    if isinstance(kind, StructType):
        parts = [_placed(value.getField(f.name), f.dataType).alias(f"f{i}") for i, f in enumerate(kind)]
        return F.when(value.isNotNull(), F.struct(F.lit(len(parts)), *parts))
    return value


def row_hash(values: Sequence[tuple[StructField, Column]], salt: int, *more: Column) -> Column:
    """64 bits over the given columns; `more` is mixed in as it is."""
    chain: list[Column] = [F.lit(salt)]
    for f, value in sorted(values, key=lambda pair: pair[0].name.lower()):
        mark = f"{f.name.lower()}\0{family(f.dataType)}"
        chain.append(F.when(value.isNotNull(), F.lit(mark)))
        chain.append(canonical(value, f.dataType))
    return F.xxhash64(*chain, *more)


def _placed(value: Column, kind: DataType) -> Column:
    """A value inside a container, where a NULL must keep its place although `xxhash64` skips it."""
    return F.struct(value.isNull().alias("none"), canonical(value, kind).alias("value"))


def _counted(items: Column) -> Column:
    return F.when(items.isNotNull(), F.struct(F.size(items).alias("size"), items.alias("items")))
