"""Days, moments and times of day as Debezium writes them: whole numbers of a unit that the schema names, or text."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F

_CONNECT = "org.apache.kafka.connect.data"
_UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "d": 86_400_000_000_000}
_DAYS = ("io.debezium.time.Date", f"{_CONNECT}.Date")
_MOMENTS = {
    "io.debezium.time.Timestamp": "ms",
    f"{_CONNECT}.Timestamp": "ms",
    "io.debezium.time.MicroTimestamp": "us",
    "io.debezium.time.NanoTimestamp": "ns",
    **dict.fromkeys(_DAYS, "d"),
}
_TIMES_OF_DAY = {
    "io.debezium.time.Time": "ms",
    f"{_CONNECT}.Time": "ms",
    "io.debezium.time.MicroTime": "us",
    "io.debezium.time.NanoTime": "ns",
}
_WHOLE = r"^[+-]?[0-9]+$"
_WITH_DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
# PostgreSQL's infinity, as Debezium gives it, and the moments that stand for it: the first and last that tables can hold.
_INFINITY, _MINUS_INFINITY = "9223372036825200000", "-9223372036832400000"
_FIRST, _LAST = -62_135_596_800_000_000, 253_402_300_799_999_999
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
_LONGEST_TIME = 10**15


def unit_nanos(meaning: Column, declared: str | None = None) -> Column:
    """How many nanoseconds the unit of a moment has: as the schema says, else as declared; NULL where nothing tells."""
    told = _looked_up(meaning, _MOMENTS)
    return F.coalesce(told, F.lit(_UNITS[declared]).cast("decimal(15,0)")) if declared else told


def moment(text: Column, nanos: Column) -> Column:
    """A timestamp: a number of units since 1970, or a text with its day; a number without a unit is none."""
    micros = _micros(text, nanos)
    ends = F.when(text == _INFINITY, F.lit(_LAST)).when(text == _MINUS_INFINITY, F.lit(_FIRST))
    kept = F.coalesce(ends, F.when(micros.between(_FIRST, _LAST), micros))
    zoned = F.when(text.rlike(_WITH_DAY), text.try_cast("timestamp"))
    return F.when(text.rlike(_WHOLE), F.timestamp_micros(kept)).otherwise(zoned)


def day(text: Column, meaning: Column) -> Column:
    """A date: a number of days since 1970 unless the schema says that it is a moment, or a text."""
    days = text.try_cast("int")
    counted = F.date_from_unix_date(F.when(days.between(_FIRST_DAY, _LAST_DAY), days))
    is_day = F.coalesce(meaning.isin(*_DAYS), F.lit(True))
    of_moment = moment(text, unit_nanos(meaning)).cast("date")
    return F.when(text.rlike(_WHOLE) & is_day, counted).otherwise(of_moment)


def readable(pairs: Column) -> Column:
    """An array of meanings and texts → an array of texts, with days and times as people write them."""

    def one_of(pair: Column) -> Column:
        meaning, text = pair.getField("meaning"), pair.getField("text")
        time = _time_of_day(_micros(text, _looked_up(meaning, _TIMES_OF_DAY)))
        return (
            F.when(meaning.isNull(), text)
            .when(meaning.isin(*_DAYS), day(text, meaning).cast("string"))
            .when(meaning.isin(*_MOMENTS), moment(text, unit_nanos(meaning)).cast("string"))
            .when(meaning.isin(*_TIMES_OF_DAY), time)
            .otherwise(text)
        )

    return F.transform(pairs, one_of)


def _looked_up(meaning: Column, units: Mapping[str, str]) -> Column:
    known = F.create_map(
        *[
            literal
            for name, unit in units.items()
            for literal in (F.lit(name), F.lit(_UNITS[unit]).cast("decimal(15,0)"))
        ]
    )
    return F.try_element_at(known, meaning)


def _micros(text: Column, nanos: Column) -> Column:
    total = F.try_multiply(text.try_cast("decimal(20,0)"), nanos)
    return F.floor(F.try_divide(total, F.lit(1000))).try_cast("bigint")


def _time_of_day(micros: Column) -> Column:
    """HH:MM:SS.ffffff; MySQL's may be negative or have more than 24 hours."""
    size = F.abs(F.when(micros.between(-_LONGEST_TIME, _LONGEST_TIME), micros))
    parts = [
        F.floor(size / F.lit(3_600_000_000)),
        F.floor(size / F.lit(60_000_000)) % 60,
        F.floor(size / F.lit(1_000_000)) % 60,
        size % 1_000_000,
    ]
    sign = F.when(micros < 0, F.lit("-")).otherwise(F.lit(""))
    return F.when(size.isNotNull(), F.format_string("%s%02d:%02d:%02d.%06d", sign, *parts))
