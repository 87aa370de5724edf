"""Rows of cases as DataFrames, and DataFrames as rows that can be compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    MapType,
    StructType,
    TimestampNTZType,
    TimestampType,
)
from tests.conformance.compare import Table

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def frame(spark: SparkSession, rows: Sequence[Mapping[str, Any]], ddl: str) -> DataFrame:
    """The rows in list order, in one partition, so that their place in the list is their position."""
    schema = cast("StructType", StructType.fromDDL(ddl))
    values = [_given(row, schema) for row in rows]
    return spark.createDataFrame(values, schema, verifySchema=True).coalesce(1)


def _given(value: Any, kind: DataType) -> Any:
    """A case's JSON value as the Python value that Spark expects."""
    if value is None:
        return None
    if isinstance(kind, ArrayType):
        return [_given(item, kind.elementType) for item in value]
    if isinstance(kind, StructType):
        items = {name.lower(): item for name, item in value.items()}
        return tuple(_given(items.get(field.name.lower()), field.dataType) for field in kind)
    if isinstance(kind, MapType):
        return {_key(key, kind.keyType): _given(item, kind.valueType) for key, item in value.items()}
    turned = next((turned for of, turned in _GIVEN.items() if isinstance(kind, of)), None)
    return value if turned is None else turned(value)


def _key(text: str, kind: DataType) -> Any:
    """A key of a map: in JSON it is text, whatever its type."""
    if isinstance(kind, IntegralType):
        return int(text)
    return text == "true" if isinstance(kind, BooleanType) else _given(text, kind)


def moment(value: str | datetime) -> datetime:
    """A time of a case, with its zone."""
    return value if isinstance(value, datetime) else datetime.fromisoformat(value.replace("Z", "+00:00"))


_GIVEN: dict[type[DataType], Callable[[Any], Any]] = {
    DoubleType: float,
    FloatType: float,
    DecimalType: lambda value: Decimal(str(value)),
    DateType: lambda value: value if isinstance(value, date) else date.fromisoformat(value),
    TimestampType: moment,
    TimestampNTZType: lambda value: _in_utc(moment(value)).replace(tzinfo=None),
    BinaryType: lambda value: value.encode(),
}


def _in_utc(time: datetime) -> datetime:
    """A time without zone is one already."""
    return time if time.tzinfo is None else time.astimezone(UTC)


def collected(df: DataFrame) -> Table:
    """All rows. Times are fetched as numbers: Python would read them in the machine's own zone."""
    fetched = df.select(
        *(_fetched(F.col(_quoted(field.name)), field.dataType) for field in df.schema)
    ).collect()
    rows = [
        {field.name: _restored(value, field.dataType) for field, value in zip(df.schema, row, strict=True)}
        for row in fetched
    ]
    return Table(rows, {field.name.lower(): field.dataType.simpleString() for field in df.schema})


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _fetched(column: Column, kind: DataType) -> Column:
    """The column with a number of microseconds for every time in it."""
    if isinstance(kind, TimestampType):
        return F.unix_micros(column)
    if isinstance(kind, ArrayType):
        return F.transform(column, lambda item: _fetched(item, kind.elementType))
    if isinstance(kind, StructType):
        fields = (_fetched(column.getField(field.name), field.dataType).alias(field.name) for field in kind)
        return F.when(column.isNotNull(), F.struct(*fields))
    if isinstance(kind, MapType):
        keyed = F.transform_keys(column, lambda key, _: _fetched(key, kind.keyType))
        return F.transform_values(keyed, lambda _, item: _fetched(item, kind.valueType))
    return column


def _restored(value: Any, kind: DataType) -> Any:
    """The value with its times again."""
    if value is None:
        return None
    if isinstance(kind, TimestampType):
        return _EPOCH + timedelta(microseconds=value)
    if isinstance(kind, ArrayType):
        return [_restored(item, kind.elementType) for item in value]
    if isinstance(kind, StructType):
        return tuple(_restored(item, field.dataType) for item, field in zip(value, kind, strict=True))
    if isinstance(kind, MapType):
        return {_restored(key, kind.keyType): _restored(item, kind.valueType) for key, item in value.items()}
    return value
