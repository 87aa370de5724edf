"""Debezium's messages as text → their parts: the row image, the operation, the source's block, the embedded schema.

JSON is read as variants: numbers keep their digits, and whether a value was a text or a number is still known. A line
must be one whole JSON object: what is torn, or followed by anything else, is unreadable.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.history.columns import FROM_SOURCE, RAW, col
from lakebed.manifest import Debezium
from lakebed.manifest.envelopes import DELETE, IGNORE, TRUNCATE, UPSERT

_OBJECT = "map<string,variant>"
_FIELD = "field:string,name:string,parameters:map<string,string>"
_SCHEMA = f"struct<fields:array<struct<{_FIELD},fields:array<struct<{_FIELD}>>>>>"

_WHOLE, _MESSAGE, _IMAGE, _ALL_FIELDS = "_lb_d_whole", "_lb_d_message", "_lb_d_image", "_lb_d_all_fields"
BODY = "_lb_d_body"
NESTED = "_lb_d_nested"
SOURCE = "_lb_d_source"
LETTER = "_lb_d_letter"
KIND = "_lb_d_kind"
UNREAD = "_lb_d_unread"
# The row image: lower-cased names and values; the fields of the embedded schema, if any: lower-cased names and facts.
NAMES, VALUES = "_lb_d_names", "_lb_d_values"
FIELD_NAMES, FIELDS = "_lb_d_field_names", "_lb_d_fields"
PARTS = (BODY, NESTED, SOURCE, LETTER, KIND, UNREAD, NAMES, VALUES, FIELD_NAMES, FIELDS)

_KINDS = {"c": UPSERT, "u": UPSERT, "r": UPSERT, "d": DELETE, "t": TRUNCATE, "m": IGNORE}


def as_messages(rows: DataFrame) -> DataFrame:
    """Rows that carry their text already, or columns turned into the same JSON."""
    data = [name for name in rows.columns if name not in FROM_SOURCE]
    if not data:
        return rows
    row = F.struct(*[col(name).alias(name) for name in data])
    return rows.withColumn(RAW, F.to_json(row, {"ignoreNullFields": "false"})).drop(*data)


def text(value: Column) -> Column:
    """A variant as text: a JSON text's content, a number's digits, the JSON of anything nested; NULL for null."""
    return F.try_variant_get(value, "$", "string")


def is_text(value: Column) -> Column:
    return F.schema_of_variant(value) == "STRING"


def part(whole: str, name: str) -> Column:
    """A member of an object, as a variant; NULL where it is not there."""
    return F.try_element_at(F.col(whole), F.lit(name))


def with_parts(rows: DataFrame, envelope: Debezium) -> DataFrame:
    """`rows` and the columns of `PARTS`. NULL in the kind is an unknown operation; `UNREAD` means that the text is no
    message at all."""
    listed = F.from_json(F.concat(F.lit("["), F.col(RAW), F.lit("]")), f"array<{_OBJECT}>")
    read = rows.withColumn(_WHOLE, listed)
    read = read.withColumn(_MESSAGE, F.when(F.size(_WHOLE) == 1, F.get(F.col(_WHOLE), 0))).drop(_WHOLE)
    wrapped = F.array_sort(F.map_keys(_MESSAGE)) == F.array(F.lit("payload"), F.lit("schema"))
    payload = part(_MESSAGE, "payload")
    body = F.when(wrapped, _object(payload)).otherwise(F.col(_MESSAGE))
    empty = F.trim(F.col(RAW)).isin("", "null") | F.col(RAW).isNull() | (wrapped & text(payload).isNull())
    read = read.withColumns(
        {
            BODY: body,
            "_lb_d_empty": F.coalesce(empty, F.lit(False)),
            _ALL_FIELDS: F.try_variant_get(F.when(wrapped, part(_MESSAGE, "schema")), "$", _SCHEMA).getField(
                "fields"
            ),
        }
    ).drop(_MESSAGE)
    read = read.withColumn(NESTED, _nested(envelope))
    read = read.withColumns({SOURCE: _object(part(BODY, "source")), LETTER: _letter(envelope)})
    ignored = F.col("_lb_d_empty") | _is_marker()
    kind = F.when(ignored, F.lit(IGNORE)).otherwise(_kind())
    read = read.withColumns({KIND: kind, _IMAGE: _image()})
    lost = F.col(BODY).isNull() | ((F.col(KIND) == UPSERT) & F.col(_IMAGE).isNull())
    return read.withColumns(
        {
            UNREAD: ~ignored & F.coalesce(lost, F.lit(False)),
            NAMES: F.transform(F.map_keys(_IMAGE), F.lower),
            VALUES: F.map_values(_IMAGE),
            **_fields(),
        }
    ).drop(_IMAGE, _ALL_FIELDS, "_lb_d_empty")


def _object(value: Column) -> Column:
    return F.try_variant_get(value, "$", _OBJECT)


def _has(name: str) -> Column:
    return F.coalesce(F.map_contains_key(F.col(BODY), name), F.lit(False))


def _nested(envelope: Debezium) -> Column:
    """Whether the message has the envelope around its row, or is the row itself (flattened)."""
    if envelope.form != "auto":
        return F.lit(envelope.form == "nested")
    around = _has("source") | _has("before") | _has("after")
    return (_has("op") & around) | (_has("source") & _has("after"))


def _letter(envelope: Debezium) -> Column:
    """The operation's letter. A flattened row without one is an upsert, unless it says that it is deleted."""
    deleted = F.lower(text(part(BODY, f"{envelope.prefix}deleted"))) == "true"
    flat = F.when(deleted, F.lit("d")).otherwise(
        F.coalesce(text(part(BODY, f"{envelope.prefix}op")), F.lit("u"))
    )
    return F.when(F.col(NESTED), text(part(BODY, "op"))).otherwise(flat)


