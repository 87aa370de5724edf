"""Which type a column of the table has after a batch of another type has come (G9)."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from lakebed.history.columns import quote_ident

_DIGITS: dict[type[DataType], int] = {ByteType: 3, ShortType: 5, IntegerType: 10, LongType: 19}
_INTEGERS = tuple(_DIGITS)
# Not timestamps: what they are as text depends on the session's zone.
_AS_TEXT = (*_INTEGERS, DecimalType, FloatType, DoubleType, BooleanType, DateType, TimestampNTZType)


def reconcile(table: DataType, incoming: DataType) -> DataType | None:
    """The table's type from now on: its own, where `incoming` upcasts to it; `incoming`, where the table's widens to it
    within its family; None where neither holds. What has no type, as it has no value, fits any."""
    if isinstance(table, NullType):
        return plain(incoming)
    if isinstance(incoming, NullType):
        return plain(table)
    table, incoming = plain(table), plain(incoming)
    if table == incoming or _upcasts(incoming, table):
        return table
    same_family = _family(table) is not None and _family(table) == _family(incoming)
    return incoming if same_family and _upcasts(table, incoming) else None


def is_time(kind: DataType) -> bool:
    return isinstance(kind, (DateType, TimestampType, TimestampNTZType))


def plain(kind: DataType) -> DataType:
    """The type with every part nullable, as Delta stores what lakebed writes."""
    if isinstance(kind, ArrayType):
        return ArrayType(plain(kind.elementType), True)
    if isinstance(kind, MapType):
        return MapType(plain(kind.keyType), plain(kind.valueType), True)
    if isinstance(kind, StructType):
        return StructType([StructField(f.name, plain(f.dataType), True) for f in kind])
    if isinstance(kind, NullType):
        return StringType()
    if isinstance(kind, StringType):
        return StringType()
    return kind


def _family(kind: DataType) -> str | None:
    if isinstance(kind, _INTEGERS):
        return "integer"
    if isinstance(kind, (FloatType, DoubleType)):
        return "float"
    return "decimal" if isinstance(kind, DecimalType) else None


def _upcasts(narrow: DataType, wide: DataType) -> bool:
    """As Spark has it: whole numbers into all wider numbers, anything simple into text, and so inside arrays and maps."""
    if isinstance(wide, StringType):
        return isinstance(narrow, _AS_TEXT)
    digits = _DIGITS.get(type(narrow))
    if digits is not None:
        return (
            digits <= _DIGITS.get(type(wide), -1)
            or isinstance(wide, (FloatType, DoubleType))
            or (isinstance(wide, DecimalType) and wide.precision - wide.scale >= digits)
        )
    if isinstance(narrow, DecimalType) and isinstance(wide, DecimalType):
        return wide.scale >= narrow.scale and wide.precision - wide.scale >= narrow.precision - narrow.scale
    if isinstance(narrow, ArrayType) and isinstance(wide, ArrayType):
        return _fits(narrow.elementType, wide.elementType)
    if isinstance(narrow, MapType) and isinstance(wide, MapType):
        return narrow.keyType == wide.keyType and _fits(narrow.valueType, wide.valueType)
    timely = isinstance(narrow, DateType) and isinstance(wide, (TimestampType, TimestampNTZType))
    return timely or (isinstance(narrow, FloatType) and isinstance(wide, DoubleType))


def _fits(narrow: DataType, wide: DataType) -> bool:
    return narrow == wide or _upcasts(narrow, wide)


def type_text(kind: DataType) -> str:
    """The type as it may stand in SQL, every name inside quoted."""
    if isinstance(kind, ArrayType):
        return f"array<{type_text(kind.elementType)}>"
    if isinstance(kind, MapType):
        return f"map<{type_text(kind.keyType)},{type_text(kind.valueType)}>"
    if isinstance(kind, StructType):
        return f"struct<{','.join(f'{quote_ident(f.name)}:{type_text(f.dataType)}' for f in kind.fields)}>"
    return str(kind.simpleString())


def each_inside(kind: DataType, changed: Callable[[DataType], DataType]) -> DataType:
    """The same nesting with another type in place of each that is not nested itself, keys of maps included."""
    if isinstance(kind, ArrayType):
        return ArrayType(each_inside(kind.elementType, changed))
    if isinstance(kind, MapType):
        return MapType(each_inside(kind.keyType, changed), each_inside(kind.valueType, changed))
    if isinstance(kind, StructType):
        return StructType([StructField(f.name, each_inside(f.dataType, changed)) for f in kind.fields])
    return changed(kind)
