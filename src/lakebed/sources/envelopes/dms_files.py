"""Files of AWS DMS: what their names tell, and how a CSV file without a header is laid out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from lakebed.errors import BatchError
from lakebed.sources.envelopes.given import NUMBER

# Options of Spark's reader that DMS's own defaults ask for; what the manifest says wins over them.
CSV_DEFAULTS = {"nullvalue": "NULL"}

_LOAD = r"(?:^|/)(?:SEGMENT[0-9]+_)?LOAD([0-9A-Fa-f]{1,15})(?:[^0-9A-Za-z][^/]*)?$"
_OPERATIONS = ("I", "U", "D")
_STAMP = r"(?:^|/)([0-9]{8}-[0-9]{9,})[^/]*$"


def load_counter(path: Column) -> Column:
    """The hexadecimal counter of a file of the first load, as a number; NULL for other files."""
    digits = F.regexp_extract(path, _LOAD, 1)
    return F.when(digits != "", F.conv(digits, 16, 10).try_cast(NUMBER))


def stamp(path: Column) -> Column:
    """The time in the name of a file of changes, as its text; NULL for other files."""
    found = F.regexp_extract(path, _STAMP, 1)
    return F.when(found != "", found)


def stamp_time(path: Column) -> Column:
    """The same as a time, to the millisecond."""
    return F.try_to_timestamp(F.substring(stamp(path), 1, 18), F.lit("yyyyMMdd-HHmmssSSS"))


@dataclass(frozen=True)
class Layout:
    """The columns of a CSV file in their order, and whether its first record is a header that says so."""

    names: tuple[str, ...]
    header: bool


def is_load(path: str) -> bool:
    """Whether a file is one of a first load, by its name."""
    return re.search(_LOAD, path) is not None


def csv_layout(
    first: Sequence[str],
    declared: Sequence[str],
    operation: str,
    *,
    header: bool | None,
    where: str,
    of_changes: bool = False,
) -> Layout:
    """How a file is laid out, told by its first record. `of_changes`: by its name it is none of a first load.

    A header is known by its names, the operation's or all those declared, unless `header` says whether there is one. Without one, the columns are the declared
    ones in their order, after the operation where the file has one more value than that: files of a first load have none.
    """
    names = tuple(name.strip() for name in first)
    if header is None:
        there = {name.lower() for name in names}
        header = operation.lower() in there or all(name.lower() in there for name in declared)
    if header:
        return Layout(names, header=True)
    surplus = len(first) - len(declared)
    lacks_one = surplus == 0 and of_changes and first[0].strip() in _OPERATIONS
    if surplus not in (0, 1) or lacks_one:  # or the operation would be taken for the first column
        raise BatchError(
            f"the first record has {len(first)} values; {len(declared)} columns are declared, and the operation may be one more",
            code="missing_columns",
            where=where,
            hint="declare every column that the files have, in their order, those that DMS adds included",
        )
    return Layout((*([operation] if surplus else []), *declared), header=False)
