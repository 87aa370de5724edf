"""One value of a Debezium message in the type that its column is declared in.

What a value means is told by the embedded schema where there is one (`io.debezium.time.MicroTimestamp` …), else by the
declared type and the envelope's options. Everything here gives NULL where the value does not fit.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DateType,
    DecimalType,
    MapType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from lakebed.manifest import Debezium
from lakebed.sources.envelopes.debezium_messages import FIELD_NAMES, FIELDS, NAMES, VALUES, is_text, text
from lakebed.sources.envelopes.nested import lost, nested_value

_CONNECT = "org.apache.kafka.connect.data"
_DECIMAL = f"{_CONNECT}.Decimal"
_DAYS = ("io.debezium.time.Date", f"{_CONNECT}.Date")
_MOMENTS = {
    "io.debezium.time.Timestamp": "ms",
    f"{_CONNECT}.Timestamp": "ms",
    "io.debezium.time.MicroTimestamp": "us",
    "io.debezium.time.NanoTimestamp": "ns",
}
_TIMES_OF_DAY = {
    "io.debezium.time.Time": "ms",
    f"{_CONNECT}.Time": "ms",
    "io.debezium.time.MicroTime": "us",
    "io.debezium.time.NanoTime": "ns",
}
# How MongoDB marks values; the last is a number of milliseconds.
_MONGO = ("$oid", "$numberLong", "$numberInt", "$numberDouble", "$numberDecimal", "$date")
_MONGO_DATE = "io.debezium.time.Timestamp"
_ENCODED = "struct<scale:int,value:string>"
_DAY_MICROS = 86_400_000_000
_WHOLE = r"^[+-]?[0-9]+$"
# PostgreSQL's infinity, as Debezium gives it, and the moments that stand for it: the first and last that tables can hold.
_INFINITY = ("9223372036825200000", "-9223372036832400000")
_FIRST, _LAST = -62_135_596_800_000_000, 253_402_300_799_999_999


@dataclass(frozen=True)
class Value:
    """A declared column and what a message has for it. `seen()` makes the columns that the rest refers to: the variant,
    its text, what the schema says it means, and whether it is there at all."""

    column: StructField
    place: int
    envelope: Debezium

    def seen(self) -> dict[str, Column]:
        """First step: where the value is. Needs the parts of the message."""
        at = F.array_position(F.col(NAMES), self.column.name.lower()).cast("int")
        by = F.array_position(F.col(FIELD_NAMES), self.column.name.lower()).cast("int")
        return {
            self._name("variant"): F.get(F.col(VALUES), at - 1),
            self._name("known"): F.coalesce(at > 0, F.lit(False)),
            self._name("field"): F.get(F.col(FIELDS), by - 1),
        }

    def understood(self) -> dict[str, Column]:
        """Second step: its text and its meaning. MongoDB says of a value in the value itself what it is."""
        marked = F.schema_of_variant(self.variant).rlike("^OBJECT<.?[$]")
        inner = [F.try_variant_get(self.variant, f"$['{name}']", "string") for name in _MONGO]
        date = F.when(marked & inner[-1].isNotNull(), F.lit(_MONGO_DATE))
        return {
            self._name("text"): F.when(marked, F.coalesce(*inner)).otherwise(text(self.variant)),
            self._name("meaning"): F.coalesce(self.field.getField("name"), date),
        }

    def _name(self, what: str) -> str:
        return f"_lb_d_{what}{self.place}"

    @property
    def variant(self) -> Column:
        return F.col(self._name("variant"))

    @property
    def known(self) -> Column:
        return F.col(self._name("known"))

    @property
    def field(self) -> Column:
        return F.col(self._name("field"))

    @property
    def text(self) -> Column:
        return F.col(self._name("text"))

    @property
    def meaning(self) -> Column:
        return F.col(self._name("meaning"))

    @property
    def kind(self) -> DataType:
        return self.column.dataType

    @property
    def takes_numbers(self) -> bool:
        """Whether an encoded decimal may come for the declared type."""
        return isinstance(self.kind, (NumericType, StringType))

    def encoded(self) -> Column:
        """A decimal that came as bytes in base64: these and its scale; NULL for any other value.

        With a schema its name tells. Without one, a text in a column declared as decimal is taken for such bytes, unless
        `decimals` says otherwise, and the declared scale for the source's. A JSON number is never one.
        """
        is_object = F.schema_of_variant(self.variant).startswith("OBJECT")
        pair = F.try_variant_get(F.when(is_object, self.variant), "$", _ENCODED)
        scale = F.try_element_at(self.field.getField("parameters"), F.lit("scale")).try_cast("int")
        bare = F.when(is_text(self.variant) & (self.meaning == _DECIMAL), _pair(scale, self.text))
        if isinstance(self.kind, DecimalType) and self.envelope.decimals == "precise":
            unnamed = is_text(self.variant) & self.field.isNull()
            bare = F.coalesce(bare, F.when(unnamed, _pair(F.lit(self.kind.scale), self.text)))
        return F.coalesce(F.when(pair.getField("value").isNotNull(), pair), bare)

    def decoded(self, number: Column) -> Column:
        """The value in the declared type. `number` is its text, decoded where it came encoded."""
        if isinstance(self.kind, DateType):
            days = F.date_from_unix_date(self.text.try_cast("int"))
            by_day = self.meaning.isNull() | self.meaning.isin(*_DAYS)
            whole = F.when(by_day, days).otherwise(self._moment().cast("date"))
            return F.when(self.text.rlike(_WHOLE), whole).otherwise(self.text.try_cast("date"))
        if isinstance(self.kind, (TimestampType, TimestampNTZType)):
            return self._moment().cast(self.kind)
        if isinstance(self.kind, BinaryType):
            return F.try_to_binary(self.text, F.lit("base64"))
        if isinstance(self.kind, (ArrayType, MapType, StructType)):
            return nested_value(self.variant, self.kind)
        if isinstance(self.kind, StringType):
            return self._readable(number)
        return number.try_cast(self.kind)

    def unfit(self, decoded: Column) -> Column:
        """Whether there is a value that the declared type cannot hold."""
        if isinstance(self.kind, (ArrayType, MapType, StructType)):
            return lost(self.variant, self.kind)
        return self.text.isNotNull() & decoded.isNull()

    def _moment(self) -> Column:
        """A moment: a number of some unit since 1970, or a text with its day."""
        unit = _chosen(self.meaning, {**_MOMENTS, **dict.fromkeys(_DAYS, "d")})
        declared = self.envelope.unit(self.column.name)
        unit = F.coalesce(unit, F.lit(declared)) if declared else unit
        micros = _micros(self.text, unit)
        ends = F.when(self.text == _INFINITY[0], F.lit(_LAST)).when(self.text == _INFINITY[1], F.lit(_FIRST))
        kept = F.coalesce(ends, F.when(micros.between(_FIRST, _LAST), micros))
        zoned = F.when(self.text.rlike(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"), self.text.try_cast("timestamp"))
        return F.when(self.text.rlike(_WHOLE), F.timestamp_micros(kept)).otherwise(zoned)

    def _readable(self, number: Column) -> Column:
        """Text; where the schema tells that a number is a day or a time, as people write it."""
        day = F.date_from_unix_date(self.text.try_cast("int")).cast("string")
        time = _time_of_day(_micros(self.text, _chosen(self.meaning, _TIMES_OF_DAY)))
        return (
            F.when(self.meaning.isin(*_DAYS), day)
            .when(self.meaning.isin(*_MOMENTS), self._moment().cast("string"))
            .when(self.meaning.isin(*_TIMES_OF_DAY), time)
            .otherwise(number)
        )


def _pair(scale: Column, value: Column) -> Column:
    return F.struct(scale.alias("scale"), value.alias("value"))


def _chosen(sense: Column, units: dict[str, str]) -> Column:
    """The unit that a type's name stands for."""
    unit = F.lit(None).cast("string")
    for name, one in units.items():
        unit = F.when(sense == name, F.lit(one)).otherwise(unit)
    return unit


def _micros(value: Column, unit: Column) -> Column:
    number = value.try_cast("decimal(38,0)")
    return (
        F.when(unit == "us", number)
        .when(unit == "ms", F.try_multiply(number, F.lit(1000)))
        .when(unit == "ns", F.floor(number / F.lit(1000)))
        .when(unit == "d", F.try_multiply(number, F.lit(_DAY_MICROS)))
        .try_cast("bigint")
    )


def _time_of_day(micros: Column) -> Column:
    """HH:MM:SS.ffffff; MySQL's may be negative or have more than 24 hours."""
    size = F.abs(micros)
    parts = [
        F.floor(size / F.lit(3_600_000_000)),
        F.floor(size / F.lit(60_000_000)) % 60,
        F.floor(size / F.lit(1_000_000)) % 60,
        size % 1_000_000,
    ]
    sign = F.when(micros < 0, F.lit("-")).otherwise(F.lit(""))
    return F.when(micros.isNotNull(), F.format_string("%s%02d:%02d:%02d.%06d", sign, *parts))
