"""The engine's table against the oracle's, history by history; and how a history that differs is made small."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import Any

from tests.conformance.cases import Case
from tests.conformance.checks import Dataset, Failed, Open, own_to_leave_out
from tests.conformance.compare import Table, canonical, plain, without
from tests.conformance.invariants import broken
from tests.oracle import Model, Refused
from tests.oracle.events import Event, Winner, by_content, distinct
from tests.properties.histories import History, delivered, random_history, together, told
from tests.properties.setups import Setup

Rows = tuple[Any, ...]  # the rows of one history, comparable: in order for a log, else as a multiset
# An event that lost a tie, or met a truncate, is applied or unchanged: the semantics leave open which.
SURE = ("read", "rejected", "duplicate", "late", "deleted", "modified")


@dataclass(frozen=True)
class Difference:
    """A history that the engine and the oracle tell differently."""

    setup: Setup
    history: History
    what: str

    def __str__(self) -> str:
        given = f"  feed {dict(self.setup.feed)}\n  history {dict(self.setup.history)}"
        around = "\n".join(
            f"  around batch {place}: {one}" for place, one in enumerate(self.setup.batches, 1)
        )
        return f"{self.setup.name}\n{given}\n{around}\n{told(self.history)}\n{self.what}"


def generated(setup: Setup, seed: int, count: int) -> list[History]:
    """So many histories, the same for the same seed."""
    dice = random.Random(f"{setup.name} {seed}")
    return [random_history(setup, dice) for _ in range(count)]


def differences(setup: Setup, histories: Sequence[History], opened: Open, name: str) -> list[Difference]:
    """Runs all histories in one table; those whose rows, report or invariants are not as the oracle says."""
    case = together(setup, histories, name)
    dataset, model = opened(case), oracle_of(setup)
    wrong: dict[int, str] = {}
    before, applied = Table(), 0
    for place, batch in enumerate(case["batches"], 1):
        answers = answer(dataset, batch, applied + 1), _expected(model, batch)
        applied = model.last_batch
        for text in unlike(setup, *answers):
            wrong.setdefault(-1, f"batch {place}: {text}")
        after = dataset.table()
        for number, text in _compared(setup, histories, place, after, model, case):
            wrong.setdefault(number, text)
        for text in broken(case, before, after):
            wrong.setdefault(-2, f"after batch {place}: {text}")
        before = after
    return [
        Difference(setup, histories[number] if number >= 0 else [], text) for number, text in wrong.items()
    ]


Answer = Mapping[str, int | bool] | str  # the report of a batch, or the code of its error


def answer(dataset: Dataset, batch: Mapping[str, Any], number: int) -> Answer:
    try:
        return dataset.apply(batch, batch["schema"], number)
    except Failed as failed:
        return failed.code


def _expected(model: Model, batch: Mapping[str, Any]) -> Answer:
    try:
        return model.apply(batch, batch["schema"]).report
    except Refused as refused:
        return refused.code


def unlike(setup: Setup, engine: Answer, oracle: Answer) -> Iterator[str]:
    """What the two say differently about one batch."""
    if isinstance(engine, str) or isinstance(oracle, str):
        if engine != oracle:
            yield f"the engine says {engine}, the oracle {oracle}"
        return
    parts = (part for part in told_surely(setup) if engine.get(part) != oracle[part])
    off = {part: (engine.get(part), oracle[part]) for part in parts}
    if off:
        yield f"report (engine, oracle): {off}"


def told_surely(setup: Setup) -> tuple[str, ...]:
    if (
        setup.feed.get("truncate_when")
        or (setup.ties and setup.ordered)
        or setup.history.get("deletes") == "ignore"
    ):
        return SURE if setup.history.get("deletes") != "ignore" else ("read", "rejected")
    return (*SURE, "applied", "unchanged", "conflicts")


def oracle_of(setup: Setup, winner: Winner = by_content) -> Model:
    return Model(setup.feed, setup.history, times_declared=setup.times_declared, winner=winner)


def _compared(
    setup: Setup, histories: Sequence[History], place: int, after: Table, model: Model, case: Case
) -> Iterator[tuple[int, str]]:
    have = split(without(after, own_to_leave_out(case)), setup)
    want = split(Table(model.table(), _kinds(model)), setup)
    for number, history in enumerate(histories):
        mine, theirs = have.get(number, ()), want.get(number, ())
        if mine != theirs and mine not in (other for other in alternatives(setup, number, history[:place])):
            yield number, f"after batch {place}\n  engine: {_shown(mine)}\n  oracle: {_shown(theirs)}"


def _shown(rows: Rows) -> str:
    lines = (" ".join(f"{name}={value!r}" for name, value in sorted(row)) for row in rows)
    return "".join(f"\n    {line}" for line in lines) or "nothing"


def _kinds(model: Model) -> dict[str, str]:
    return {name: kind for name, (_, kind) in model.schema.columns.items()}


def split(table: Table, setup: Setup) -> dict[int, Rows]:
    """The rows of each history. A log's are in order, without offset: that one counts the rows of all."""
    is_log = setup.history["kind"] == "log"
    parts: dict[int, list[frozenset[tuple[str, Any]]]] = {}
    for row in table.rows:
        kept = {name: value for name, value in row.items() if not (is_log and name == "offset")}
        parts.setdefault(row["h"], []).append(canonical(kept, table.kinds))
    return {number: tuple(rows if is_log else sorted(rows, key=sorted_by)) for number, rows in parts.items()}


