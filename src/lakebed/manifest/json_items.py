"""Items in JSON, with names such as `TableName` and `partitionPythonMask`: the same fields as in YAML (D1)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from lakebed.manifest.derived import Dependency, Derived, Step, Substitution

# The names that items are known to use, by the name of the field in YAML.
WRITTEN = {
    "table_name": "TableName",
    "usage": "Usage",
    "field_column": "FieldColumn",
    "date_expression": "DateExpression",
    "partition_column": "partitionColumn",
    "partition_python_mask": "partitionPythonMask",
}
_PARTS: dict[str, type[BaseModel]] = {
    "dependencies": Dependency,
    "steps": Step,
    "date_substitutions": Substitution,
}
_NEEDED = {"dataset", "dependencies", "steps", "table_name", "token", "format"}
Path = tuple[str | int, ...]


def as_fields(item: Mapping[str, Any]) -> dict[str, Any]:
    """The item with the field names of YAML. Nulls and empty texts of fields that may be left out are left out, a usage may
    be in any case, and a missing one is `validate` (D3). Names that are unknown stay as they are, to be refused."""
    fields = _renamed(item, [field.alias or name for name, field in Derived.model_fields.items()])
    for name, model in _PARTS.items():
        if isinstance(fields.get(name), list):
            fields[name] = [
                _renamed(one, list(model.model_fields)) if isinstance(one, Mapping) else one
                for one in fields[name]
            ]
    for dependency in _dependencies(fields):
        usage = dependency.get("usage", "validate")
        dependency["usage"] = usage.lower() if isinstance(usage, str) else usage
    return fields


def missing_usages(item: Mapping[str, Any]) -> Iterator[Path]:
    """The dependencies of an item that do not say their usage."""
    names = ("dependencies", *Dependency.model_fields)
    dependencies = _renamed(item, names).get("dependencies")
    for index, one in enumerate(dependencies if isinstance(dependencies, list) else ()):
        if isinstance(one, Mapping) and "usage" not in _renamed(one, names):
            yield ("dependencies", index)


def as_written(path: Path, item: object) -> Path:
    """The way to a field, by the names that this item uses."""
    written: list[str | int] = []
    for step in path:
        name = step
        if isinstance(item, Mapping) and isinstance(step, str):
            name = next((key for key in item if _plain(key) == _plain(step)), WRITTEN.get(step, step))
            item = item.get(name)
        elif isinstance(item, list) and isinstance(step, int) and step < len(item):
            item = item[step]
        written.append(name)
    return tuple(written)


def in_words(sentence: str) -> str:
    """A sentence about fields, with the names that items use."""
    return re.sub(r"\b[a-z_]+\b", lambda found: WRITTEN.get(found[0], found[0]), sentence)


def _dependencies(fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = fields.get("dependencies")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _renamed(data: Mapping[str, Any], known: Any) -> dict[str, Any]:
    by_plain = {_plain(name): name for name in known}
    renamed: dict[str, Any] = {}
    for key, value in data.items():
        name = by_plain.get(_plain(key), key)
        if name in by_plain.values() and name not in _NEEDED and value in (None, ""):
            continue
        renamed[key if name in renamed else name] = value
    return renamed
