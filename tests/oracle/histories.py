"""What each history shows of the events of a key: Log, Current, Versions and as_of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from tests.oracle.events import Event, Key, Order, Step, Values, Winner, fold
from tests.oracle.options import Options, lower
from tests.oracle.values import Value, read_time


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of a log, without its offset."""

    op: str
    key: Key
    row: Values
    event_time: datetime
    batch: int
    caused_at: datetime


@dataclass(frozen=True, slots=True)
class Version:
    """One row of a versions table. `orders` are the orders of its events, the first one identifies it (V1)."""

    key: Key
    row: Values
    orders: tuple[Order, ...]
    valid_from: Value
    valid_to: Value  # None: open
    is_current: bool
    is_deleted: bool
    shows_deletion: bool  # a row that stands for the deleted key, not for the time before the delete


def current_row(steps: Sequence[Step]) -> tuple[Values, bool] | None:
    """C1, C2: the row of a key and whether it is deleted; None if there was never one."""
    if not steps:
        return None
    if steps[-1].after is not None:
        return steps[-1].after, False
    upserts = [step.after for step in steps if step.after is not None]
    return (upserts[-1], True) if upserts else None


Place = tuple[Order, bool, Key]  # where a log sorts an event: by order, truncates first, then key (L3)


def log_entries(
    known: Sequence[Event], new: Sequence[Event], last: Entry | None, winner: Winner
) -> list[tuple[Place, list[Entry]]]:
    """What a batch adds to the log for one key (L2, L3): each new event in its turn, over all that is known by then.

    `last` is the key's last entry. A late event shows where the row at the end differs with it (G7).
    """
    placed: list[tuple[Place, list[Entry]]] = []
    row = last.row if last is not None and last.op != "-R" else None
    so_far = list(known)
    for turn in sorted({(event.order, event.kind != "truncate") for event in new}):
        arrived = [event for event in new if (event.order, event.kind != "truncate") == turn]
        so_far += arrived
        newest, cause = fold(so_far, winner)[-1], arrived[0]
        after = newest.after
        if after == row:
            continue
        entries = []
        if row is not None and last is not None:
            undo = "-R" if after is None else "-C"
            entries.append(Entry(undo, last.key, row, last.event_time, cause.batch, cause.event_time))
        if after is not None:
            moment = newest.event.event_time
            entries.append(
                Entry("+A" if row is None else "+C", newest.event.key, after, moment, cause.batch, moment)
            )
        row, last = after, entries[-1]
        placed.append(((*turn, last.key), entries))
    return placed


def versions(
    events: Iterable[Event], history: Options, tracked: frozenset[str], winner: Winner
) -> list[Version]:
    """V3 to V8: the versions of one key, in order."""
    deletes = history.get("deletes", "close")
    if deletes == "ignore":
        events = [event for event in events if event.kind == "upsert"]
    steps = fold(events, winner)
    found: list[Version] = []
    passed = 0
    for run in _runs(steps, tracked):
        passed += len(run)
        shown = _row_of(run, deletes)
        if shown is None:
            continue
        later = [step.event for step in steps[passed:]]
        deleted_next = bool(later) and later[0].kind != "upsert"
        if deletes == "mark":
            later = [event for event in later if event.kind == "upsert"]
        start = min(step.event.valid_from for step in run)
        if not found:
            start = _initial(history, events, start)
        end = max(start, min(event.valid_from for event in later)) if later else None
        gone = run[0].after is None
        found.append(
            Version(
                key=run[0].event.key,
                row=shown,
                orders=tuple(step.event.order for step in run),
                valid_from=start,
                valid_to=end,
                is_current=not later,
                is_deleted=gone or (deletes != "flag" and deleted_next),
                shows_deletion=gone or (deletes == "mark" and deleted_next),
            )
        )
    return found


def _runs(steps: Sequence[Step], tracked: frozenset[str]) -> list[list[Step]]:
    """Consecutive events that are one version: upserts equal in the tracked columns (V4); deletes one after the other."""
    runs: list[list[Step]] = []
    for step in steps:
        if runs and _alike(runs[-1][-1].after, step.after, tracked):
            runs[-1].append(step)
        else:
            runs.append([step])
    return runs


def _alike(one: Values | None, other: Values | None, tracked: frozenset[str]) -> bool:
    if one is None or other is None:
        return one is other
    return _only(one, tracked) == _only(other, tracked)


def _only(row: Values, names: frozenset[str]) -> Values:
    return {name: value for name, value in row.items() if name in names}


def _row_of(run: Sequence[Step], deletes: str) -> Values | None:
    """The values a run of events shows; None if it shows nothing: deletes, but for those kept as a version (V5)."""
    if run[-1].after is not None:
        return run[-1].after
    return run[0].before if deletes == "flag" else None


def _initial(history: Options, events: Iterable[Event], start: Value) -> Value:
    """V3: where the earliest version of a key starts."""
    wanted = history.get("initial_valid_from")
    everywhere = isinstance(wanted, dict) and wanted.get("keys") == "all"
    at = wanted["at"] if isinstance(wanted, dict) else wanted
    if at is None or not (everywhere or any(event.batch == 1 and event.key for event in events)):
        return start
    return like(at, start)


def like(value: Any, example: Value) -> Value:
    """A time given as text, as a value of the example's type."""
    if isinstance(example, datetime):
        return read_time(str(value))
    return date.fromisoformat(str(value)[:10]) if isinstance(example, date) else type(example)(value)


def shown_interval(version: Version, history: Options) -> tuple[Value, Value]:
    """V2: valid_from and valid_to as the table has them."""
    start, end = version.valid_from, version.valid_to
    by_day = history.get("end") == "inclusive_day"
    if by_day:
        start = _day(start)
        end = None if end is None else _day(end) - timedelta(days=1)
    if end is None and isinstance(start, date) and history.get("open_end", "") is not None:
        end = datetime(9999, 12, 31, tzinfo=UTC) if isinstance(start, datetime) else date(9999, 12, 31)
    return start, end


def _day(moment: Value) -> date:
    return moment.date() if isinstance(moment, datetime) else moment


def valid_at(version: Version, moment: Any, history: Options) -> bool:
    """R1 for one version; versions that stand for a deleted key are left out."""
    at = like(moment, version.valid_from)
    start, end = version.valid_from, version.valid_to
    if history.get("end") == "inclusive_day":
        at, start, end = _day(at), _day(start), None if end is None else _day(end)
    return not version.shows_deletion and start <= at and (end is None or at < end)


def tracked_columns(columns: Iterable[str], feed: Options, history: Options) -> frozenset[str]:
    """V4: the columns that make a new version."""
    names = set(columns)
    if history.get("track") is not None:
        names = set(lower(history["track"]))
    never = [*lower(feed.get("key")), *lower(feed.get("order_by")), *lower(history.get("track_except"))]
    never += [name.lower() for name in (feed.get("event_time"), history.get("valid_from")) if name]
    return frozenset(names.difference(never))
