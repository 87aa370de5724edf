"""What each feed takes from a batch: which events are new, and the report's counters (F1 to F5, G8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from tests.oracle.batches import Read, Refused
from tests.oracle.events import Event, Key, Order, Step, Values, Winner, conflicts, fold, merged
from tests.oracle.options import Options, lower
from tests.oracle.values import Value

if TYPE_CHECKING:
    from tests.oracle.model import Delivered


@dataclass
class Taken:
    """What a batch brings: events not known before, and what to say about all of its rows."""

    new: list[Event] = field(default_factory=list)
    new_truncates: list[Event] = field(default_factory=list)
    late: list[Event] = field(default_factory=list)
    newest_snapshot: datetime | None = None
    rejected: Counter[str] = field(default_factory=Counter)
    report: dict[str, int | bool] = field(default_factory=dict)


def take(feed: Options, history: Options, read: Read, delivered: Delivered, winner: Winner) -> Taken:
    """The batch as its feed sees it; raises `Refused` where the batch must fail."""
    kind = feed["kind"]
    if kind == "snapshot" and _stale(feed, read, delivered):
        taken = Taken(newest_snapshot=delivered.newest_snapshot)
        taken.report = _report(read.rows, Counter(late=read.rows))
        return taken
    _refuse_bad_rows(feed, read)
    if kind == "snapshot":
        taken, counts = _snapshot(feed, read, delivered, winner)
    elif kind in ("append", "ledger"):
        taken, counts = _ledger(feed, read, delivered, winner)
    else:
        taken, counts = _changes(history, read, delivered, winner)
    counts["rejected"] = read.rejected.total()
    counts["unchanged"] += read.ignored
    taken.rejected = Counter(read.rejected)
    taken.report = _report(read.rows, counts)
    return taken


def _report(rows: int, counts: Counter[str]) -> dict[str, int | bool]:
    parts = ("rejected", "duplicate", "late", "unchanged", "applied")
    assert sum(counts[name] for name in parts) == rows, (rows, counts)
    return {"read": rows} | {name: counts[name] for name in (*parts, "conflicts", "modified", "deleted")}


def _refuse_bad_rows(feed: Options, read: Read) -> None:
    default = "fail" if feed["kind"] == "snapshot" else "quarantine"
    if read.rejected and feed.get("on_bad_rows", default) == "fail":
        code = next(iter(read.rejected)) if len(read.rejected) == 1 else "bad_rows"
        raise Refused(code, read.rejected)


def _live(delivered: Delivered, key: Key, winner: Winner) -> Values | None:
    """The row of a key after all that was delivered."""
    steps = fold([*delivered.events.get(key, []), *delivered.truncates], winner)
    return steps[-1].after if steps else None


# append and ledger


def _ledger(feed: Options, read: Read, delivered: Delivered, winner: Winner) -> tuple[Taken, Counter[str]]:
    """F1, F2: by event time, then position. An append is a ledger whose keys are all new."""
    taken, counts = Taken(), Counter[str]()
    rows: dict[Key, Values] = {}
    for _, event in sorted(read.events, key=lambda item: item[1].order):
        seen = rows.get(event.key) or _live(delivered, event.key, winner)
        if seen is not None and merged(seen, event) == seen:
            counts["duplicate"] += 1
            continue
        if seen is not None:
            counts["modified"] += 1
            if feed.get("on_modified") == "fail":
                raise Refused("modified_record")
            if feed.get("on_modified", "ignore") == "ignore":
                counts["duplicate"] += 1
                continue
        counts["applied"] += 1
        rows[event.key] = merged(seen, event)
        taken.new.append(event)
    return taken, counts


# snapshot


def _stale(feed: Options, read: Read, delivered: Delivered) -> bool:
    if delivered.newest_snapshot is None or read.time >= delivered.newest_snapshot:
        return False
    if feed.get("on_stale", "fail") == "fail":
        raise Refused("stale_snapshot")
    return True


def _snapshot(feed: Options, read: Read, delivered: Delivered, winner: Winner) -> tuple[Taken, Counter[str]]:
    """F3: keys that are new or differ are upserts, keys that are gone are deletes."""
    taken, counts = Taken(newest_snapshot=read.time), Counter[str]()
    rows: dict[Key, Event] = {}
    for _, event in read.events:
        known = rows.setdefault(event.key, event)
        if known is not event:
            if known.content != event.content:
                raise Refused("duplicate_key")
            counts["duplicate"] += 1
    live = {key: row for key in delivered.events if (row := _live(delivered, key, winner)) is not None}
    if live and not rows and not feed.get("allow_empty"):
        raise Refused("empty_snapshot")
    scope = lower(feed.get("scope"))
    places = {_place(event.values, scope) for event in rows.values()}
    spoken_of = [key for key, row in live.items() if not scope or _place(row, scope) in places]
    gone = [key for key in spoken_of if key not in rows and key not in read.set_aside]
    limit = feed.get("max_delete_fraction")
    if spoken_of and limit is not None and len(gone) / len(spoken_of) > limit:
        raise Refused("too_many_deletes")
    for key, event in rows.items():
        if key in live and _equal(feed, merged(live[key], event), live[key]):
            counts["unchanged"] += 1
        else:
            counts["applied"] += 1
            taken.new.append(event)
    counts["deleted"] = len(gone)
    taken.new += [_vanished(key, read) for key in gone]
    return taken, counts


def _place(row: Values, names: Sequence[str]) -> tuple[Value, ...]:
    return tuple(row.get(name) for name in names)


def _equal(feed: Options, one: Values, other: Values) -> bool:
    if feed.get("compare") is None:
        return one == other
    return _place(one, lower(feed["compare"])) == _place(other, lower(feed["compare"]))


def _vanished(key: Key, read: Read) -> Event:
    return Event(
        "delete", key, (read.number,), {}, None, frozenset(), read.time, read.vanished_at, read.number
    )


# updates and changes


def _changes(
    history: Options, read: Read, delivered: Delivered, winner: Winner
) -> tuple[Taken, Counter[str]]:
    """F4, F5: events take the place that their order gives them, whenever they come."""
    taken, counts = Taken(), Counter[str]()
    by_key: dict[Key, list[Event]] = {}
    for _, event in read.events:
        by_key.setdefault(event.key, []).append(event)
    taken.new_truncates = by_key.pop((), [])
    taken.new = [event for events in by_key.values() for event in events]
    ignores = history.get("deletes") == "ignore"
    for key, arrived in by_key.items():
        known, events = delivered.events.get(key, []), arrived
        if ignores:
            counts["unchanged"] += sum(event.kind == "delete" for event in arrived)
            known, events = _upserts(known), _upserts(arrived)
        truncates = [] if ignores else delivered.truncates
        fresh = _fresh(known, events, truncates, taken, counts)
        counts["conflicts"] += conflicts([*known, *events]) - conflicts(known)
        steps = (
            fold([*known, *events, *truncates, *([] if ignores else taken.new_truncates)], winner)
            if fresh
            else []
        )
        for event in fresh:
            counts["unchanged" if _without_effect(event, known, steps) else "applied"] += 1
    _count_truncates(taken, counts, delivered, winner, ignores=ignores)
    return taken, counts


def _upserts(events: Sequence[Event]) -> list[Event]:
    return [event for event in events if event.kind == "upsert"]


def _fresh(
    known: Sequence[Event],
    events: Sequence[Event],
    truncates: Sequence[Event],
    taken: Taken,
    counts: Counter[str],
) -> list[Event]:
    """The events that are neither duplicates nor late (G7: below the newest one known before the batch)."""
    head = max([event.order for event in (*known, *truncates)], default=None)
    seen = {(event.order, event.kind, event.content) for event in known}
    fresh = []
    for event in events:
        same = (event.order, event.kind, event.content)
        if same in seen:
            counts["duplicate"] += 1
        elif head is not None and event.order < head:
            counts["late"] += 1
            taken.late.append(event)
        else:
            fresh.append(event)
        seen.add(same)
    return fresh


def _without_effect(event: Event, known: Sequence[Event], steps: Sequence[Step]) -> bool:
    """An equal row, or a delete of a key that is not there (G8); an event that lost a tie is not without effect."""
    step = next(step for step in steps if step.event.order == event.order and step.event.kind != "truncate")
    if event.kind == "delete":
        return step.before is None and not any(other.order == event.order for other in known)
    return step.event.content == event.content and step.event.kind == event.kind and step.before == step.after


def _count_truncates(
    taken: Taken, counts: Counter[str], delivered: Delivered, winner: Winner, *, ignores: bool
) -> None:
    """A truncate has an effect if it ends the life of any key."""
    if not taken.new_truncates:
        return
    seen = {event.order for event in delivered.truncates}
    by_key: dict[Key, list[Event]] = {key: list(events) for key, events in delivered.events.items()}
    for event in taken.new:
        by_key.setdefault(event.key, []).append(event)
    ended: set[Order] = set()
    for events in by_key.values() if not ignores else ():
        steps = fold([*events, *delivered.truncates, *taken.new_truncates], winner)
        ended |= {
            step.event.order for step in steps if step.event.kind == "truncate" and step.before is not None
        }
    for event in taken.new_truncates:
        place = "duplicate" if event.order in seen else "applied" if event.order in ended else "unchanged"
        counts[place] += 1
        seen.add(event.order)
