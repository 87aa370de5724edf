"""Debezium's messages as text → their parts: the row image, the operation, the source's block, the embedded schema.

JSON is read as variants: numbers keep their digits, and whether a value was a text or a number is still known. A line
must be one whole JSON object: what is torn, or followed by anything else, is unreadable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.history.columns import RAW, as_json, as_one, internal, quote_ident
from lakebed.manifest import Debezium
from lakebed.manifest.envelopes import DELETE, IGNORE, TRUNCATE, UPSERT

POSITION_FIELDS = (
    "snapshot", "file", "pos", "row", "lsn", "sequence", "commit_lsn", "change_lsn", "event_serial_no",
    "scn", "commit_scn", "rs_id", "ssn", "ord",
)  # fmt: skip
TIME_FIELDS = ("ts_ns", "ts_us", "ts_ms")

_OBJECT = "map<string,variant>"
_FIELD = "field:string,name:string,parameters:map<string,string>"
_SCHEMA = f"struct<fields:array<struct<{_FIELD},fields:array<struct<{_FIELD}>>>>>"

NESTED = "_lb_d_nested"
LETTER = "_lb_d_letter"
KIND = "_lb_d_kind"
UNREAD = "_lb_d_unread"
# The row image: lower-cased names and values; the fields of the embedded schema, if any: lower-cased names and facts.
NAMES, VALUES = "_lb_d_names", "_lb_d_values"
FIELD_NAMES, FIELDS = "_lb_d_field_names", "_lb_d_fields"
_MESSAGE, _SHELL, _BODY, _EMPTY, _IGNORED = (
    f"_lb_d_{name}" for name in ("message", "shell", "body", "empty", "ignored")
)
_PARTS, _FLAT, _IMAGE, _ALL_FIELDS = (f"_lb_d_{name}" for name in ("parts", "flat", "image", "all_fields"))

_KINDS = {"c": UPSERT, "u": UPSERT, "r": UPSERT, "d": DELETE, "t": TRUNCATE, "m": IGNORE}


def as_messages(rows: DataFrame) -> DataFrame:
    """Rows of one file that carry their text already, or columns turned into the same JSON: files may differ in a type somewhere inside."""
    data = [name for name in rows.columns if not internal(name)]
    if not data:
        return rows
    return rows.withColumn(RAW, as_json(as_one(data))).drop(*data)


def row_names(message: Mapping[str, Any], envelope: Debezium) -> list[str]:
    """The names of the columns in one message, as far as it has a row at all."""
    payload = message.get("payload")
    body = payload if isinstance(payload, dict) and "schema" in message else message
    if "status" in body and "event_count" in body:  # a transaction begins or ends
        return []
    around = "source" in body or "after" in body or "before" in body
    if envelope.form == "nested" or (envelope.form == "auto" and "op" in body and around):
        image = body.get("after") or body.get("before")
        return list(image) if isinstance(image, dict) else []
    return [name for name in body if not (envelope.prefix and name.startswith(envelope.prefix))]


def of_source(name: str) -> str:
    """The column with this field of the source's block, as text."""
    return f"_lb_d_source_{name}"


def of_message(name: str) -> str:
    """The column with this time of the message itself, as text."""
    return f"_lb_d_message_{name}"


def with_parts(rows: DataFrame, envelope: Debezium) -> DataFrame:
    """`rows` and the parts of their messages, under the names above. NULL in the kind is an unknown operation; `UNREAD`
    means that the text is no message at all."""
    read = _unwrapped(rows)
    read = read.withColumn(_PARTS, F.try_variant_get(_BODY, "$", _nested_type()))
    read = read.withColumn(NESTED, F.coalesce(_nested(envelope), F.lit(False)))
    flat = F.when(~F.col(NESTED), F.col(_BODY))
    read = read.withColumn(_FLAT, F.try_variant_get(flat, "$", _flat_type(envelope.prefix)))
    read = read.withColumns({LETTER: _letter(envelope.prefix), _IGNORED: F.col(_EMPTY) | _is_marker()})
    read = read.withColumn(KIND, F.when(F.col(_IGNORED), F.lit(IGNORE)).otherwise(_kind()))
    read = read.withColumn(_IMAGE, _image())
    lost = F.col(_PARTS).isNull() | ((F.col(KIND) == UPSERT) & F.col(_IMAGE).isNull())
    told = {
        UNREAD: ~F.col(_IGNORED) & F.coalesce(lost, F.lit(False)),
        NAMES: F.transform(F.map_keys(_IMAGE), F.lower),
        VALUES: F.map_values(_IMAGE),
        FIELDS: _fields(),
        **_source(envelope.prefix),
    }
    read = read.withColumns(told)
    read = read.withColumn(FIELD_NAMES, F.transform(FIELDS, lambda one: F.lower(one.getField("field"))))
    return read.drop(_BODY, _EMPTY, _IGNORED, _PARTS, _FLAT, _IMAGE, _ALL_FIELDS)


