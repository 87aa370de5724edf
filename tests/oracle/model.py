"""The model: batches in, and after each the table, the report, the rejected rows and the error that must result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tests.oracle import feeds
from tests.oracle.batches import Reader, Refused, Schema, evolved
from tests.oracle.events import Event, Key, Step, Values, Winner, by_content, fold
from tests.oracle.histories import (
    Entry,
    Place,
    Version,
    current_row,
    log_entries,
    shown_interval,
    tracked_columns,
    valid_at,
    versions,
)
from tests.oracle.options import Options, lower, own_columns, refusal, remembered
from tests.oracle.values import in_turn, read_time

Row = dict[str, Any]
__all__ = ["Model", "Outcome", "Refused"]


@dataclass(frozen=True)
class Outcome:
    """What a batch did. A batch that was applied before has `already_applied` and nothing else."""

    report: dict[str, int | bool]
    rejected: Counter[str] = field(default_factory=Counter)


@dataclass
class Delivered:
    """All that was delivered: events by key, the truncates, and the log's rows, which are never rewritten."""

    events: dict[Key, list[Event]] = field(default_factory=dict)
    truncates: list[Event] = field(default_factory=list)
    log: list[Entry] = field(default_factory=list)
    last_entry: dict[Key, Entry] = field(default_factory=dict)
    newest_snapshot: datetime | None = None


