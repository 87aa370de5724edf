"""What must hold after every batch, whatever the case expects: V1, V7 for versions, L1, L2 for logs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from tests.conformance.cases import Case
from tests.conformance.compare import Row, Table, canonical, plain

_OWN = {
    "log": ("offset", "op", "system_time", "event_time"),
    "current": ("is_deleted",),
    "versions": ("sk", "row_hash", "valid_from", "valid_to", "is_current", "is_deleted"),
}


def own_names(case: Case) -> list[str]:
    """The table's own columns under the names they have in it; a log's event_time may be a data column."""
    history = case["history"]
    if history["kind"] == "current" and history.get("deletes") != "flag":
        return []
    names = _OWN[history["kind"]]
    declared = case["feed"].get("event_time") or ""
    column = declared["column"] if isinstance(declared, dict) else declared
    if history["kind"] == "log" and column.lower() == "event_time":
        names = tuple(name for name in names if name != "event_time")
    return [(history.get("rename") or {}).get(name, name) for name in names]


def broken(case: Case, before: Table, after: Table) -> list[str]:
    """The rules that a table breaks; `before` is the table as it was before the batch."""
    kind = case["history"]["kind"]
    if kind == "versions":
        return [*_versions(case, after), *_surrogate_keys(case, before, after)]
    return list(_log(case, before, after)) if kind == "log" else []


class _Named:
    """Reads a row's columns by their original names, whatever `rename` and case made of them."""

    def __init__(self, case: Case) -> None:
        self.rename = case["history"].get("rename") or {}
        self.key = [name.lower() for name in case["feed"].get("key") or ()]

    def own(self, row: Mapping[str, Any], name: str) -> Any:
        return row.get(self.rename.get(name, name).lower())

    def key_of(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(plain(row.get(name)) for name in self.key)


def _lowered(table: Table) -> list[dict[str, Any]]:
    return [{name.lower(): value for name, value in row.items()} for row in table.rows]


def _versions(case: Case, table: Table) -> Iterator[str]:
    """V7: one open version per key at most, no overlaps, a gap only after a delete."""
    named = _Named(case)
    by_key: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in _lowered(table):
        by_key.setdefault(named.key_of(row), []).append(row)
    yes = (case["history"].get("flag") or (True, False))[0]
    by_day = case["history"].get("end") == "inclusive_day"
    for key, rows in by_key.items():
        if sum(named.own(row, "is_current") == yes for row in rows) > 1:
            yield f"V7: more than one current version of {key}"
        if by_day:
            continue  # an empty interval ends on the day before it starts: the order of days says little
        spans = [(named.own(row, "valid_from"), named.own(row, "valid_to"), row) for row in rows]
        full = sorted(
            (span for span in spans if span[1] is None or span[0] < span[1]), key=lambda span: span[0]
        )
        for (_, end, row), (start, _, _) in pairwise(full):
            if end is None or end > start:
                yield f"V7: versions of {key} overlap: one ends at {end}, one starts at {start}"
            elif end < start and not _deleted(named, row, rows, all_full=len(full) == len(rows)):
                yield f"V7: a gap of {key} from {end} to {start} without a delete"


def _deleted(named: _Named, row: Row, rows: Sequence[Row], *, all_full: bool) -> bool:
    """Whether a delete explains the gap after a row: it ended that row, or, where valid time runs against order, any
    other (V8: the version that the delete ended may be an empty one)."""
    return any(named.own(other, "is_deleted") for other in ([row] if all_full else rows))


def _surrogate_keys(case: Case, before: Table, after: Table) -> Iterator[str]:
    """V1: sk is unique; a row that is equal before and after keeps its own, unless that version is there still, with another
    end (V8), and a later one has its values, or unless it joined one that was there. (Never used again: see `used_again`.)"""
    named = _Named(case)
    keys = [named.own(row, "sk") for row in _lowered(after)]
    if named.rename.get("sk", "sk").lower() not in {name for row in _lowered(after) for name in row}:
        return  # nothing yet, or the oracle, which gives no numbers
    if None in keys or len(set(keys)) < len(keys):
        yield f"V1: sk is not unique: {sorted(map(str, keys))}"
    then = {named.own(row, "sk") for row in _lowered(before)}
    old, new = _by_values(before, named), _by_values(after, named)
    for values, had in old.items():
        kept = new.get(values, [])
        moved = len(had) == len(kept) and sorted(had) != sorted(kept)
        if moved and not set(had) <= set(keys) and not set(kept) <= then:
            yield f"V1: an equal row changed its sk from {had} to {kept}: {dict(values)}"


def used_again(case: Case, before: Table, after: Table, ever: set[object]) -> Iterator[str]:
    """V1: an sk that disappeared is never given again. `ever` holds all that were seen, and is kept up to date."""
    if case["history"]["kind"] != "versions":
        return
    named = _Named(case)
    old, new = ({named.own(row, "sk") for row in _lowered(table)} for table in (before, after))
    again = (new - old - {None}) & ever
    if again:
        yield f"V1: sk {sorted(map(str, again))} was used before"
    ever |= new


def _by_values(table: Table, named: _Named) -> dict[frozenset[tuple[str, Any]], list[Any]]:
    found: dict[frozenset[tuple[str, Any]], list[Any]] = {}
    for row in _lowered(table):
        hidden = {named.rename.get(name, name).lower() for name in ("sk", "row_hash")}
        values = {
            name: value for name, value in row.items() if name not in hidden and not name.startswith("_lb_")
        }
        found.setdefault(canonical(values, table.kinds), []).append(named.own(row, "sk"))
    return found


def _log(case: Case, before: Table, after: Table) -> Iterator[str]:
    """L1: offsets without gaps, rows from before untouched. L2: -R and -C repeat the row they undo, +C follows its -C."""
    named, rows = _Named(case), _lowered(after)
    offsets = [named.own(row, "offset") for row in rows]
    if sorted(offsets) != list(range(len(rows))):
        yield f"L1: offsets are {sorted(offsets)}"
    old = Counter(canonical(row, before.kinds) for row in _lowered(before))
    if old - Counter(canonical(row, after.kinds) for row in rows[: len(before.rows)]):
        yield "L1: rows that were in the log have changed"
    last: dict[tuple[Any, ...], dict[str, Any]] = {}
    undone: dict[str, Any] | None = None
    for row in rows:
        op, key = named.own(row, "op"), named.key_of(row)
        if undone is not None and (op != "+C" or key != named.key_of(undone)):
            yield f"L2: -C at {named.own(undone, 'offset')} is not followed by its +C"
        if op in ("-R", "-C") and _content(row, named) != _content(last.get(key, {}), named):
            yield f"L2: {op} at {named.own(row, 'offset')} does not repeat the row it undoes"
        if op == "+A" and named.key and key in last:
            yield f"L2: +A at {named.own(row, 'offset')} of a key that is there"
        if op == "+C" and undone is None:
            yield f"L2: +C at {named.own(row, 'offset')} without its -C"
        undone = row if op == "-C" else None
        if op == "-R":
            last.pop(key, None)
        elif op in ("+A", "+C"):
            last[key] = row


def _content(row: Row, named: _Named) -> frozenset[tuple[str, Any]]:
    hidden = {named.rename.get(name, name).lower() for name in ("offset", "op", "system_time")}
    return canonical(
        {name: row[name] for name in row if name not in hidden and not name.startswith("_lb_")}, {}
    )
