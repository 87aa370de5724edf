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
from lakebed.sources.declared import unrounded
from lakebed.sources.envelopes.debezium_messages import FIELD_NAMES, FIELDS, NAMES, VALUES
from lakebed.sources.envelopes.debezium_times import day, moment, unit_nanos
from lakebed.sources.envelopes.nested import lost, nested_value

_DECIMAL = "org.apache.kafka.connect.data.Decimal"
# How MongoDB marks values; the last is a number of milliseconds.
_MONGO = ("$oid", "$numberLong", "$numberInt", "$numberDouble", "$numberDecimal", "$date")
_MONGO_DATE = "io.debezium.time.Timestamp"
_PAIR = "struct<scale:int,value:string>"


@dataclass(frozen=True)
class Value:
    """A declared column and what a message has for it. The steps make columns, one after the other, and the later ones
    refer to them: all of the columns that a table has would else be one expression too big to plan."""

    column: StructField
    place: int
    envelope: Debezium

    def _name(self, what: str) -> str:
        return f"_lb_d_{what}{self.place}"

    def _part(self, what: str) -> Column:
        return F.col(self._name(what))

    @property
    def variant(self) -> Column:
        return self._part("variant")

    @property
    def known(self) -> Column:
        """Whether the message has the column at all."""
        return self._part("known")

    @property
    def text(self) -> Column:
        """A text's content, a number's digits, the JSON of anything nested; NULL for null."""
        return self._part("text")

    @property
    def meaning(self) -> Column:
        """The name of the value's type in the embedded schema; NULL where there is none."""
        return self._part("meaning")

    @property
    def kind(self) -> DataType:
        return self.column.dataType

    @property
    def is_text(self) -> bool:
        return isinstance(self.kind, StringType)

    @property
    def takes_numbers(self) -> bool:
        """Whether an encoded decimal may come for the declared type."""
        return isinstance(self.kind, (NumericType, StringType))

    def seen(self) -> dict[str, Column]:
        """First step: where the value is. Needs the parts of the message."""
        at = F.array_position(F.col(NAMES), self.column.name.lower()).cast("int")
        by = F.array_position(F.col(FIELD_NAMES), self.column.name.lower()).cast("int")
        return {
            self._name("variant"): F.get(F.col(VALUES), at - 1),
            self._name("known"): F.coalesce(at > 0, F.lit(False)),
            self._name("field"): F.get(F.col(FIELDS), by - 1),
        }

    def typed(self) -> dict[str, Column]:
        """Second step: what JSON says that it is."""
        return {self._name("type"): F.schema_of_variant(self.variant)}

    def understood(self) -> dict[str, Column]:
        """Third step: its text and its meaning. MongoDB says of a value in the value itself what it is."""
        marked = F.coalesce(F.substring(self._part("type"), 1, 9) == "OBJECT<`$", F.lit(False))
        parts = F.try_variant_get(
            F.when(marked, self.variant), "$", f"struct<{','.join(f'`{name}`:string' for name in _MONGO)}>"
        )
        inner = F.coalesce(*[parts.getField(name) for name in _MONGO])
        date = F.when(parts.getField("$date").isNotNull(), F.lit(_MONGO_DATE))
        whole = F.try_variant_get(self.variant, "$", "string")
        return {
            self._name("text"): F.when(marked, inner).otherwise(whole),
            self._name("meaning"): F.coalesce(self._part("field").getField("name"), date),
        }

    def encoded(self) -> Column:
        """A decimal that came as bytes in base64: these and its scale; NULL for any other value.

        With a schema its name tells. Without one, a text in a column declared as decimal is taken for such bytes, unless
        `decimals` says otherwise, and the declared scale for the source's. A JSON number is never one.
        """
        field, kind = self._part("field"), self._part("type")
        pair = F.try_variant_get(F.when(kind.startswith("OBJECT"), self.variant), "$", _PAIR)
        scale = F.try_element_at(field.getField("parameters"), F.lit("scale")).try_cast("int")
        named = (kind == "STRING") & (self.meaning == _DECIMAL)
        bare = F.when(named, _pair(scale, self.text))
        if isinstance(self.kind, DecimalType) and self.envelope.decimals == "precise":
            unnamed = (kind == "STRING") & field.isNull()
            bare = bare.when(unnamed, _pair(F.lit(self.kind.scale), self.text))
        return F.coalesce(F.when(pair.getField("value").isNotNull(), pair), bare)

    def decoded(self, plain: Column) -> Column:
        """The value in the declared type. `plain` is its text, made readable where it was a code."""
        if isinstance(self.kind, DateType):
            return day(self.text, self.meaning)
        if isinstance(self.kind, (TimestampType, TimestampNTZType)):
            declared = self.envelope.unit(self.column.name)
            return moment(self.text, unit_nanos(self.meaning, declared)).cast(self.kind)
        if isinstance(self.kind, BinaryType):
            return F.try_to_binary(self.text, F.lit("base64"))
        if isinstance(self.kind, (ArrayType, MapType, StructType)):
            return nested_value(self.variant, self.kind)
        if isinstance(self.kind, DecimalType):
            return F.when(~self._could_be_both(), unrounded(plain, self.kind))
        return plain.try_cast(self.kind)

    def _could_be_both(self) -> Column:
        """Digits alone are a whole number as people write it, and bytes in base64 as well: where neither a schema nor the manifest
        tells which, it is for nobody to guess."""
        if "decimals" in self.envelope.model_fields_set:
            return F.lit(False)
        bare = (self._part("type") == "STRING") & self._part("field").isNull()
        return F.coalesce(bare & self.text.rlike("^[0-9]+$"), F.lit(False))

    def unfit(self, decoded: Column) -> Column:
        """Whether there is a value that the declared type cannot hold."""
        if isinstance(self.kind, (ArrayType, MapType, StructType)):
            return lost(self.variant, self.kind)
        return self.text.isNotNull() & decoded.isNull()


def _pair(scale: Column, value: Column) -> Column:
    return F.struct(scale.alias("scale"), value.alias("value"))
