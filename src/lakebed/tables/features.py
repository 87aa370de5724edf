"""What Delta must be told of a table, so that it stores these columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType, TimestampNTZType

_MAPPING = {"delta.columnMapping.mode": "name"}
_ODD = set(" ,;{}()\n\t=")
# The log must outlive every pause of a feed: the newest batch number is told by it.
_LONG = "interval 3650 days"


def properties_for(schema: StructType) -> dict[str, str]:
    """The properties of a new table."""
    always = {"delta.enableDeletionVectors": "true", "delta.logRetentionDuration": _LONG}
    return {**always, **(_MAPPING if any(map(_is_odd, schema)) else {})}


def needed_for(new: Sequence[StructField], wider: Sequence[StructField]) -> dict[str, str]:
    """The properties that a table needs besides, before it can take new columns or wider types; none where it can already."""
    needed = dict(_MAPPING) if any(map(_is_odd, new)) else {}
    if wider:
        needed["delta.enableTypeWidening"] = "true"
    if any(isinstance(kind, TimestampNTZType) for f in (*new, *wider) for kind in _kinds_in(f.dataType)):
        needed["delta.feature.timestampNtz"] = "supported"  # a new table has it by itself, an older one not
    return needed


def _is_odd(column: StructField) -> bool:
    """Whether Delta stores the column only under another name, for its own or one inside it."""
    inside = (f.name for kind in _kinds_in(column.dataType) if isinstance(kind, StructType) for f in kind)
    return any(_ODD & set(name) for name in (column.name, *inside))


def _kinds_in(kind: DataType) -> Iterator[DataType]:
    """The type and all types inside it."""
    yield kind
    parts: list[DataType] = []
    if isinstance(kind, StructType):
        parts = [f.dataType for f in kind]
    elif isinstance(kind, ArrayType):
        parts = [kind.elementType]
    elif isinstance(kind, MapType):
        parts = [kind.keyType, kind.valueType]
    for part in parts:
        yield from _kinds_in(part)
