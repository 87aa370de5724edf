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
    """A value that can be compared and counted, the same for a case's JSON and a table's own."""
    if isinstance(value, (list, tuple)):
        return tuple(plain(item, kind[6:-1] if kind.startswith("array<") else "") for item in value)
    if value is not None and kind == "timestamp" and isinstance(value, str):
        value = datetime.fromisoformat(value.replace("Z", "+00:00"))
    if value is not None and kind.startswith("decimal"):
        value = Decimal(str(value))
    if value is not None and kind in ("float", "double"):
        value = float(value)
    for of, turned in _PLAIN.items():
        if isinstance(value, of):
            return turned(value, kind)
    return value


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
    bool: lambda value, _: str(value).lower(),
    datetime: lambda value, _: _instant(value),
    date: lambda value, _: value.isoformat(),
    Decimal: lambda value, _: value.normalize(Context(prec=76)),
    float: _number,
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
