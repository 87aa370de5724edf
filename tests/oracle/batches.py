"""From the rows of a batch to events: schema (G9), bad rows (G5), kinds (F5), columns set (F6), times (G3, V3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.oracle.conditions import condition
from tests.oracle.events import Event, Key, Values
from tests.oracle.options import Options, lower, own_columns, start_column, start_refused
from tests.oracle.values import TIMES, Value, cast, in_turn, meet, read_ddl, read_time, read_value


class Refused(Exception):  # noqa: N818  it is an answer, not a failure
    """The batch, or the pair of feed and history, must be refused with this code."""

    def __init__(self, code: str, reasons: Mapping[str, int] | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.reasons = dict(reasons or {})


@dataclass
class Schema:
    """The table's columns by lower-cased name: the name as first written, and the type."""

    columns: dict[str, tuple[str, str]] = field(default_factory=dict)


@dataclass
class Read:
    """A batch, read: its events by position, and how many rows were set aside."""

    number: int
    system_time: datetime
    time: datetime  # of a snapshot: its own time
    vanished_at: Value = None  # that time as a valid_from, for the keys that a snapshot lacks
    rows: int = 0
    events: list[tuple[int, Event]] = field(default_factory=list)
    ignored: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    set_aside: set[Key] = field(default_factory=set)  # keys that could be read of rows that were


def evolved(
    schema: Schema, ddl: str, feed: Options, history: Options
) -> tuple[Schema, list[tuple[str, str, str]]]:
    """The table's schema after a batch with this DDL, and the batch's columns: name as written, lower-cased, type (G9)."""
    arriving = [(name, name.lower(), kind) for name, kind in read_ddl(ddl)]
    names = [name for _, name, _ in arriving]
    if len(set(names)) < len(names):
        raise Refused("ambiguous_column")
    if not set(names).issuperset(lower(feed.get("key"))):
        raise Refused("missing_key_column")
    if not set(names).issuperset(lower(feed.get("order_by"))):
        raise Refused("missing_order_column")
    columns = dict(schema.columns)
    fixed = {*lower(feed.get("key")), *lower(feed.get("order_by"))}
    hidden = set(lower(feed.get("except_columns"))).difference(
        fixed, lower([history.get("valid_from") or ""])
    )
    for written, name, kind in arriving:
        if name not in columns or name in hidden:
            columns[name] = (written, kind)
            continue
        kept = meet(columns[name][1], kind)
        if kept is None or (name in fixed and kind != columns[name][1]):
            raise Refused("incompatible_type")
        columns[name] = (columns[name][0], kept)
    stored = [name for name in columns if name not in lower(feed.get("except_columns"))]
    own = {name.lower() for name in own_columns(history).values()}
    if history["kind"] == "log" and (feed.get("event_time") or "").lower() == "event_time":
        own.discard("event_time")
    if own.intersection(stored):
        raise Refused("reserved_column")
    if feed.get("on_missing_column") == "fail" and not set(names).issuperset(stored):
        raise Refused("missing_column")
    return Schema(columns), arriving


