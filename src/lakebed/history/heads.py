"""The heads of keys that have no live row in the table: which event was their newest (ARCHITECTURE, decision 4)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from lakebed.history.columns import (
    BATCH,
    DELETE,
    EVENT_TIME,
    FROM,
    HASH1,
    HASH2,
    KIND,
    ORDER,
    ROW,
    SEED,
    SETS,
    key_names,
    null_row,
    with_key,
)
from lakebed.history.shape import Shape


def schema_of(shape: Shape) -> StructType:
    key = [shape.field(name) for name in shape.key]
    return StructType(
        [
            *key,
            StructField(KIND, StringType()),
            StructField(ORDER, shape.order_type),
            StructField(FROM, shape.from_type),
        ]
    )


def seeds_of(rows: DataFrame, shape: Shape) -> DataFrame:
    """Heads as seeds: the key is known, and not live."""
    return with_key(rows, shape.key).select(
        *key_names(shape.key),
        F.lit(DELETE).alias(KIND),
        F.col(ORDER),
        F.lit(None).cast("array<string>").alias(SETS),
        F.lit(None).cast("timestamp").alias(EVENT_TIME),
        F.col(FROM),
        F.lit(None).cast("bigint").alias(HASH1),
        F.lit(None).cast("bigint").alias(HASH2),
        F.lit(None).cast("bigint").alias(BATCH),
        null_row(shape.data).alias(ROW),
        F.lit(True).alias(SEED),
    )
