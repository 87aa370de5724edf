"""Rows of a DataFrame. Spark itself writes each row as JSON: times in UTC, decimals exact, any nesting."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakebed.cli.output import Format, print_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_AS_JSON = {"ignoreNullFields": "false", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}


def first_rows(frame: DataFrame, limit: int) -> list[str]:
    """The first rows, in the frame's order, each as a line of JSON."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - the command line must start without Spark

    columns = [F.col(f"`{name.replace('`', '``')}`") for name in frame.columns]
    return [text for (text,) in frame.select(F.to_json(F.struct(*columns), _AS_JSON)).take(limit)]


def print_lines(columns: Sequence[str], lines: Sequence[str], format_: Format) -> None:
    """Rows that are JSON already. Where they stay JSON they are printed as they are: no digit of a decimal is lost."""
    if format_ is Format.NDJSON:
        print("".join(f"{line}\n" for line in lines), end="")  # noqa: T201
    elif format_ is Format.JSON:
        print("[" + ",".join(f"\n  {line}" for line in lines) + ("\n]" if lines else "]"))  # noqa: T201
    else:
        print_rows(columns, [json.loads(line, parse_float=str) for line in lines], format_)