def sorted_by(row: frozenset[tuple[str, Any]]) -> str:
    return repr(sorted(row))


def alternatives(setup: Setup, number: int, batches: Sequence[Sequence[dict[str, Any]]]) -> Iterator[Rows]:
    """What the oracle says for every way in which the history's conflicts can end (G6: by a hash that it does not know). A log
    shows each winner that was one for a while, so there the ranks of all rivals matter."""
    history: History = [list(rows) for rows in batches]
    history += [[] for _ in setup.batches[len(history) :]]
    rivals = _rivals(setup, history)
    if not rivals:
        return
    is_log = setup.history["kind"] == "log"
    ranks = [permutations(one) if is_log else ([first] for first in one) for one in rivals.values()]
    for choice in product(*ranks):
        chosen = dict(zip(rivals, choice, strict=True))
        model = oracle_of(setup, lambda events, chosen=chosen: _chosen(events, chosen))  # type: ignore[misc]
        for batch in together(setup, [history])["batches"][: len(batches)]:
            rows = [{**row, "h": number} for row in batch["rows"]]
            _expected(model, {**batch, "rows": rows})
        yield split(Table(model.table(), _kinds(model)), setup).get(number, ())


def _rivals(setup: Setup, history: History) -> dict[Any, list[object]]:
    """The contents that meet at one key and order."""
    model = oracle_of(setup)
    for batch in together(setup, [history])["batches"]:
        _expected(model, batch)
    found: dict[Any, list[object]] = {}
    for key, events in model.delivered.events.items():
        for event in distinct(events):
            if event.kind == "upsert":
                found.setdefault((key[1:], event.order), []).append(_without_history(event))
    return {place: contents for place, contents in found.items() if len(contents) > 1}


def _without_history(event: Event) -> object:
    values = frozenset((name, value) for name, value in event.values.items() if name != "h")
    return event.sets, event.keeps, values


def _chosen(events: Sequence[Event], chosen: Mapping[Any, Sequence[object]]) -> Event:
    """The first of a ranking that has arrived."""
    ranked = chosen.get((events[0].key[1:], events[0].order), ())
    found = (event for wanted in ranked for event in events if _without_history(event) == wanted)
    return next(found, by_content(events))


def explained(found: Difference, histories: Sequence[History], opened: Open, name: str) -> Difference:
    """A difference among these histories, told by as little as makes it."""
    if found.history:
        return smallest(found, opened, name)
    few = _narrowed(found.setup, histories, opened, name)
    return replace(found, history=few[0]) if len(few) == 1 else found


def smallest(found: Difference, opened: Open, name: str) -> Difference:
    """The history with all rows taken out that are not needed for a difference; one table for each round."""
    for turn in range(20):
        smaller = list(_smaller(found.history))
        again = [
            other for other in differences(found.setup, smaller, opened, f"{name}_{turn}") if other.history
        ]
        if not again:
            return found
        found = min(again, key=lambda other: sum(map(len, other.history)))
    return found


def _narrowed(setup: Setup, histories: Sequence[History], opened: Open, name: str) -> list[History]:
    """One of the histories that makes a difference by itself, for what is only seen of the table as a whole; else several."""
    found = list(histories)
    for turn in range(20):
        middle = len(found) // 2
        halves = [half for half in (found[:middle], found[middle:]) if half]
        wrong = (
            half
            for place, half in enumerate(halves)
            if differences(setup, half, opened, f"{name}_{turn}_{place}")
        )
        half = next(wrong, found)
        if len(half) == len(found):
            break
        found = half
    return found


def _smaller(history: History) -> Iterator[History]:
    for place, rows in enumerate(history):
        for at in range(len(rows)):
            yield [
                part if other != place else [*rows[:at], *rows[at + 1 :]]
                for other, part in enumerate(history)
            ]


def redelivered(histories: Sequence[History], seed: int) -> list[History]:
    """The same events of each history: some twice, in another order, in other batches (G6)."""
    dice = random.Random(seed)
    others = []
    for history in histories:
        rows = [row for batch in history for row in batch]
        others.append(delivered([*rows, *(row for row in rows if dice.random() < 0.3)], len(history), dice))
    return others


def final(setup: Setup, histories: Sequence[History], opened: Open, name: str) -> dict[int, Rows]:
    """The rows of each history after the last batch."""
    case = together(setup, histories, name)
    return split(without(played(case, opened).table(), own_to_leave_out(case)), setup)


def played(case: Case, opened: Open) -> Dataset:
    dataset = opened(case)
    for place, batch in enumerate(case["batches"], 1):
        dataset.apply(batch, batch["schema"], place)
    return dataset


def unequal(one: dict[int, Rows], other: dict[int, Rows]) -> list[int]:
    """The histories whose rows are not the same."""
    return [
        number for number in sorted(one.keys() | other.keys()) if one.get(number, ()) != other.get(number, ())
    ]


def counted(table: Table) -> Counter[frozenset[tuple[str, Any]]]:
    """Live rows as a multiset, for R2."""
    return Counter(
        frozenset((name, plain(value)) for name, value in row)
        for row in (canonical(row, table.kinds) for row in table.rows)
    )