class Reader:
    """Reads the rows of one batch as events, under the options of feed and history."""

    def __init__(self, feed: Options, history: Options, *, times_declared: bool) -> None:
        self.feed, self.history, self.times_declared = feed, history, times_declared
        self.key, self.order_by = lower(feed.get("key")), lower(feed.get("order_by"))
        self.hidden = set(lower(feed.get("except_columns")))
        self.event_time = (feed.get("event_time") or "").lower() or None
        self.valid_from = (history.get("valid_from") or "").lower() or None
        self.start = start_column(feed, history, times_declared=times_declared)
        self.snapshot = feed["kind"] == "snapshot"
        self.when = {
            kind: condition(feed[f"{kind}_when"])
            for kind in ("ignore", "truncate", "delete", "upsert")
            if feed.get(f"{kind}_when")
        }

    def read(
        self, batch: Mapping[str, Any], number: int, schema: Schema, arriving: list[tuple[str, str, str]]
    ) -> Read:
        system_time = read_time(batch["system_time"])
        time = read_time(batch["event_time"]) if batch.get("event_time") else system_time
        start = schema.columns.get(self.start or "", ("", "timestamp"))[1]
        if start not in (*TIMES, "date") and start_refused(self.feed, self.history, self.start):
            raise Refused("invalid_options")
        read = Read(number, system_time, time, vanished_at=_like_start(time, start))
        kept = {name: schema.columns[name][1] for _, name, _ in arriving}
        for position, raw in enumerate(batch["rows"]):
            given = {name.lower(): value for name, value in raw.items()}
            row = {
                name: cast(read_value(given.get(name), kind), kind, kept[name]) for _, name, kind in arriving
            }
            read.rows += 1
            if self._is("ignore", row) and not self._is("truncate", row):
                read.ignored += 1
                continue
            reason = self._bad(row)
            if reason is not None:
                read.rejected[reason] += 1
                read.set_aside.add(tuple(row[name] for name in self.key))
            else:
                read.events.append((position, self._event(row, read, position, start)))
        return read

    def _is(self, kind: str, row: Values) -> bool:
        return kind in self.when and self.when[kind](row)

    def _kind(self, row: Values) -> str | None:
        if self._is("truncate", row):
            return "truncate"
        if self._is("delete", row):
            return "delete"
        return "upsert" if "upsert" not in self.when or self._is("upsert", row) else None

    def _bad(self, row: Values) -> str | None:
        """The first reason why a row is bad (G5)."""
        kind = self._kind(row)
        if any(row[name] is None for name in self.order_by):
            return "null_order"
        if kind != "truncate" and any(row[name] is None for name in self.key):
            return "null_key"
        times = [self.event_time] if kind in ("delete", "truncate") else [self.event_time, self.valid_from]
        if any(name is not None and row.get(name) is None for name in times):
            return "null_event_time"
        return "unknown_operation" if kind is None else None

    def _event(self, row: Values, read: Read, position: int, start: str) -> Event:
        kind = self._kind(row) or "upsert"
        event_time = moment(row[self.event_time]) if self.event_time else read.time
        if self.order_by:
            order: tuple[Any, ...] = tuple(in_turn(row[name]) for name in self.order_by)
        elif self.snapshot:
            order = (read.number,)
        elif self.feed["kind"] in ("append", "ledger"):
            order = (read.number, event_time, position)
        else:
            order = (read.number, position)
        sets, keeps = self._sets(row)
        values = {
            name: value
            for name, value in row.items()
            if value is not None and name not in self.hidden and (sets is None or name in sets)
        }
        key = (read.number, position) if not self.key else tuple(row[name] for name in self.key)
        return Event(
            kind=kind,
            key=() if kind == "truncate" else key,
            order=order,
            values=values if kind == "upsert" else {},
            sets=sets if kind == "upsert" else None,
            keeps=keeps if kind == "upsert" else frozenset(),
            event_time=event_time,
            valid_from=self._valid_from(row, read, _like_start(event_time, start)),
            batch=read.number,
        )

    def _sets(self, row: Values) -> tuple[frozenset[str] | None, frozenset[str]]:
        """F6: the columns an upsert sets, None for the whole row but those that it keeps. The key is always set."""
        ignored, listed = self.feed.get("ignore_nulls"), self.feed.get("present_columns")
        keep_missing = self.feed.get("on_missing_column") == "keep"
        if ignored is True:
            return self._stored({name for name, value in row.items() if value is not None}), frozenset()
        if listed and row.get(listed.lower()) is not None:
            return self._stored(set(lower(row[listed.lower()])) & set(row)), frozenset()
        silent = frozenset(name for name in lower(ignored) if row.get(name) is None)
        if keep_missing:
            return self._stored(set(row) - silent), frozenset()
        return None, silent

    def _stored(self, names: set[str]) -> frozenset[str]:
        return frozenset(names.union(self.key).difference(self.hidden))

    def _valid_from(self, row: Values, read: Read, event_time: Value) -> Value:
        """V3; what lacks its own takes its event time (G3)."""
        if self.start:
            given = row.get(self.start)
            return event_time if given is None else given
        if self.snapshot:
            return read.time
        return event_time if self.event_time or self.times_declared else read.system_time


def _like_start(time: datetime, kind: str) -> Value:
    """A time in the type of valid_from: where that is a date, its day."""
    return time.date() if kind == "date" else time


def moment(value: Value) -> datetime:
    """A declared event time as a time: days start at midnight (G3)."""
    if isinstance(value, datetime):
        return value
    return datetime(value.year, value.month, value.day, tzinfo=UTC)
