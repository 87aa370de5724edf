"""What an envelope is told beside the rows, and the places of rows in their files."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField

from lakebed.history.columns import FILE, POSITION, find

UNREADABLE = "unreadable"
BAD_CAST = "bad_cast"
UNKNOWN_OPERATION = "unknown_operation"

NUMBER = "decimal(38,0)"
# When a row's file came: the time of a change that tells none itself.
ARRIVED = "_lb_arrived"
# The lower bits of a position are the row's place in its file; the upper ones depend on the batch.
IN_FILE_BITS = 51


@dataclass(frozen=True)
class Given:
    """The declared columns; the key; whether a column that a change does not mention keeps its value
    (`on_missing_column: keep`); and the columns that come from the file's path, so are no part of the message."""

    declared: tuple[StructField, ...]
    key: tuple[str, ...] = ()
    keep_missing: bool = False
    beside: tuple[str, ...] = ()

    def in_key(self, name: str) -> bool:
        return find(name, self.key) is not None

    def is_beside(self, name: str) -> bool:
        return find(name, self.beside) is not None


def mark(rows: DataFrame, name: str, kind: str) -> Column:
    """What the source tells of a row under this name, or NULL."""
    return F.col(name) if name in rows.columns else F.lit(None).cast(kind)


def arrival(rows: DataFrame) -> Column:
    return mark(rows, ARRIVED, "timestamp").cast("timestamp")


def path_of(rows: DataFrame) -> Column:
    return F.coalesce(mark(rows, FILE, "string"), F.lit(""))


def place_in_file(rows: DataFrame) -> Column:
    """The row's place in its file, whatever batch the file is in."""
    position = F.coalesce(mark(rows, POSITION, "bigint"), F.lit(0).cast("bigint"))
    return position.bitwiseAND(F.lit(2**IN_FILE_BITS - 1)).cast(NUMBER)


def place(number: Column | None = None) -> Column:
    """A part of a position, in its type; 0 where it is not told."""
    zero = F.lit(0).cast(NUMBER)
    return zero if number is None else F.coalesce(number.try_cast(NUMBER), zero)
