"""JSON: one object a line, or an array of them; names in any spelling, types as declared, seen or known."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    DecimalType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from lakebed.errors import BatchError
from lakebed.history.columns import FROM_SOURCE, RAW, find
from lakebed.history.types import each_inside
from lakebed.sources.encodings import named_encoding
from lakebed.sources.first_bytes import first_object, has_second_value
from lakebed.sources.reading import Reading, kept_type, load, no_rows, not_in_path, raw_text, typed_rows
from lakebed.sources.remote_folder import escaped
from lakebed.sources.spark_errors import OTHER_SPELLING, SEVERAL_VALUES

# Outside of texts, a comma or another bracket stands between what ends with one bracket and begins with another.
_ADJOINING = r"[}\]]\s*[\[{]"


def json_rows(reading: Reading) -> DataFrame:
    """One object a line; a file of `format: json` may also be one array of objects."""
    encoding = named_encoding(reading.options)
    whole = reading.is_one_value
    if whole:
        reading = replace(reading, options={**reading.options, "multiline": "true"})
    if has_second_value(reading.start, whole=whole, encoding=encoding, where=reading.where):
        raise BatchError(
            SEVERAL_VALUES,
            code="unreadable_file",
            where=reading.where,
            hint="have the file written with one object a line, or as one array",
        )
    how = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": RAW}
    if encoding is not None and "linesep" not in reading.options:
        how["lineSep"] = "\n"  # Spark finds the ends of lines by itself in UTF-8 only
    if reading.declared is not None:
        schema = _json_schema(reading, reading.declared, how)
        reading.looked_for[:] = [f.name for f in schema]
        frame = load(reading, StructType([*schema, StructField(RAW, StringType())]), **how)
        return typed_rows(
            reading, frame.withColumn(RAW, raw_text([f.name for f in schema])), reading.declared
        )
    if reading.dataset.feed.on_missing_column == "null":
        how["dropFieldIfAllNull"] = "true"  # Spark would call it a text, whatever it is in other files
    frame = load(reading, None, **how)
    seen = [f for f in frame.schema if f.name not in FROM_SOURCE]
    names = reading.looked_for[:] = [f.name for f in seen]
    if not names and reading.known and RAW not in frame.columns:
        return no_rows(reading, reading.known)
    if not names:
        raise BatchError(
            "the file has no readable record, so its columns are not known",
            code="unreadable_file",
            where=reading.where,
            hint="is it JSON, one object a line? Declare the columns, or set options: {multiLine: true}",
        )
    kept = [_kept(reading, f) for f in seen]
    if kept != seen:  # as texts: a number with a fraction would become a whole one
        texts = [
            f if f in seen or _is_nested(f.dataType) else StructField(f.name, StringType()) for f in kept
        ]
        frame = load(reading, StructType([*texts, StructField(RAW, StringType())]), **how)
        return typed_rows(reading, frame.withColumn(RAW, raw_text(names)), kept)
    raw = raw_text(names) if RAW in frame.columns else F.lit(None).cast("string")
    return typed_rows(reading, frame.withColumn(RAW, raw), None)


def nothing_unread(readings: Sequence[Reading]) -> list[DataFrame]:
    """Frames without rows that fail when they are read, where a value of these files stands where no reader would look: behind another
    one, in its line or, where a file is one value, in the file (`has_second_value` sees it only near a file's beginning); or under a name
    that is spelled otherwise than in the file's first records."""
    alike: dict[tuple[bool, tuple[str, ...]], list[Reading]] = {}
    for one in readings:
        if named_encoding(one.options) is None:
            alike.setdefault((one.is_one_value, tuple(one.looked_for)), []).append(one)
    frames = []
    for (whole, names), files in alike.items():
        addresses = [escaped(one.start.address) for one in files]
        text = files[0].spark.read.text(addresses, wholetext=whole)
        bare = F.regexp_replace(F.regexp_replace("value", r"\\.", ""), '"[^"]*"', "")
        several = F.col("value").rlike(_ADJOINING) & bare.rlike(_ADJOINING)
        fails = F.when(several, _failing(SEVERAL_VALUES)).when(
            _spelled_otherwise(names, whole=whole), _failing(OTHER_SPELLING)
        )
        frames.append(text.where(fails).select(F.lit(None).cast("string").alias(RAW)))
    return frames


def _failing(why: str) -> Column:
    return F.raise_error(F.lit(why)).cast("boolean")


def _spelled_otherwise(names: Sequence[str], *, whole: bool) -> Column:
    """Whether a record of the text has one of these names in other letters, large or small. Names inside of a record's objects do not
    count, so what looks like one is read to be sure."""
    if not names:
        return F.lit(False)
    same, either = ("|".join(map(re.escape, one)) for one in (names, map(str.lower, names)))
    text = F.col("value")
    records = F.coalesce(F.from_json(text, "array<string>"), F.array(text)) if whole else F.array(text)
    found = F.flatten(F.transform(records, F.json_object_keys))
    other = F.exists(
        found, lambda name: F.lower(name).isin([one.lower() for one in names]) & ~name.isin(list(names))
    )
    return text.rlike(f'"(?!(?:{same})")(?iu:{either})"\\s*:') & F.coalesce(other, F.lit(False))


def _kept(reading: Reading, seen: StructField) -> StructField:
    """As `kept_type`; an object or a list keeps its type only where nothing of it would be left out."""
    kept = kept_type(reading, seen)
    return kept if _holds(kept.dataType, seen.dataType) else seen


def _is_nested(kind: DataType) -> bool:
    return isinstance(kind, (StructType, ArrayType, MapType))


def _holds(known: DataType, seen: DataType) -> bool:
    """Whether a value that looked like `seen` has its place in `known`. Spark calls a text what is NULL everywhere."""
    if not _is_nested(known) or isinstance(seen, StringType):
        return True
    if isinstance(known, StructType) and isinstance(seen, StructType):
        inside = {f.name: f.dataType for f in known}
        return all(f.name in inside and _holds(inside[f.name], f.dataType) for f in seen)
    if isinstance(known, ArrayType) and isinstance(seen, ArrayType):
        return _holds(known.elementType, seen.elementType)
    return isinstance(known, MapType) and isinstance(seen, StructType)


def _judged_later(kind: DataType) -> DataType:
    """Times and decimals as texts, to be judged as those of other formats are."""
    texts = (DateType, TimestampType, TimestampNTZType, DecimalType)
    return StringType() if isinstance(kind, texts) else kind


def _json_schema(
    reading: Reading, declared: Sequence[StructField], how: Mapping[str, str]
) -> list[StructField]:
    """What Spark is told to look for: names as the file spells them, since it goes by case; times and decimals as texts;
    without the columns of the path, which it would give as NULL, and without those that no record has, where
    that has a meaning of its own (G9)."""
    inside = not_in_path(reading, [f.name for f in declared])
    spelled = list(first_object(reading.start, encoding=named_encoding(reading.options), where=reading.where))
    everywhere = set(inside) <= set(spelled)
    if (
        not everywhere
    ):  # later records may have what the first one lacks, in any spelling: it takes a pass to tell
        spelled = [name for name in load(reading, None, **how).columns if name not in FROM_SOURCE]
    schema = [
        StructField(find(f.name, spelled) or f.name, each_inside(f.dataType, _judged_later))
        for f in declared
        if f.name in inside
    ]
    if everywhere or reading.dataset.feed.on_missing_column == "null":
        return schema
    return [f for f in schema if f.name in spelled] or schema
