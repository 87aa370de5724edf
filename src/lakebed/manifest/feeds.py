"""What the rows of a batch mean (F1 to F6). Each class is also the model of `feed:` in a manifest::

lb.Changes(key=["id"], order_by=["lsn"], delete_when="op = 'D'", except_columns=["op"])
feed: {kind: changes, key: [id], order_by: [lsn], delete_when: "op = 'D'", except_columns: [op]}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from lakebed.manifest.explain import found_text
from lakebed.manifest.formats import problem_with_column_format
from lakebed.manifest.options import (
    Columns,
    Options,
    SomeColumns,
    Strict,
    Text,
    as_set,
    in_order,
    refuse_shared,
    wrong,
)

OnBadRows = Literal["quarantine", "fail"]
OnMissingColumn = Literal["null", "keep", "fail"]


def _column_format(format_: str) -> str:
    if problem := problem_with_column_format(format_):
        raise wrong(f"the format cannot be used: {problem}")
    return format_


ColumnFormat = Annotated[Text, AfterValidator(_column_format)]


class EventTimeColumn(Strict):
    """The column that is the rows' event time (G3), and how text or integers in it are read."""

    column: Text
    format: ColumnFormat | None = None


def _event_time(value: str | EventTimeColumn) -> dict[str, str]:
    if isinstance(value, str):
        return {"column": value.lower()}
    return {"column": value.column.lower(), **({"format": value.format} if value.format else {})}


class _Feed(Options):
    """What every feed has."""

    except_columns: Columns = ()
    event_time: Text | EventTimeColumn | None = None
    on_bad_rows: OnBadRows = "quarantine"
    max_bad_rows: Annotated[int, Field(ge=0)] | None = None
    max_bad_fraction: Annotated[float, Field(ge=0, le=1)] | None = None
    on_missing_column: OnMissingColumn = "null"

    _recorded: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "except_columns": as_set,
        "event_time": _event_time,
    }

    @field_validator("event_time", mode="before")
    @classmethod
    def _column_or_mapping(cls, value: object) -> object:
        if value is not None and not isinstance(value, (str, dict, EventTimeColumn)):
            raise wrong(f"expected a column name, or {{column: ..., format: ...}}, found {found_text(value)}")
        return value

    @property
    def event_time_column(self) -> EventTimeColumn | None:
        """`event_time` in its long form."""
        if isinstance(self.event_time, str):
            return EventTimeColumn(column=self.event_time)
        return self.event_time


class _KeyedFeed(_Feed):
    key: SomeColumns

    _recorded: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"key": in_order, **_Feed._recorded}

    @model_validator(mode="after")
    def _key_is_stored(self) -> _KeyedFeed:
        refuse_shared("key", self.key, "except_columns", self.except_columns, "a key is always stored")
        return self


class Append(_Feed):
    """F1. All rows are new facts: no key, no comparison."""

    kind: Literal["append"] = "append"
    on_missing_column: Literal["null", "fail"] = "null"


class Ledger(_KeyedFeed):
    """F2. New facts, each key once."""

    kind: Literal["ledger"] = "ledger"
    on_modified: Literal["ignore", "fail", "correct"] = "ignore"


class Snapshot(_KeyedFeed):
    """F3. The complete state, again and again. Here `on_bad_rows` is `fail` unless told otherwise: a lost row would
    read as a deletion."""

    kind: Literal["snapshot"] = "snapshot"
    compare: Columns | None = None
    scope: SomeColumns | None = None
    on_bad_rows: OnBadRows = "fail"
    allow_empty: bool = False
    max_delete_fraction: Annotated[float, Field(ge=0, le=1)] | None = None
    on_stale: Literal["fail", "skip"] = "fail"

    _recorded: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        **_KeyedFeed._recorded,
        "compare": as_set,
        "scope": as_set,
    }

    @model_validator(mode="after")
    def _compares_what_is_stored(self) -> Snapshot:
        for name in ("compare", "scope"):
            refuse_shared(
                name,
                getattr(self, name),
                "except_columns",
                self.except_columns,
                "it needs a column that is stored",
            )
        return self


def _nulls(value: bool | list[str]) -> bool | list[str]:  # noqa: FBT001 - the option's own two forms
    return value if isinstance(value, bool) else as_set(value)


class _OrderedFeed(_KeyedFeed):
    """G6, F6: what updates and changes share."""

    order_by: Columns = ()
    ignore_nulls: bool | Columns = False
    present_columns: Text | None = None

    _recorded: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        **_KeyedFeed._recorded,
        "order_by": in_order,
        "ignore_nulls": _nulls,
        "present_columns": str.lower,
    }

    @field_validator("ignore_nulls", mode="before")
    @classmethod
    def _true_or_columns(cls, value: object) -> object:
        if not isinstance(value, (bool, list, tuple)):
            raise wrong(f"expected true, false or a list of column names, found {found_text(value)}")
        return value if value not in ([], ()) else False

    @model_validator(mode="after")
    def _one_kind_of_partial_row(self) -> _OrderedFeed:
        if self.ignore_nulls is not False and self.present_columns is not None:
            raise wrong("ignore_nulls and present_columns contradict each other: give one of them (F6)")
        return self


class Updates(_OrderedFeed):
    """F4, F6. Rows are upserts; an absent key means nothing."""

    kind: Literal["updates"] = "updates"


class Changes(_OrderedFeed):
    """F5, F6. Upserts and deletes from a database. The conditions are SQL; NULL is false; truncate is looked at first."""

    kind: Literal["changes"] = "changes"
    delete_when: Text | None = None
    truncate_when: Text | None = None
    ignore_when: Text | None = None
    upsert_when: Text | None = None

    _recorded: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        **_OrderedFeed._recorded,
        "delete_when": str.strip,
        "truncate_when": str.strip,
        "ignore_when": str.strip,
        "upsert_when": str.strip,
    }


Feed = Annotated[Append | Ledger | Snapshot | Updates | Changes, Field(discriminator="kind")]
