"""Rows of cases as DataFrames, and DataFrames as rows that can be compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    StructType,
    TimestampType,
)
from tests.conformance.compare import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def frame(spark: SparkSession, rows: Sequence[Mapping[str, Any]], ddl: str) -> DataFrame:
    """The rows in list order, in one partition, so that their place in the list is their position."""
    schema = cast("StructType", StructType.fromDDL(ddl))
    values = [tuple(_given(row.get(field.name), field.dataType) for field in schema) for row in rows]
    return spark.createDataFrame(values, schema, verifySchema=True).coalesce(1)


def _given(value: Any, kind: DataType) -> Any:
    """A case's JSON value as the Python value that Spark expects."""
    if value is None:
        return None
    if isinstance(kind, ArrayType):
        return [_given(item, kind.elementType) for item in value]
    turned = next((turned for of, turned in _GIVEN.items() if isinstance(kind, of)), None)
    return value if turned is None else turned(value)


def moment(value: str | datetime) -> datetime:
    """A time of a case, with its zone."""
    return value if isinstance(value, datetime) else datetime.fromisoformat(value.replace("Z", "+00:00"))


_GIVEN: dict[type[DataType], Callable[[Any], Any]] = {
    DoubleType: float,
    FloatType: float,
    DecimalType: lambda value: Decimal(str(value)),
    DateType: lambda value: value if isinstance(value, date) else date.fromisoformat(value),
    TimestampType: moment,
}


def collected(df: DataFrame) -> Table:
    """All rows. Times are fetched as numbers: Python would read them in the machine's own zone."""
    times = {field.name for field in df.schema if isinstance(field.dataType, TimestampType)}
    names = [field.name for field in df.schema]
    fetched = df.select(
        *(F.unix_micros(_quoted(name)) if name in times else F.col(_quoted(name)) for name in names)
    ).collect()
    rows = [
        {name: _instant(value) if name in times else value for name, value in zip(names, row, strict=True)}
        for row in fetched
    ]
    return Table(rows, {field.name.lower(): field.dataType.simpleString() for field in df.schema})


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _instant(micros: int | None) -> datetime | None:
    return None if micros is None else _EPOCH + timedelta(microseconds=micros)
