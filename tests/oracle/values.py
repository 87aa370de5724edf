"""Types and values: DDL text, JSON values, casts between batches (G4, G9)."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

Value = Any  # int, float, str, bool, Decimal, date, datetime (UTC), tuple, or None for NULL

INTEGERS = ("tinyint", "smallint", "int", "bigint")
FLOATS = ("float", "double")
_SAME = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint", "real": "float"}
_COLUMN = re.compile(r"\s*(?:`((?:[^`]|``)*)`|([^\s,]+))\s+")


def read_ddl(ddl: str) -> list[tuple[str, str]]:
    """Column names and types of a DDL text, in order: ``"`a.b` bigint, n decimal(10,2)"``."""
    columns = []
    at = 0
    while at < len(ddl):
        match = _COLUMN.match(ddl, at)
        if match is None:
            raise ValueError(f"not a schema: {ddl!r}")
        name = match[1].replace("``", "`") if match[1] is not None else match[2]
        end = _end_of_type(ddl, match.end())
        columns.append((name, _plain(ddl[match.end() : end])))
        at = end + 1
    return columns


def _end_of_type(ddl: str, start: int) -> int:
    depth = 0
    for at in range(start, len(ddl)):
        depth += (ddl[at] in "<(") - (ddl[at] in ">)")
        if ddl[at] == "," and depth == 0:
            return at
    return len(ddl)


def _plain(kind: str) -> str:
    kind = re.sub(r"\s+", "", kind.lower())
    return _SAME.get(kind, kind)


def read_time(text: str | datetime) -> datetime:
    """A time as the cases write it, in UTC."""
    moment = text if isinstance(text, datetime) else datetime.fromisoformat(text.replace("Z", "+00:00"))
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def read_value(value: Any, kind: str) -> Value:
    """A JSON value of a case as the value of that type. All NaN are one object, so that tuples and dicts find them equal (G4)."""
    if value is None:
        return None
    if kind.startswith("array<"):
        return tuple(read_value(item, kind[6:-1]) for item in value)
    reader = _READERS.get(kind.partition("(")[0])
    return value if reader is None else reader(value)


def in_turn(value: Value) -> Value:
    """The value as it is sorted: NaN is the greatest of numbers, as Spark has it."""
    if isinstance(value, tuple):
        return tuple(in_turn(part) for part in value)
    if isinstance(value, float):
        return (True, 0.0) if math.isnan(value) else (False, value)
    return value


def _read_double(value: Any) -> float:
    number = float(value)
    return math.nan if math.isnan(number) else number


def _read_float(value: Any) -> float:
    number = _read_double(value)
    return math.nan if math.isnan(number) else struct.unpack("f", struct.pack("f", number))[0]


_READERS: dict[str, Callable[[Any], Value]] = {
    "double": _read_double,
    "float": _read_float,
    "decimal": lambda value: Decimal(str(value)),
    "timestamp": read_time,
    "date": lambda value: value if isinstance(value, date) else date.fromisoformat(value),
}


def cast(value: Value, arriving: str, kept: str) -> Value:
    """A value of the arriving type in the table's (G9); only what `meet` allows."""
    if value is None or arriving == kept:
        return value
    if kept == "timestamp" and arriving == "date":
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    if kept == "string":
        return str(value).lower() if isinstance(value, bool) else str(value)
    return read_value(value, kept)


def meet(kept: str, arriving: str) -> str | None:
    """The table's type after a column of type `arriving` met one of type `kept`; None where the batch must fail (G9)."""
    if kept == arriving or upcasts(arriving, kept):
        return kept
    return arriving if _family(kept) == _family(arriving) and upcasts(kept, arriving) else None


def upcasts(narrow: str, wide: str) -> bool:
    """Whether no value of the narrow type is lost in the wide one."""
    ladder = (*INTEGERS, *FLOATS)
    if narrow in ladder and wide in ladder:
        return ladder.index(narrow) <= ladder.index(wide)
    if narrow.startswith("decimal") and wide.startswith("decimal"):
        (p1, s1), (p2, s2) = _digits(narrow), _digits(wide)
        return p1 - s1 <= p2 - s2 and s1 <= s2
    if narrow in INTEGERS and wide.startswith("decimal"):
        precision, scale = _digits(wide)
        return precision - scale >= {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}[narrow]
    if (narrow, wide) == ("date", "timestamp"):
        return True
    return wide == "string" and not narrow.startswith(("array", "map", "struct"))


def _family(kind: str) -> str:
    if kind in INTEGERS:
        return "integers"
    if kind in FLOATS:
        return "floats"
    return "decimals" if kind.startswith("decimal") else kind


def _digits(kind: str) -> tuple[int, int]:
    inside = kind[len("decimal") :].strip("()")
    if not inside:
        return 10, 0
    precision, _, scale = inside.partition(",")
    return int(precision), int(scale or 0)
