"""R1: what somebody asks about is compared as a value of the column's type, and refused where it is none."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    LongType,
    StringType,
    TimestampType,
)

from lakebed.errors import OptionsError
from lakebed.table.as_of import moment_like

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY = dt.date(2024, 1, 15)
NUMBER = LongType()


@pytest.mark.parametrize(
    ("asked", "kind", "means"),
    [
        ("20240115", NUMBER, 20240115),
        (20240115, NUMBER, 20240115),
        ("-5", NUMBER, -5),
        ("1.5", DecimalType(9, 2), Decimal("1.5")),
        ("1.5", NUMBER, Decimal("1.5")),  # between two of them, and not rounded to one
        (47223664828696453122, DecimalType(38, 0), Decimal(47223664828696453122)),
        (0.1, DoubleType(), 0.1),
        ("20240115", DateType(), DAY),
        ("2024-01-15", DateType(), DAY),
        (DAY, DateType(), DAY),
        ("2024-01-15T23:30:00-01:00", DateType(), dt.date(2024, 1, 16)),
        ("b", StringType(), "b"),
        (7, StringType(), "7"),
    ],
)
def test_R1_the_type_of_the_column_decides(
    spark: SparkSession, asked: Any, kind: DataType, means: Any
) -> None:
    [row] = spark.range(1).select(moment_like(asked, kind).alias("at")).take(1)
    assert row["at"] == means


def test_R1_a_short_float_is_found_by_what_it_is_called(spark: SparkSession) -> None:
    rows = spark.range(1).selectExpr("cast(0.1 as float) AS at")
    assert rows.where(moment_like(0.1, FloatType()) == F.col("at")).count() == 1


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ("2024", TimestampType()),
        ("5", TimestampType()),
        (7, TimestampType()),
        ("yesterday", DateType()),
        ("2024-01-31", NUMBER),
        (DAY, NUMBER),
        ("9" * 39, NUMBER),
        ("1e-40", NUMBER),
        ("NaN", NUMBER),
        ("9999-12-31T23:59:59-05:00", TimestampType()),
        ("1e999999999", NUMBER),
    ],
)
@pytest.mark.usefixtures("spark")
def test_R1_what_is_no_value_of_its_type_is_refused(asked: Any, kind: DataType) -> None:
    with pytest.raises(OptionsError, match="as_of"):
        moment_like(asked, kind)