def _kind() -> Column:
    pairs = list(_KINDS.items())
    kind = F.when(F.col(LETTER) == pairs[0][0], F.lit(pairs[0][1]))
    for letter, word in pairs[1:]:
        kind = kind.when(F.col(LETTER) == letter, F.lit(word))
    return kind


def _is_marker() -> Column:
    """The beginning or the end of a transaction: a message of its own, not a row that happens to have a `status`."""
    known = F.array(*[F.lit(name) for name in ("status", "id", "ts_ms", "event_count", "data_collections")])
    odd = F.size(F.array_except(F.map_keys(BODY), known)) > 0
    all_there = _has("status") & _has("event_count") & _has("data_collections")
    return all_there & ~odd & F.coalesce(text(part(BODY, "status")).isin("BEGIN", "END"), F.lit(False))


def _image() -> Column:
    """The row after an upsert, before a delete. MongoDB's is a text that holds the JSON."""
    before, after = part(BODY, "before"), part(BODY, "after")
    nested = F.when(F.col(LETTER) == "d", before).otherwise(after)
    inside = F.when(is_text(nested), F.try_parse_json(text(nested))).otherwise(nested)
    image = F.when(F.col(NESTED), _object(inside)).otherwise(F.col(BODY))
    return F.when(F.col(KIND).isin(UPSERT, DELETE), image)


def _fields() -> dict[str, Column]:
    """The embedded schema's fields of the row image."""
    after = F.filter(F.col(_ALL_FIELDS), lambda one: one.getField("field") == "after")
    inner = F.get(after, 0).getField("fields")
    outer = F.transform(
        F.col(_ALL_FIELDS),
        lambda one: F.struct(*[one.getField(name).alias(name) for name in ("field", "name", "parameters")]),
    )
    fields = F.when(F.col(NESTED), inner).otherwise(outer)
    return {
        FIELDS: fields,
        FIELD_NAMES: F.transform(fields, lambda one: F.lower(one.getField("field"))),
    }
