"""Values and types as they may stand in SQL."""

from __future__ import annotations

from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from lakebed.history.columns import quote_ident


def quote_text(text: str) -> str:
    """A text as it may stand in SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def ddl(kind: DataType) -> str:
    """A type as it may stand in SQL, with every name inside quoted."""
    if isinstance(kind, StructType):
        return f"STRUCT<{', '.join(f'{quote_ident(f.name)}: {ddl(f.dataType)}' for f in kind)}>"
    if isinstance(kind, ArrayType):
        return f"ARRAY<{ddl(kind.elementType)}>"
    if isinstance(kind, MapType):
        return f"MAP<{ddl(kind.keyType)}, {ddl(kind.valueType)}>"
    return kind.simpleString()
