"""JSON: one object a line, or an array of them; names in any spelling, types as declared, seen or known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DateType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from lakebed.errors import BatchError
from lakebed.history.columns import FROM_SOURCE, RAW, find
from lakebed.sources.first_bytes import first_names, starts_with
from lakebed.sources.reading import Reading, kept_type, load, not_in_path, raw_text, typed_rows


def json_rows(reading: Reading) -> DataFrame:
    """One object a line; a file of `format: json` may also be one array of objects."""
    may_be_array = reading.source.format == "json" and "multiline" not in reading.options
    if may_be_array and starts_with(reading.start, b"[", where=reading.where):
        reading = replace(reading, options={**reading.options, "multiline": "true"})
    how = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": RAW}
    if reading.declared is not None:
        schema = _json_schema(reading, reading.declared, how)
        frame = load(reading, StructType([*schema, StructField(RAW, StringType())]), **how)
        return typed_rows(
            reading, frame.withColumn(RAW, raw_text([f.name for f in schema])), reading.declared
        )
    if reading.dataset.feed.on_missing_column == "null":
        how["dropFieldIfAllNull"] = "true"  # Spark would call it a text, whatever it is in other files
    frame = load(reading, None, **how)
    seen = [f for f in frame.schema if f.name not in FROM_SOURCE]
    names = [f.name for f in seen]
    if not names:
        raise BatchError(
            "the file has no readable record, so its columns are not known",
            code="unreadable_file",
            where=reading.where,
            hint="is it JSON, one object a line? Declare the columns, or set options: {multiLine: true}",
        )
    kept = [kept_type(reading, f) for f in seen]
    if kept != seen:  # as texts: a number with a fraction would become a whole one
        texts = [f if f in seen else StructField(f.name, StringType()) for f in kept]
        frame = load(reading, StructType([*texts, StructField(RAW, StringType())]), **how)
        return typed_rows(reading, frame.withColumn(RAW, raw_text(names)), kept)
    raw = raw_text(names) if RAW in frame.columns else F.lit(None).cast("string")
    return typed_rows(reading, frame.withColumn(RAW, raw), None)


def _json_schema(
    reading: Reading, declared: Sequence[StructField], how: Mapping[str, str]
) -> list[StructField]:
    """What Spark is told to look for: names as the file spells them, since it goes by case; times as texts, to be judged as those of
    other formats are; without the columns of the path, which it would give as NULL, and without those that no record has, where
    that has a meaning of its own (G9)."""
    inside = not_in_path(reading, [f.name for f in declared])
    spelled = first_names(reading.start, where=reading.where)
    everywhere = set(inside) <= set(spelled)
    if (
        not everywhere
    ):  # later records may have what the first one lacks, in any spelling: it takes a pass to tell
        spelled = [name for name in load(reading, None, **how).columns if name not in FROM_SOURCE]
    times = (DateType, TimestampType, TimestampNTZType)
    schema = [
        StructField(
            find(f.name, spelled) or f.name, StringType() if isinstance(f.dataType, times) else f.dataType
        )
        for f in declared
        if f.name in inside
    ]
    if everywhere or reading.dataset.feed.on_missing_column == "null":
        return schema
    return [f for f in schema if f.name in spelled] or schema
