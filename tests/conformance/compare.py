"""Comparing tables as the cases' README says: by name without case, NULL and absent alike, multisets but for logs."""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Context, Decimal
from typing import Any

from tests.oracle.values import parts, read_key

Row = Mapping[str, Any]
INTERNAL = "_lb_"


@dataclass
class Table:
    """Rows as they are, and the type of each column (DDL, by lower-cased name)."""

    rows: Sequence[Row] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)


def without(table: Table, names: Iterable[str] = ()) -> Table:
    """The table without internal columns and those named."""
    hidden = {name.lower() for name in names}
    kept = {
        name: kind
        for name, kind in table.kinds.items()
        if not name.startswith(INTERNAL) and name not in hidden
    }
    return Table([{name: row[name] for name in row if name.lower() in kept} for row in table.rows], kept)


def plain(value: Any, kind: str = "") -> Any:
    """A value that can be compared and counted, the same for a case's JSON and a table's own. One that does not fit the type
    of its column stays as it is, and so differs from all that do."""
    try:
        value = _fitting(value, kind)
    except (ValueError, TypeError, ArithmeticError):
        kind = ""
    for of, turned in _PLAIN.items():
        if isinstance(value, of):
            return turned(value, kind)
    return value


def _fitting(value: Any, kind: str) -> Any:
    """A value in the form that its type has here: a case's JSON knows text, numbers, lists and objects only."""
    if value is None or isinstance(value, bool):
        return value
    for start, fitted in _FITTING.items():
        if kind.startswith(start):
            return fitted(value, kind)
    return value


def _fields(value: Any, kind: str) -> frozenset[tuple[str, Any]]:
    """A struct as its fields that are not NULL: an object, or the values in the order of the fields."""
    inner = parts(kind)
    given = value if isinstance(value, dict) else dict(zip([name for name, _ in inner], value, strict=True))
    return canonical(given, dict(inner))


def _pairs(value: Any, kind: str) -> frozenset[tuple[Any, Any]]:
    """A map as its pairs. In JSON all keys are text."""
    (_, of_key), (_, of_value) = parts(kind)
    pairs = value.items() if isinstance(value, dict) else value
    keyed = ((read_key(key, of_key) if isinstance(key, str) else key, item) for key, item in pairs)
    return frozenset((plain(key, of_key), plain(item, of_value)) for key, item in keyed)


def _time(value: Any, _kind: str) -> Any:
    return datetime.fromisoformat(value.replace("Z", "+00:00")) if isinstance(value, str) else value


def _items(value: Sequence[Any], kind: str) -> tuple[Any, ...]:
    of = parts(kind)[0][1] if kind.startswith("array<") else ""
    return tuple(plain(item, of) for item in value)


def _number(number: float, kind: str) -> float | str:
    if math.isnan(number):
        return "NaN"
    return float(struct.unpack("f", struct.pack("f", number))[0]) if kind == "float" else number + 0.0


def _instant(moment: datetime) -> str:
    """UTC; a time without zone is one already."""
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return moment.isoformat().replace("+00:00", "Z")


# a date and time is a date too, and a boolean an integer: the narrower type first
_PLAIN: dict[type, Callable[[Any, str], Any]] = {
    bool: lambda value, _: ("boolean", value),  # neither the text "true" nor the number 1
    datetime: lambda value, _: _instant(value),
    date: lambda value, _: value.isoformat(),
    Decimal: lambda value, _: value.normalize(Context(prec=76)),
    float: _number,
    bytearray: lambda value, _: bytes(value),
    list: _items,
    tuple: _items,
    dict: lambda value, _: frozenset((plain(key), plain(item)) for key, item in value.items()),
}
# by what the type's DDL starts with
_FITTING: dict[str, Callable[[Any, str], Any]] = {
    "struct<": _fields,
    "map<": _pairs,
    "timestamp": _time,
    "decimal": lambda value, _: Decimal(str(value)),
    "float": lambda value, _: float(value),
    "double": lambda value, _: float(value),
    "binary": lambda value, _: value.encode() if isinstance(value, str) else value,
}


def canonical(row: Row, kinds: Mapping[str, str]) -> frozenset[tuple[str, Any]]:
    """A row without its NULLs, by lower-cased name."""
    named = ((name.lower(), value) for name, value in row.items())
    return frozenset((name, plain(value, kinds.get(name, ""))) for name, value in named if value is not None)


def difference(actual: Table, expected: Sequence[Row], *, ordered: bool = False) -> str | None:
    """What is wrong with the table; None if nothing is."""
    unknown = {name.lower() for row in expected for name in row} - set(actual.kinds)
    if unknown:
        return f"the table has no column {', '.join(sorted(unknown))}; it has {', '.join(actual.kinds)}"
    have = [canonical(row, actual.kinds) for row in actual.rows]
    want = [canonical(row, actual.kinds) for row in expected]
    if ordered and have != want:
        pairs = zip([*have, *[None] * len(want)], [*want, *[None] * len(have)], strict=False)
        at = next(place for place, (mine, theirs) in enumerate(pairs) if mine != theirs)
        return f"row {at} is {_shown(have[at : at + 1])}, expected {_shown(want[at : at + 1])}\n{_listed(have, want)}"
    if not ordered and Counter(have) != Counter(want):
        return _listed(
            list((Counter(have) - Counter(want)).elements()), list((Counter(want) - Counter(have)).elements())
        )
    return None


def _listed(have: Sequence[frozenset[tuple[str, Any]]], want: Sequence[frozenset[tuple[str, Any]]]) -> str:
    lines = [
        "  in the table:",
        *(f"    {_shown([row])}" for row in have),
        "  expected:",
        *(f"    {_shown([row])}" for row in want),
    ]
    return "\n".join(lines)


def _shown(rows: Sequence[frozenset[tuple[str, Any]]]) -> str:
    return " ".join(f"{name}={value!r}" for row in rows for name, value in sorted(row)) or "nothing"
