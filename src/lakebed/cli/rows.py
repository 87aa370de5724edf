"""Rows of a DataFrame. Spark itself writes each row as JSON: times in UTC, decimals exact, any nesting."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakebed.cli.output import Format, print_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TIMES = ("timestamp", "timestamp_ntz")


@dataclass(frozen=True)
class Rows:
    """Rows that have left Spark, each a line of JSON. `times` are the columns that are timestamps."""

    columns: tuple[str, ...]
    times: frozenset[str]
    lines: Sequence[str]

    def first(self, limit: int) -> Rows:
        return Rows(self.columns, self.times, self.lines[:limit])

    def read(self) -> list[dict[str, Any]]:
        """The rows as data; a number with a fraction stays the text it was."""
        return [json.loads(line, parse_float=str) for line in self.lines]

    def for_people(self) -> list[dict[str, Any]]:
        """The same with times as short as they can be."""
        return [
            {
                name: _short_time(value) if name in self.times and value else value
                for name, value in row.items()
            }
            for row in self.read()
        ]


def first_rows(frame: DataFrame, limit: int | None) -> Rows:
    """The first rows, or all, in the frame's order."""
    from lakebed.history.columns import as_json, as_one  # noqa: PLC0415 - the command line must start without Spark

    lines = frame.select(as_json(as_one(frame.columns)))
    taken = lines.toLocalIterator() if limit is None else lines.take(limit)
    times = frozenset(field.name for field in frame.schema if field.dataType.typeName() in _TIMES)
    return Rows(tuple(frame.columns), times, [text for (text,) in taken])


def print_frame_rows(rows: Rows, format_: Format) -> None:
    """Where they stay JSON, rows are printed as Spark wrote them: no digit of a decimal is lost."""
    if format_ is Format.NDJSON:
        print("".join(f"{line}\n" for line in rows.lines), end="")  # noqa: T201
    elif format_ is Format.JSON:
        lines = ",".join(f"\n  {line}" for line in rows.lines)
        print(f"[{lines}\n]" if lines else "[]")  # noqa: T201
    else:
        print_rows(rows.columns, rows.for_people() if format_ is Format.TABLE else rows.read(), format_)


def _short_time(text: str) -> str:
    """`2024-01-31T00:00:00.000000Z` as `2024-01-31 00:00:00`."""
    return text.replace("T", " ").removesuffix("Z").removesuffix(".000000")
