"""Arrays, maps and structs out of variants. Spark's own cast makes NULL of an inner value that does not fit; here it is
noticed."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from lakebed.history.types import each_inside, type_text
from lakebed.sources.declared import unrounded


def nested_value(value: Column, kind: DataType) -> Column:
    """The variant in this type; a text is taken for the JSON in it. NULL where it is nothing of the kind."""
    return F.try_variant_get(_opened(value), "$", type_text(kind))


def lost(value: Column, kind: DataType) -> Column:
    """Whether anything in the variant, or all of it, has no place in this type."""
    texts = F.try_variant_get(_opened(value), "$", type_text(each_inside(kind, lambda _kind: StringType())))
    there = F.try_variant_get(value, "$", "string").isNotNull()
    return (there & texts.isNull()) | _lost(texts, nested_value(value, kind), kind)


def _opened(value: Column) -> Column:
    as_text = F.try_variant_get(value, "$", "string")
    return F.when(F.schema_of_variant(value) == "STRING", F.try_parse_json(as_text)).otherwise(value)


def _lost(texts: Column, values: Column, kind: DataType) -> Column:
    here = texts.isNotNull() & values.isNull()
    # The cast of a variant rounds, and takes a number for seconds, whatever its unit is.
    if isinstance(kind, DecimalType):
        return texts.isNotNull() & unrounded(texts, kind).isNull()
    if isinstance(kind, (TimestampType, TimestampNTZType)):
        return here | F.coalesce(texts.rlike(r"^-?\d+(\.\d+)?$"), F.lit(False))
    if isinstance(kind, ArrayType):
        return here | _any_lost(texts, values, kind.elementType)
    if isinstance(kind, MapType):
        return here | _any_lost(F.map_values(texts), F.map_values(values), kind.valueType)
    if isinstance(kind, StructType):
        for f in kind.fields:
            here = here | _lost(texts.getField(f.name), values.getField(f.name), f.dataType)
    return here


def _any_lost(texts: Column, values: Column, kind: DataType) -> Column:
    each = F.zip_with(texts, values, lambda text, value: _lost(text, value, kind))
    return F.coalesce(F.exists(each, lambda one: one), F.lit(False))
