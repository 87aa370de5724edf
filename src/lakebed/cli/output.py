"""Tables, CSV and JSON on standard output. Data is data: nothing in it can steer a terminal."""

from __future__ import annotations

import csv
import datetime as dt
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

WIDE = 10_000
# What became of a batch's rows (G8), in the order in which it is told.
COUNTERS = (
    "read",
    "applied",
    "unchanged",
    "duplicate",
    "late",
    "rejected",
    "conflicts",
    "modified",
    "deleted",
)


class Format(StrEnum):
    """How rows are printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    NDJSON = "ndjson"


class ShortFormat(StrEnum):
    """For commands whose result is not a list of rows."""

    TABLE = "table"
    JSON = "json"


def to_json(value: Any, *, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent, default=_plain)


def _plain(value: object) -> object:
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")
    return str(value)


def harmless(text: str) -> str:
    """The same text without characters that could steer a terminal; line ends stay."""
    return "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode()
        for char in text
    )


def cell(value: Any) -> str:
    """One value as a person reads it. NULL is not the same as an empty text."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, (Mapping, list, tuple)):
        value = to_json(value)
    return harmless(str(value)).replace("\n", "\\n")


def print_rows(
    columns: Sequence[str], rows: Iterable[Mapping[str, Any]], format_: Format, *, title: str | None = None
) -> None:
    """Rows in one of the formats; a column that a row lacks is NULL."""
    if format_ is Format.TABLE:
        print_table(columns, ([cell(row.get(name)) for name in columns] for row in rows), title=title)
    elif format_ is Format.CSV:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_csv(row.get(name)) for name in columns] for row in rows)
    elif format_ is Format.NDJSON:
        for row in rows:
            print(to_json(row))  # noqa: T201
    else:
        print(to_json(list(rows), indent=2))  # noqa: T201


def _csv(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        value = _plain(value)
    return value if isinstance(value, str) else to_json(value)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, title: str | None = None) -> None:
    """A table for people. Where nobody looks at it, in a file or a pipe, nothing is cut to the screen's width."""
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415 - scripts that want JSON need no rich
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
    for name in columns:
        table.add_column(Text(cell(name)), overflow="fold")
    for row in rows:
        table.add_row(*(Text(text) for text in row))
    console = Console()
    (console if console.is_terminal else Console(width=WIDE)).print(table)


def say(text: str) -> None:
    """A line for people, beside the results."""
    print(harmless(text), file=sys.stderr)  # noqa: T201
