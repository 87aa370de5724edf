"""Where a change stands in its database's log, as numbers, and when it was made.

Text positions are never compared as text: the number of a MySQL log file outgrows its digits, and an Oracle SCN has no
fixed width. Which rule holds is told by the fields that a message has:

| fields | the source | order |
|---|---|---|
| commit_lsn, change_lsn | SQL Server, Db2 | commit_lsn, change_lsn, event_serial_no |
| file, pos | MySQL, MariaDB | number of the file, pos, row |
| scn | Oracle | commit_scn, scn, rs_id with ssn |
| lsn | PostgreSQL | the last commit's LSN (from `sequence`), lsn |
| ord | MongoDB | ts_ms, ord |
| none of these | any | source time, else the message's time; file, place in the file |

PostgreSQL writes its log in the order of changes and Debezium reads it in the order of commits, so `lsn` alone runs
backwards where transactions overlap; together with the commit before it, it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.manifest.envelopes import ORDER, TIME
from lakebed.sources.envelopes.debezium_messages import LETTER, of_message, of_source
from lakebed.sources.envelopes.given import NUMBER, arrival, path_of, place, place_in_file

_HEX_DIGITS = 16
_NANOS = {"ts_ns": 1, "ts_us": 1000, "ts_ms": 1_000_000}
_AT, _PLACE = "_lb_d_at", "_lb_d_place"


def with_position(rows: DataFrame) -> DataFrame:
    """`rows` with the columns of `ORDER`, none of them NULL, and `TIME`. Needs the parts of the messages."""
    read = rows.withColumn(_AT, F.coalesce(_nanos(of_source), _nanos(of_message)))
    read = read.withColumn(_PLACE, _place(read))
    micros = F.floor(F.try_divide(_AT, F.lit(1000))).try_cast("bigint")
    time = F.coalesce(F.timestamp_micros(micros), arrival(rows))
    placed = {name: F.col(_PLACE).getField(name) for name in ORDER[1:]}
    return read.withColumns({ORDER[0]: _phase(), TIME: time, **placed}).drop(_AT, _PLACE)


def _of(name: str) -> Column:
    return F.col(of_source(name))


def _number(name: str) -> Column:
    return F.trim(_of(name)).try_cast(NUMBER)


def _nanos(column: Callable[[str], str]) -> Column:
    """The finest time there is. Zero is no time: a MySQL snapshot has it."""

    def times(name: str, factor: int) -> Column:
        number = F.col(column(name)).try_cast("decimal(20,0)")
        return F.when(number > 0, F.try_multiply(number, F.lit(factor)))

    return F.coalesce(*[times(name, factor).try_cast(NUMBER) for name, factor in _NANOS.items()])


def _phase() -> Column:
    """0 for rows of a snapshot, which come before all changes. Those of an incremental snapshot are read amid the
    changes, and have a position of their own."""
    snapshot = F.coalesce(F.lower(_of("snapshot")), F.lit("false"))
    read = F.coalesce(F.col(LETTER) == "r", F.lit(False)) & (snapshot != "incremental")
    return F.when(~snapshot.isin("false", "incremental") | read, F.lit(0)).otherwise(F.lit(1))


def _place(rows: DataFrame) -> Column:
    """The four parts after the phase."""
    file = F.regexp_extract(_of("file"), r"\.([0-9]+)$", 1).try_cast(NUMBER)
    scn, lsn, nanos = _number("scn"), _number("lsn"), F.col(_AT)
    before = F.trim(F.get(F.from_json(_of("sequence"), "array<string>"), 0)).try_cast(NUMBER)
    redo = F.try_add(F.try_multiply(place(_hex("rs_id")), F.lit(2**32).cast(NUMBER)), place(_of("ssn")))
    return F.coalesce(
        F.when(
            _of("change_lsn").isNotNull(),
            _known(_hex("commit_lsn"), _hex("change_lsn"), _of("event_serial_no")),
        ),
        F.when(_of("file").isNotNull(), _known(file, _number("pos"), _of("row"))),
        F.when(scn.isNotNull(), _parts(F.coalesce(_number("commit_scn"), scn), scn, redo)),
        F.when(lsn.isNotNull(), _parts(F.coalesce(before, lsn), lsn, None)),
        F.when(_of("ord").isNotNull(), _known(nanos, _number("ord"), None)),
        _parts(nanos, place_in_file(rows), None, path_of(rows)),
    )


def _known(major: Column, minor: Column, rest: Column | None) -> Column:
    return F.when(major.isNotNull() & minor.isNotNull(), _parts(major, minor, rest))


def _parts(major: Column, minor: Column, rest: Column | None, file: Column | None = None) -> Column:
    values = (place(major), F.lit("") if file is None else file, place(minor), place(rest))
    return F.struct(*[value.alias(name) for value, name in zip(values, ORDER[1:], strict=True)])


def _hex(name: str) -> Column:
    """Hexadecimal digits, whatever stands between them, as one number: 00000027:00000ac0:0002. Of Db2 there are 32, of which the first
    are zeros; more, or a number beyond NUMBER, is none."""
    found = F.regexp_replace(_of(name), "[^0-9A-Fa-f]", "")
    digits = F.when(F.length(found) <= 2 * _HEX_DIGITS, F.lpad(found, 2 * _HEX_DIGITS, "0"))
    high, low = (
        F.conv(F.substring(digits, start, _HEX_DIGITS), 16, 10).try_cast("decimal(20,0)")
        for start in (1, _HEX_DIGITS + 1)
    )
    whole = F.try_add(F.try_multiply(high, F.lit(Decimal(16**_HEX_DIGITS)).cast("decimal(20,0)")), low)
    return F.when(F.length(_of(name)) > 0, whole.try_cast(NUMBER))
