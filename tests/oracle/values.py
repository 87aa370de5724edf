"""Types and values: DDL text, JSON values, casts between batches (G4, G9)."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

# int, float, str, bool, bytes, Decimal, date, datetime (UTC), None for NULL; an array is a tuple, a struct the tuple of its
# fields, a map the tuple of its pairs, sorted: they can be keys of a dict, and equal ones are told alike.
Value = Any

INTEGERS = ("tinyint", "smallint", "int", "bigint")
FLOATS = ("float", "double")
TIMES = ("timestamp", "timestamp_ntz")
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


def parts(kind: str) -> list[tuple[str, str]]:
    """What a nested type holds, by lower-cased name: the fields of a struct; the element of an array, the key and the value of a
    map have none."""
    inside, at, found = kind[kind.index("<") + 1 : -1], 0, []
    while at < len(inside):
        end = _end_of_type(inside, at)
        field = inside[at:end]
        name, _, of = field.partition(":") if kind.startswith("struct<") else ("", "", field)
        found.append((name.strip("`").lower(), of))
        at = end + 1
    return found


def read_time(text: str | datetime) -> datetime:
    """A time as the cases write it, in UTC."""
    moment = text if isinstance(text, datetime) else datetime.fromisoformat(text.replace("Z", "+00:00"))
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def read_value(value: Any, kind: str) -> Value:
    """A JSON value of a case as the value of that type. All NaN are one object, so that tuples and dicts find them equal (G4)."""
    if value is None:
        return None
    if "<" in kind:
        return _read_nested(value, kind)
    reader = _READERS.get(kind.partition("(")[0])
    return value if reader is None else reader(value)


def _read_nested(value: Any, kind: str) -> Value:
    inner = parts(kind)
    if kind.startswith("array<"):
        return tuple(read_value(item, inner[0][1]) for item in value)
    if kind.startswith("struct<"):
        given = {name.lower(): item for name, item in value.items()}
        return tuple(read_value(given.get(name), of) for name, of in inner)
    (_, of_key), (_, of_value) = inner
    pairs = ((read_key(key, of_key), read_value(item, of_value)) for key, item in value.items())
    return tuple(sorted(pairs, key=repr))


def read_key(text: str, kind: str) -> Value:
    """A key of a map: in JSON it is text, whatever its type."""
    if kind in INTEGERS:
        return int(text)
    return text == "true" if kind == "boolean" else read_value(text, kind)


def in_turn(value: Value) -> Value:
    """The value as it is sorted, as Spark has it: NaN is the greatest of numbers, NULL comes before all."""
    if isinstance(value, tuple):
        return tuple((part is not None, in_turn(part)) for part in value)
    if isinstance(value, float):
        return (True, 0.0) if math.isnan(value) else (False, value)
    return value


def _read_double(value: Any) -> float:
    number = float(value)
    return math.nan if math.isnan(number) else number + 0.0  # -0.0 is 0.0 (G4)


def _read_float(value: Any) -> float:
    number = _read_double(value)
    return math.nan if math.isnan(number) else struct.unpack("f", struct.pack("f", number))[0]


_READERS: dict[str, Callable[[Any], Value]] = {
    "double": _read_double,
    "float": _read_float,
    "decimal": lambda value: Decimal(str(value)),
    "timestamp": read_time,
    "timestamp_ntz": read_time,
    "binary": lambda value: value if isinstance(value, bytes) else value.encode(),
    "date": lambda value: value if isinstance(value, date) else date.fromisoformat(value),
}


def cast(value: Value, arriving: str, kept: str) -> Value:
    """A value of the arriving type in the table's (G9); only what `meet` allows."""
    if value is None or arriving == kept:
        return value
    if kept.startswith("array<"):
        (_, narrow), (_, wide) = *parts(arriving), *parts(kept)
        return tuple(cast(item, narrow, wide) for item in value)
    if kept.startswith("map<"):
        narrow, wide = parts(arriving)[1][1], parts(kept)[1][1]
        return tuple((key, cast(item, narrow, wide)) for key, item in value)
    if kept in TIMES and arriving == "date":
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    if kept == "string":
        return _text(value)
    return read_value(value, kept)


def _text(value: Value) -> str:
    if isinstance(value, datetime):  # one without zone; Spark leaves out the zeros at the end of a fraction
        text = str(value.replace(tzinfo=None))
        return text.rstrip("0") if value.microsecond else text
    return str(value).lower() if isinstance(value, bool) else str(value)


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
    if narrow == "date" and wide in TIMES:
        return True
    if "<" in narrow and "<" in wide:
        return _upcasts_inside(narrow, wide)
    return wide == "string" and "<" not in narrow and narrow not in ("timestamp", "binary")


def _upcasts_inside(narrow: str, wide: str) -> bool:
    """The elements of an array, the values of a map; never fields of a struct or keys of a map."""
    shape = narrow.partition("<")[0]
    if shape == "struct" or not wide.startswith(f"{shape}<"):
        return False
    *key, (_, mine) = parts(narrow)
    *fixed, (_, theirs) = parts(wide)
    return key == fixed and (mine == theirs or upcasts(mine, theirs))


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
