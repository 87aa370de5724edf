"""How CSV records end: the carriage return before a line feed, and values that are missing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.history.columns import RAW, col
from lakebed.sources.first_bytes import dialect


def without_returns(frame: DataFrame, names: Sequence[str], options: Mapping[str, str]) -> DataFrame:
    """Records end with a line feed, whatever the file's first line ends with: Spark, left alone, would take that for all of them. The
    carriage return before one is no part of the last value, nor is a line that has nothing else a record."""
    blank = reduce(lambda one, name: one & col(name).isNull(), names[1:], col(names[0]) == "\r")
    ended = _without_return(names[-1], options)
    return frame.where(~F.coalesce(blank, F.lit(False))).withColumn(names[-1], ended)


def filled(frame: DataFrame, names: Sequence[str], options: Mapping[str, str]) -> DataFrame:
    """What a record lacks at its end is NULL, as Spark has read it; it is no longer marked as unreadable. One with too many values still
    is, and one whose quote is never closed: that is cut off."""
    separators, closed = _outside_quotes(options)
    last = F.when(F.col(RAW).isNotNull() & closed & (separators < len(names) - 1), separators)
    values = {
        name: F.when(last == place, _without_return(name, options)).otherwise(col(name))
        for place, name in enumerate(names)
    }
    return frame.withColumns({**values, RAW: F.when(last.isNull(), F.col(RAW))})


def _without_return(name: str, options: Mapping[str, str]) -> Column:
    value, null = col(name), options.get("nullvalue", "")
    text = F.regexp_replace(value, r"\r\z", "")
    ended = F.coalesce(value.endswith("\r"), F.lit(False))
    return F.when(~ended, value).when(~text.isin("", null), text)


def _outside_quotes(options: Mapping[str, str]) -> tuple[Column, Column]:
    """How many separators a record's text has outside of quotes, and whether every quote is closed."""
    how = dialect(options)
    bare, closed = F.col(RAW), F.lit(True)
    if quote := how["quotechar"]:
        sign, escape = re.escape(quote), how["escapechar"]
        inside = f"{re.escape(escape)}.|[^{sign}]" if escape else f"{sign}{sign}|[^{sign}]"
        bare = F.regexp_replace(bare, f"(?s){sign}(?:{inside})*+{sign}", "")
        closed = ~bare.contains(quote)
    return F.size(F.split(bare, re.escape(how["delimiter"]), -1)) - 1, closed
