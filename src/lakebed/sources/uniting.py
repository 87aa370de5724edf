"""The frames of several files as one: columns by name, and of one type where the files know their own and differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructField, StructType

from lakebed.history.columns import as_json, col
from lakebed.history.types import reconcile


def united(frames: Sequence[DataFrame]) -> DataFrame:
    """All rows. Of two types the wider one is taken, else text: Spark would make a number of a text, and lose the zeros it begins
    with."""
    kinds = _kinds(frames)
    alike = [_cast(frame, kinds) for frame in frames]
    return reduce(lambda all_, one: all_.unionByName(one, allowMissingColumns=True), alike)


def made_texts(frames: Sequence[DataFrame]) -> list[StructField]:
    """The columns that are texts in `united` and were something else in one of the frames: there the text it came from may be lost,
    as 007 in a number."""
    kinds = _kinds(frames)
    other = (f for frame in frames for f in frame.schema if not isinstance(f.dataType, StringType))
    names = dict.fromkeys(f.name.lower() for f in other)
    return [StructField(name, StringType()) for name in names if isinstance(kinds[name], StringType)]


def _kinds(frames: Sequence[DataFrame]) -> dict[str, DataType]:
    """The type of each column, by its name in lower case, that can hold what all frames have in it."""
    kinds: dict[str, DataType] = {}
    for f in (f for frame in frames for f in frame.schema):
        known = kinds.setdefault(f.name.lower(), f.dataType)
        if known != f.dataType and not _merge(known, f.dataType):
            either = reconcile(known, f.dataType) or reconcile(f.dataType, known)
            kinds[f.name.lower()] = either or StringType()
    return kinds


def _cast(frame: DataFrame, kinds: Mapping[str, DataType]) -> DataFrame:
    other = {
        f.name: _as(col(f.name), f.dataType, kinds[f.name.lower()])
        for f in frame.schema
        if f.dataType != kinds[f.name.lower()] and not _merge(f.dataType, kinds[f.name.lower()])
    }
    return frame.withColumns(other) if other else frame


def _as(value: Column, kind: DataType, wanted: DataType) -> Column:
    nested = isinstance(kind, (StructType, ArrayType, MapType))
    return as_json(value, nulls=False) if nested and isinstance(wanted, StringType) else value.cast(wanted)


def _merge(one: DataType, other: DataType) -> bool:
    """Whether these are objects of which Spark makes one with the fields of both."""
    if not (isinstance(one, StructType) and isinstance(other, StructType)):
        return False
    kinds = {f.name.lower(): f.dataType for f in one}
    shared = [(kinds[f.name.lower()], f.dataType) for f in other if f.name.lower() in kinds]
    return all(mine == theirs or _merge(mine, theirs) for mine, theirs in shared)