def _unwrapped(rows: DataFrame) -> DataFrame:
    """The message without the schema around it, which is kept beside."""
    listed = F.from_json(F.concat(F.lit("["), F.col(RAW), F.lit("]")), "array<variant>")
    read = rows.withColumn(_MESSAGE, listed)
    read = read.withColumn(_MESSAGE, F.when(F.size(_MESSAGE) == 1, F.get(_MESSAGE, 0)))
    read = read.withColumn(_SHELL, F.try_variant_get(_MESSAGE, "$", "struct<schema:variant,payload:variant>"))
    schema, payload = F.col(_SHELL).getField("schema"), F.col(_SHELL).getField("payload")
    both = schema.isNotNull() & payload.isNotNull()
    wrapped = F.when(both, F.size(F.try_variant_get(_MESSAGE, "$", _OBJECT)) == 2).otherwise(F.lit(False))
    read = read.withColumn(_EMPTY, wrapped)
    body = F.when(F.col(_EMPTY), payload).otherwise(F.col(_MESSAGE))
    fields = F.try_variant_get(F.when(F.col(_EMPTY), schema), "$", _SCHEMA).getField("fields")
    empty = F.coalesce(F.trim(F.col(RAW)), F.lit("")).isin("", "null")
    null = F.col(_EMPTY) & F.coalesce(F.is_variant_null(payload), F.lit(False))
    return read.withColumns({_BODY: body, _ALL_FIELDS: fields, _EMPTY: empty | null}).drop(_MESSAGE, _SHELL)


def _texts(names: Iterable[str]) -> str:
    return ",".join(f"{quote_ident(name)}:string" for name in dict.fromkeys(names))


def _nested_type() -> str:
    source = _texts((*POSITION_FIELDS, *TIME_FIELDS))
    members = "before:variant,after:variant,event_count:variant,data_collections:variant"
    return f"struct<{_texts(('op', 'status', *TIME_FIELDS))},{members},source:struct<{source}>>"


def _flat_type(prefix: str) -> str:
    fields = [f"{prefix}{place}{name}" for place in ("", "source_") for name in POSITION_FIELDS + TIME_FIELDS]
    return f"struct<{_texts((f'{prefix}op', f'{prefix}deleted', *fields))}>"


def _part(name: str) -> Column:
    return F.col(_PARTS).getField(name)


def _flat(name: str) -> Column:
    return F.col(_FLAT).getField(name)


def _nested(envelope: Debezium) -> Column:
    """Whether the message has the envelope around its row, or is the row itself (flattened)."""
    if envelope.form != "auto":
        return F.lit(envelope.form == "nested")
    source, after = _part("source").isNotNull(), _part("after").isNotNull()
    around = source | after | _part("before").isNotNull()
    return (_part("op").isNotNull() & around) | (source & after)


def _letter(prefix: str) -> Column:
    """The operation's letter. A flattened row without one is an upsert, unless it says that it is deleted."""
    deleted = F.lower(_flat(f"{prefix}deleted")) == "true"
    flat = F.when(deleted, F.lit("d")).otherwise(F.coalesce(_flat(f"{prefix}op"), F.lit("u")))
    return F.when(F.col(NESTED), _part("op")).otherwise(flat)


def _kind() -> Column:
    known = F.create_map(*[F.lit(text) for pair in _KINDS.items() for text in pair])
    return F.try_element_at(known, F.col(LETTER))


def _is_marker() -> Column:
    """The beginning or the end of a transaction: a message of its own, not a row that happens to have a `status`."""
    known = F.array(*[F.lit(name) for name in ("status", "id", "ts_ms", "event_count", "data_collections")])
    keys = F.map_keys(F.try_variant_get(_BODY, "$", _OBJECT))
    likely = _part("status").isin("BEGIN", "END") & _part("event_count").isNotNull()
    likely = likely & _part("data_collections").isNotNull()
    return F.when(likely, F.size(F.array_except(keys, known)) == 0).otherwise(F.lit(False))


def _image() -> Column:
    """The row after an upsert, before a delete. MongoDB's is a text that holds the JSON."""
    nested = F.when(F.col(LETTER) == "d", _part("before")).otherwise(_part("after"))
    image = F.when(F.col(NESTED), nested).otherwise(F.col(_BODY))
    image = F.when(F.col(KIND).isin(UPSERT, DELETE), image)
    inside = F.try_parse_json(F.try_variant_get(image, "$", "string"))
    return F.coalesce(F.try_variant_get(image, "$", _OBJECT), F.try_variant_get(inside, "$", _OBJECT))


def _source(prefix: str) -> dict[str, Column]:
    """What is told of the change's place and time; a flattened row has it under a prefix."""

    def told(name: str, *flat: str) -> Column:
        other = F.coalesce(*[_flat(f"{prefix}{one}") for one in flat])
        return F.when(F.col(NESTED), _part("source").getField(name)).otherwise(other)

    columns = {of_source(name): told(name, f"source_{name}", name) for name in POSITION_FIELDS}
    for name in TIME_FIELDS:
        columns[of_source(name)] = told(name, f"source_{name}")
        message = F.when(F.col(NESTED), _part(name)).otherwise(_flat(f"{prefix}{name}"))
        columns[of_message(name)] = message
    return columns


def _fields() -> Column:
    """The embedded schema's fields of the row image."""
    after = F.filter(_ALL_FIELDS, lambda one: one.getField("field") == "after")
    inner = F.get(after, 0).getField("fields")
    outer = F.transform(
        _ALL_FIELDS,
        lambda one: F.struct(*[one.getField(name).alias(name) for name in ("field", "name", "parameters")]),
    )
    fields = F.when(F.col(NESTED), inner).otherwise(outer)
    return F.when(F.col(_ALL_FIELDS).isNotNull(), fields)
