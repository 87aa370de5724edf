"""Reading text and integers as times (G3)."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

_PATTERN = {
    "%Y": "yyyy",
    "%y": "yy",
    "%m": "MM",
    "%d": "dd",
    "%j": "DDD",
    "%H": "HH",
    "%M": "mm",
    "%S": "ss",
    "%f": "SSSSSS",
}
_PER_SECOND = {"epoch_s": 1, "epoch_ms": 1_000, "epoch_us": 1_000_000}


def spark_time(value: Column, format_: str | None) -> Column:
    """`value` as a UTC timestamp; NULL where it is NULL or does not fit the format."""
    if format_ is None:
        return value.cast("timestamp")
    if format_ in _PER_SECOND:
        return F.timestamp_micros(value.try_cast("bigint") * F.lit(1_000_000 // _PER_SECOND[format_]))
    return F.try_to_timestamp(value.cast("string"), F.lit(spark_pattern(format_)))


def spark_pattern(format_: str) -> str:
    """A strftime format as Spark's own pattern; literal text is quoted."""
    pattern, place = "", 0
    while place < len(format_):
        directive = format_[place : place + 2]
        if directive == "%%":
            pattern, place = pattern + "'%'", place + 2
        elif directive in _PATTERN:
            pattern, place = pattern + _PATTERN[directive], place + 2
        else:
            letter = format_[place]
            pattern += f"'{letter}'" if letter.isalpha() else ("''" if letter == "'" else letter)
            place += 1
    return pattern
