"""Events, and what the events of one key make together: G6, F6 and the rules about deletes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from tests.oracle.values import Value

Key = tuple[Value, ...]
Order = tuple[Any, ...]
Values = dict[str, Value]  # by lower-cased name; a column that is not there is NULL


@dataclass(frozen=True, slots=True)
class Event:
    """One change of one key; a truncate has no key."""

    kind: str  # upsert, delete, truncate
    key: Key
    order: Order
    values: Values
    sets: frozenset[str] | None  # the columns an upsert sets; None: the whole row, but for those it keeps
    keeps: frozenset[str]
    event_time: datetime
    valid_from: Value
    batch: int

    @property
    def content(self) -> object:
        """What makes events of one key and order the same one; deletes are one whatever they carry (G6)."""
        return None if self.kind != "upsert" else (self.sets, self.keeps, frozenset(self.values.items()))


Winner = Callable[[Sequence[Event]], Event]


def by_content(rivals: Sequence[Event]) -> Event:
    """A winner that depends on nothing but content. The engine's may be another one (G11)."""
    return max(
        rivals, key=lambda event: repr((sorted(event.sets or ()), sorted(event.values.items(), key=repr)))
    )


@dataclass(frozen=True, slots=True)
class Step:
    """One event that counts, and the row that holds after it; None: no row."""

    event: Event
    before: Values | None
    after: Values | None


def distinct(events: Iterable[Event]) -> list[Event]:
    """Identical events as one, with the smallest of their times (G6)."""
    found: dict[object, Event] = {}
    for event in events:
        same = (event.order, event.kind, event.content)
        known = found.get(same)
        found[same] = event if known is None else _with_smallest_times(known, event)
    return list(found.values())


def _with_smallest_times(one: Event, other: Event) -> Event:
    return replace(
        one,
        event_time=min(one.event_time, other.event_time),
        valid_from=min(one.valid_from, other.valid_from),
        batch=min(one.batch, other.batch),
    )


def winners(events: Iterable[Event], winner: Winner) -> list[Event]:
    """The events that count, in order: at one order truncates, then one event, a delete before an upsert (G6, F5)."""
    places: dict[tuple[Order, bool], list[Event]] = {}
    for event in distinct(events):
        places.setdefault((event.order, event.kind != "truncate"), []).append(event)
    return [_decided(places[place], winner) for place in sorted(places)]


def _decided(rivals: list[Event], winner: Winner) -> Event:
    for event in rivals:
        if event.kind != "upsert":
            return event
    return rivals[0] if len(rivals) == 1 else winner(rivals)


def fold(events: Iterable[Event], winner: Winner) -> list[Step]:
    """Each event that counts with the row before and after it (F6: a delete ends the inheritance)."""
    steps = []
    row: Values | None = None
    for event in winners(events, winner):
        after = None if event.kind != "upsert" else merged(row, event)
        steps.append(Step(event, row, after))
        row = after
    return steps


def merged(row: Values | None, event: Event) -> Values:
    """The row after an upsert: the columns it does not set keep their value."""
    if not row or (event.sets is None and not event.keeps):
        return event.values
    if event.sets is None:
        return {name: value for name, value in row.items() if name in event.keeps} | event.values
    return {name: value for name, value in row.items() if name not in event.sets} | event.values


def conflicts(events: Iterable[Event]) -> int:
    """Upserts of one key that met a different one at the same order."""
    upserts: dict[Order, set[object]] = {}
    for event in events:
        if event.kind == "upsert":
            upserts.setdefault(event.order, set()).add(event.content)
    return sum(len(contents) - 1 for contents in upserts.values())
