"""Envelopes: the wrapping that a change-data tool puts around rows, and what follows from it for the feed::

source: {envelope: debezium, …}
source: {envelope: {kind: dms, timestamp: dms_time}, …}

An envelope adds the columns named here to every row; the feed uses them, and none of them is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler
from pydantic_core import CoreSchema

from lakebed.manifest.explain import found_text, nearest
from lakebed.manifest.feeds import Append, Changes, Ledger, Snapshot, Updates
from lakebed.manifest.options import Strict, Text, wrong

PREFIX = "_change_"
OPERATION = "_change_operation"
"""What a row does: one of the four words below; NULL where that is not known."""
UPSERT, DELETE, TRUNCATE, IGNORE = "upsert", "delete", "truncate", "ignore"
TIME = "_change_time"
"""When the change was made in the database; where nothing tells, when its file came."""
SETS = "_change_sets"
"""F6: the columns that the change sets; NULL means all of them."""
ORDER = ("_change_phase", "_change_major", "_change_file", "_change_minor", "_change_part")
"""The place of a change in its source, as five columns that are never NULL: 0 for a first load and 1 for what follows,
a number, a file (only where nothing better tells), and two more numbers."""

Unit = Literal["ms", "us", "ns"]
UNITS = ("ms", "us", "ns")


def _units(value: object) -> object:
    """One unit, or one for each of some columns."""
    units = list(value.values()) if isinstance(value, dict) else [value]
    odd = next((unit for unit in units if unit is not None and unit not in UNITS), None)
    if odd is not None:
        raise wrong(f"expected {' | '.join(UNITS)}, or {{column: unit}}, found {found_text(odd)}")
    return value


class Plain(Strict):
    """Rows as they are."""

    kind: Literal["plain"] = "plain"


class Debezium(Strict):
    """Debezium's messages, one JSON object a line, or columns of the same names."""

    kind: Literal["debezium"] = "debezium"
    form: Literal["auto", "nested", "flat"] = "auto"
    prefix: str = "__"
    decimals: Literal["precise", "double", "string"] = "precise"
    times: Annotated[Unit | dict[str, Unit] | None, BeforeValidator(_units)] = None
    unavailable: Text = "__debezium_unavailable_value"

    def unit(self, column: str) -> Unit | None:
        """The unit of whole numbers in this timestamp column, as far as it is declared."""
        if not isinstance(self.times, dict):
            return self.times
        return next((unit for name, unit in self.times.items() if name.lower() == column.lower()), None)


class Dms(Strict):
    """Files of AWS DMS: LOAD… first, then those with I, U, D in front of each row."""

    kind: Literal["dms"] = "dms"
    operation: Text = "Op"
    timestamp: Text | None = None
    sequence: Text | None = None

    @property
    def not_stored(self) -> tuple[str, ...]:
        return tuple(name for name in (self.timestamp, self.sequence) if name is not None)


AnyEnvelope = Plain | Debezium | Dms
KINDS = ("plain", "debezium", "dms")


def _by_name(value: object) -> object:
    """`envelope: debezium` is short for `envelope: {kind: debezium}`."""
    if not isinstance(value, str):
        return value
    if value not in KINDS:
        hint = nearest(value, KINDS)
        raise wrong(
            f"expected {' | '.join(KINDS)}, found {found_text(value)}" + (f"; {hint}" if hint else "")
        )
    return {"kind": value}


class _OrName:
    """For editors: the name alone is an envelope too."""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"enum": list(KINDS)}, handler(core)]}


Envelope = Annotated[AnyEnvelope, Field(discriminator="kind"), BeforeValidator(_by_name), _OrName()]

AnyFeed = Append | Ledger | Snapshot | Updates | Changes


def with_envelope(feed: AnyFeed, envelope: AnyEnvelope) -> AnyFeed:
    """The feed as the user wrote it, and the settings that follow from its envelope. What the user says of order and
    time holds; `ignore_when` is added to."""
    if isinstance(envelope, Plain) or not isinstance(feed, Changes):
        return feed
    ignored = _is(IGNORE)
    settings: dict[str, Any] = {
        "delete_when": _is(DELETE),
        "ignore_when": f"({feed.ignore_when}) OR {ignored}" if feed.ignore_when else ignored,
        "order_by": feed.order_by or ORDER,
        "event_time": feed.event_time or TIME,
        "except_columns": _joined(feed.except_columns, (OPERATION, TIME, *ORDER)),
    }
    if isinstance(envelope, Debezium):
        settings["truncate_when"] = _is(TRUNCATE)
        settings["present_columns"] = SETS
        settings["except_columns"] = _joined(settings["except_columns"], (SETS,))
    else:
        settings["except_columns"] = _joined(settings["except_columns"], envelope.not_stored)
    return feed.model_copy(update=settings)


def _is(word: str) -> str:
    return f"`{OPERATION}` = '{word}'"


def _joined(names: Sequence[str], more: Sequence[str]) -> tuple[str, ...]:
    known = {name.lower() for name in names}
    return (*names, *(name for name in more if name.lower() not in known))
