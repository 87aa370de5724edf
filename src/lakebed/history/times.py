"""Reading text and integers as times (G3)."""

from __future__ import annotations

import re

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
_PIECES = re.compile(rf"({'|'.join(_PATTERN)})|((?:%%|(?!{'|'.join(_PATTERN)}).)+)", re.DOTALL)
_RESERVED = "[]{}#"  # they mean something in a pattern of Spark
_NEXT_69 = 2069
# In microseconds; beyond these years, a unit was mistaken.
_YEARS_1_TO_9999 = (-62_135_596_800_000_000, 253_402_300_799_999_999)
_PER_SECOND = {"epoch_s": 1, "epoch_ms": 1_000, "epoch_us": 1_000_000}


def spark_time(value: Column, format_: str | None) -> Column:
    """`value` as a UTC timestamp; NULL where it is NULL or does not fit the format."""
    if format_ is None:
        return value.cast("timestamp")
    if format_ in _PER_SECOND:
        micros = F.try_multiply(value.try_cast("bigint"), F.lit(1_000_000 // _PER_SECOND[format_]))
        return F.timestamp_micros(F.when(micros.between(*_YEARS_1_TO_9999), micros))
    time = F.try_to_timestamp(value.cast("string"), F.lit(spark_pattern(format_)))
    if "%y" not in format_.replace("%%", ""):
        return time
    # 69 is 1969, as where a format stands in a path; Spark takes it for 2069.
    return F.when(F.year(time) >= _NEXT_69, time - F.make_interval(F.lit(100))).otherwise(time)


def spark_pattern(format_: str) -> str:
    """A strftime format as Spark's own pattern; literal text is quoted, neighbours together: a quote's end and the next one's begin
    would be a quote."""
    pattern = ""
    for directive, literal in _PIECES.findall(format_):
        pattern += _PATTERN[directive] if directive else _quoted(literal.replace("%%", "%"))
    return pattern


def _quoted(text: str) -> str:
    text = text.replace("'", "''")
    return f"'{text}'" if any(sign.isalpha() or sign in _RESERVED for sign in text) else text