class Model:
    """One dataset. `apply` raises `Refused` and changes nothing where the batch must fail."""

    def __init__(
        self, feed: Options, history: Options, *, times_declared: bool = False, winner: Winner = by_content
    ) -> None:
        code = refusal(feed, history)
        if code is not None:
            raise Refused(code)
        self.feed, self.history = dict(feed), dict(history)
        self.times_declared, self.winner = times_declared, winner
        self.schema = Schema()
        self.delivered = Delivered()
        self.last_batch = 0
        self.system_times: list[datetime] = []
        self.rejected: Counter[str] = Counter()

    def apply(self, batch: Mapping[str, Any], ddl: str, number: int | None = None) -> Outcome:
        """Applies a batch of the cases' form; `number` defaults to the next one."""
        feed, history = self._settings(batch)
        number = self.last_batch + 1 if number is None else number
        if number <= self.last_batch:
            return Outcome({"already_applied": True})
        if number > self.last_batch + 1:
            raise Refused("batch_gap")
        system_time = read_time(batch["system_time"])
        if self.system_times and system_time < self.system_times[-1]:
            raise Refused("system_time_backwards")
        schema, arriving = evolved(self.schema, ddl, feed, history)
        read = Reader(feed, history, times_declared=self.times_declared).read(batch, number, schema, arriving)
        taken = feeds.take(feed, history, read, self.delivered, self.winner)
        self.feed, self.schema, self.last_batch = feed, schema, number
        self.system_times.append(system_time)
        if history["kind"] == "log":
            taken.rejected["late"] += self._log(taken.new, taken.new_truncates, taken.late)
        self._keep(taken)
        taken.rejected = +taken.rejected
        self.rejected += taken.rejected
        return Outcome(taken.report, taken.rejected)

    def _settings(self, batch: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The options from this batch on; those that shape rows must be the same as ever (G9)."""
        feed, history = self.feed | batch.get("feed", {}), self.history | batch.get("history", {})
        code = refusal(feed, history)
        if code is not None:
            raise Refused(code)
        if self.last_batch and remembered(feed, history) != remembered(self.feed, self.history):
            raise Refused("settings_changed")
        return feed, history

    def _keep(self, taken: feeds.Taken) -> None:
        for event in taken.new:
            self.delivered.events.setdefault(event.key, []).append(event)
        self.delivered.truncates += taken.new_truncates
        self.delivered.newest_snapshot = taken.newest_snapshot

    def _log(self, new: list[Event], truncates: list[Event], late: list[Event]) -> int:
        """Appends the batch's rows (L3); says how many late rows changed nothing (G7)."""
        by_key: dict[Key, list[Event]] = {}
        for event in new:
            by_key.setdefault(event.key, []).append(event)
        if truncates:
            by_key = {key: by_key.get(key, []) for key in {**self.delivered.events, **by_key}}
        placed: list[tuple[Place, list[Entry]]] = []
        for key, events in by_key.items():
            known = [*self.delivered.events.get(key, []), *self.delivered.truncates]
            placed += log_entries(
                known, [*events, *truncates], self.delivered.last_entry.get(key), self.winner
            )
        shown = set()
        for place, entries in sorted(placed, key=lambda item: in_turn(item[0])):
            self.delivered.log += entries
            shown.add((entries[-1].key, place[0]))
            self.delivered.last_entry[entries[-1].key] = entries[-1]
        return sum((event.key, event.order) not in shown for event in late)

    def steps(self, key: Key) -> list[Step]:
        """The events of a key that count, in order, and the rows between them."""
        return fold([*self.delivered.events.get(key, []), *self.delivered.truncates], self.winner)

    def table(self, keys: Iterable[Key] | None = None) -> list[Row]:
        """The whole table, or the rows of some keys; a log by offset. Columns by their name, NULLs included."""
        if self.history["kind"] == "log":
            return self._log_rows(keys)
        wanted = self.delivered.events if keys is None else keys
        if self.history["kind"] == "versions":
            return [self._version_row(version) for key in wanted for version in self.versions(key)]
        return [row for key in wanted for row in self._current_rows(key)]

    def _log_rows(self, keys: Iterable[Key] | None) -> list[Row]:
        own, wanted = own_columns(self.history), None if keys is None else set(keys)
        rows = []
        for offset, entry in enumerate(self.delivered.log):
            if wanted is None or entry.key in wanted:
                mine = {"offset": offset, "op": entry.op, "system_time": self.system_times[entry.batch - 1]}
                mine["event_time"] = entry.event_time
                rows.append({own[name]: value for name, value in mine.items()} | self._data(entry.row))
        return rows

    def _current_rows(self, key: Key) -> list[Row]:
        found = current_row(self.steps(key))
        flagged = self.history.get("deletes") == "flag"
        if found is None or (found[1] and not flagged):
            return []
        return [
            self._data(found[0]) | ({own_columns(self.history)["is_deleted"]: found[1]} if flagged else {})
        ]

    def versions(self, key: Key) -> list[Version]:
        """The versions of a key, in order, with what identifies them (V1)."""
        events = [*self.delivered.events.get(key, []), *self.delivered.truncates]
        tracked = tracked_columns(self.schema.columns, self.feed, self.history)
        return versions(events, self.history, tracked, self.winner)

    def _version_row(self, version: Version) -> Row:
        own = own_columns(self.history)
        start, end = shown_interval(version, self.history)
        yes, no = self.history.get("flag") or (True, False)
        return self._data(version.row) | {
            own["valid_from"]: start,
            own["valid_to"]: end,
            own["is_current"]: yes if version.is_current else no,
            own["is_deleted"]: version.is_deleted,
        }

    def _data(self, row: Values) -> Row:
        hidden = lower(self.feed.get("except_columns"))
        return {name: row.get(low) for low, (name, _) in self.schema.columns.items() if low not in hidden}

    def state(self) -> list[Row]:
        """L4, R2: the live rows, for any history; data columns only."""
        if self.history["kind"] == "log":
            return [self._data(entry.row) for entry in self.delivered.last_entry.values() if entry.op != "-R"]
        if self.history["kind"] == "current":
            rows = [current_row(self.steps(key)) for key in self.delivered.events]
            return [self._data(found[0]) for found in rows if found is not None and not found[1]]
        every = [version for key in self.delivered.events for version in self.versions(key)]
        return [self._data(version.row) for version in every if version.is_current and not version.is_deleted]

    def as_of(self, moment: Any) -> list[Row]:
        """R1, for versions: the rows valid at a time, data columns only."""
        every = [version for key in self.delivered.events for version in self.versions(key)]
        return [self._data(version.row) for version in every if valid_at(version, moment, self.history)]
