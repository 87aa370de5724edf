"""Names of columns: the internal ones, declared once, and how any user's name is quoted.

An internal column starts with `PREFIX`; a user's column with it is refused (G9). A *change* is a row of the
incoming columns plus these internal ones; `row()` packs the stored columns into one struct, so that what
follows never meets a user's name again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

PREFIX = "_lb_"

# What a source may hand over with its rows (G5): all optional.
BAD = "_lb_bad"
RAW = "_lb_raw"
FILE = "_lb_file"
LINE = "_lb_line"
POSITION = "_lb_position"
FROM_SOURCE = (BAD, RAW, FILE, LINE, POSITION)

# What makes a row a change.
KIND = "_lb_kind"
REASON = "_lb_reason"
ORDER = "_lb_order"
SETS = "_lb_sets"
EVENT_TIME = "_lb_event_time"
FROM = "_lb_from"
HASH1 = "_lb_h1"
HASH2 = "_lb_h2"
SAME1 = "_lb_same1"
SAME2 = "_lb_same2"
BATCH = "_lb_batch"
BUCKET = "_lb_bucket"
ROW = "_lb_row"
CARRIED = "_lb_carried"
COPIES = "_lb_copies"

# What a history keeps beside the visible columns.
GONE = "_lb_gone"
FIRST = "_lb_first"
OPENED = "_lb_opened"
CLOSED = "_lb_closed"
EFFECTIVE = "_lb_effective"
DEAD = "_lb_dead"
SEED = "_lb_seed"
SK = "_lb_sk"

# What is told of a key's head: its newest event, whether the key was dead before the batch, and whether it is after it.
HEAD = "_lb_head"
DEAD_HEAD = "_lb_dead_head"
NOW_DEAD = "_lb_now_dead"

UPSERT = "U"
DELETE = "D"
TRUNCATE = "T"
IGNORED = "I"

# Among the names of the columns that a change sets; no column has this one.
EVERY_OTHER = ""

BUCKETS = 1024

# Microseconds, which Spark would cut off.
_TIMES_IN_JSON = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def quote_ident(name: str) -> str:
    """A column or table name as it may stand in SQL."""
    if "\0" in name:
        raise ValueError("a name cannot hold a NUL character")
    return "`" + name.replace("`", "``") + "`"


def col(name: str) -> Column:
    """The column of exactly this name, dots and backticks included."""
    return F.col(quote_ident(name))


def field(struct: str, name: str) -> Column:
    """A field of a struct column, by its exact name."""
    return F.col(quote_ident(struct)).getField(name)


def constant(value: Column, beside: str) -> Column:
    """A value that all rows of one batch have, and those of the next have not. Spark writes numbers and times into the code that it
    generates, so that each batch would run code of its own, compiled anew and never warm; what a map holds stays outside. `beside`
    is any column of the row that may be NULL, as far as Spark knows: else it would look into the map while it plans."""
    return F.create_map(F.lit(True), value, F.lit(False), value)[col(beside).isNull()]


def batch_number(batch: int, beside: str) -> Column:
    """The number of the batch that a row is written by."""
    return constant(F.lit(batch).cast("bigint"), beside)


def key_name(place: int) -> str:
    return f"{PREFIX}k{place}"


def key_names(key: Sequence[str]) -> list[str]:
    """Internal names of the key's columns: joins and groups use these, whatever the user's names are."""
    return [key_name(place) for place in range(len(key))]


def with_key(frame: DataFrame, key: Sequence[str]) -> DataFrame:
    return frame.withColumns({key_name(place): col(name) for place, name in enumerate(key)})


def internal(name: str) -> bool:
    return name.lower().startswith(PREFIX)


def same(name: str, other: str) -> bool:
    return name.lower() == other.lower()


def find(name: str, names: Iterable[str]) -> str | None:
    """The one of `names` that is `name` apart from case (G9), or None."""
    return next((candidate for candidate in names if same(candidate, name)), None)


def as_json(value: Column | str, *, nulls: bool = True) -> Column:
    """A struct, an array or a map as text, nothing of it lost. `nulls`: fields that are NULL are written too."""
    return F.to_json(value, {**_TIMES_IN_JSON, "ignoreNullFields": str(not nulls).lower()})


def as_one(names: Iterable[str]) -> Column:
    """The columns of these names as one struct."""
    return F.struct(*[col(name).alias(name) for name in names])


def pack(fields: Sequence[StructField]) -> Column:
    """The stored columns as one struct, in the table's order."""
    return as_one(f.name for f in fields)


def unpack(fields: Sequence[StructField], struct: str = ROW) -> list[Column]:
    return [field(struct, f.name).alias(f.name) for f in fields]


def null_row(fields: Sequence[StructField]) -> Column:
    return F.lit(None).cast(StructType(list(fields)))
