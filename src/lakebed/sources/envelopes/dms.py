"""Rows of AWS DMS's files → changes: first-load rows before all others, then I, U, D in the order of the source.

The order of changes is the change sequence where one is declared, else the timestamp, the file's own time and the place
in the file. Rows of a first load go by the counter of their file.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.history.columns import BAD, RAW, as_json, as_one, col, find, internal
from lakebed.manifest import Dms
from lakebed.manifest.envelopes import DELETE, OPERATION, ORDER, TIME, UPSERT
from lakebed.sources.envelopes.dms_files import load_counter, stamp, stamp_time
from lakebed.sources.envelopes.given import (
    ARRIVED,
    NUMBER,
    UNKNOWN_OPERATION,
    Given,
    arrival,
    mark,
    path_of,
    place,
    place_in_file,
)

_COUNTER = "_lb_dms_counter"


def with_operation(rows: DataFrame, envelope: Dms) -> DataFrame:
    """Rows of one file, with the operation column; a file that has none holds rows of a first load, or inserts only."""
    if find(envelope.operation, rows.columns):
        return rows
    return rows.withColumn(envelope.operation, F.lit("I"))


def changes(rows: DataFrame, envelope: Dms, given: Given) -> DataFrame:  # noqa: ARG001 - as every envelope
    """The rows without DMS's operation column, with the columns of an envelope. A row of a first load may lack its
    operation; any other row is then bad."""
    rows = with_operation(rows, envelope)
    counted = rows.withColumn(_COUNTER, load_counter(path_of(rows)))
    named = find(envelope.operation, rows.columns)
    assert named is not None
    operation = _operation(named)
    bad = F.coalesce(mark(rows, BAD, "string"), F.when(operation.isNull(), F.lit(UNKNOWN_OPERATION)))
    data = [name for name in rows.columns if not internal(name)]
    text = as_json(as_one(data), nulls=False)
    added = {
        OPERATION: operation,
        TIME: F.coalesce(_timestamp(rows, envelope), stamp_time(path_of(rows)), arrival(rows)),
        **dict(zip(ORDER, _order(rows, envelope), strict=True)),
        BAD: bad,
        RAW: F.when(bad.isNotNull(), F.coalesce(mark(rows, RAW, "string"), text)),
    }
    return counted.withColumns(added).drop(_COUNTER, ARRIVED, named)


def _operation(named: str) -> Column:
    letter = F.upper(F.trim(col(named)))
    loaded = F.col(_COUNTER).isNotNull() & letter.isNull()
    return F.when(letter.isin("I", "U") | loaded, F.lit(UPSERT)).when(letter == "D", F.lit(DELETE))


def _timestamp(rows: DataFrame, envelope: Dms) -> Column:
    """The column that `TimestampColumnName` adds, text or time; NULL where there is none."""
    named = find(envelope.timestamp, rows.columns) if envelope.timestamp else None
    if named is None:
        return F.lit(None).cast("timestamp")
    text = col(named).cast("string")
    return F.when(text.rlike(r"^[0-9]{4}-"), text.try_cast("timestamp"))


def _order(rows: DataFrame, envelope: Dms) -> list[Column]:
    """The five parts of `ORDER`. A declared sequence or timestamp that a change lacks leaves its order NULL: a bad row."""
    load, path, zero = F.col(_COUNTER).isNotNull(), path_of(rows), place()
    if envelope.sequence:
        named = find(envelope.sequence, rows.columns)
        major = F.trim(col(named)).try_cast(NUMBER) if named else F.lit(None).cast(NUMBER)
        file, minor = F.lit(""), zero
    else:
        micros = F.unix_micros(_timestamp(rows, envelope)).cast(NUMBER)
        major = micros if envelope.timestamp else zero
        file, minor = F.coalesce(stamp(path), path), place_in_file(rows)
    return [
        F.when(load, F.lit(0)).otherwise(F.lit(1)),
        F.when(load, F.col(_COUNTER)).otherwise(major),
        F.when(load, path).otherwise(file),
        F.when(load, place_in_file(rows)).otherwise(minor),
        zero,
    ]
