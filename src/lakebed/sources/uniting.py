"""The frames of several files as one: columns by name, and of one type where the files know their own and differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, StringType

from lakebed.history.columns import col
from lakebed.history.types import reconcile


def united(frames: Sequence[DataFrame]) -> DataFrame:
    """All rows. Of two types the wider one is taken, else text: Spark would make a number of a text, and lose the zeros it begins
    with."""
    kinds: dict[str, DataType] = {}
    for f in (f for frame in frames for f in frame.schema):
        known = kinds.setdefault(f.name.lower(), f.dataType)
        if known != f.dataType:
            either = reconcile(known, f.dataType) or reconcile(f.dataType, known)
            kinds[f.name.lower()] = either or StringType()
    alike = [_cast(frame, kinds) for frame in frames]
    return reduce(lambda all_, one: all_.unionByName(one, allowMissingColumns=True), alike)


def _cast(frame: DataFrame, kinds: Mapping[str, DataType]) -> DataFrame:
    other = [f.name for f in frame.schema if f.dataType != kinds[f.name.lower()]]
    return (
        frame.withColumns({name: col(name).cast(kinds[name.lower()]) for name in other}) if other else frame
    )
