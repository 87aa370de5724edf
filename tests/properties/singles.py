"""Histories with a table of their own: truncates, guards, stale snapshots, the offsets of a log, errors."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.conformance.by_oracle import ByOracle
from tests.conformance.cases import Case
from tests.conformance.checks import Open, own_to_leave_out
from tests.conformance.compare import Table, difference, without
from tests.conformance.invariants import broken
from tests.oracle.events import by_content
from tests.properties.histories import random_history, together
from tests.properties.judge import answer, unlike
from tests.properties.setups import Setup, by_pair

_GUARDS: tuple[dict[str, Any], ...] = (
    {"allow_empty": False},
    {"allow_empty": False, "max_delete_fraction": 0.5},
    {"allow_empty": True, "on_stale": "skip"},
    {"allow_empty": True, "on_bad_rows": "quarantine"},
)


def single_setups(pair: tuple[str, str]) -> list[Setup]:
    """The setups of a pair, made harder: with truncates, with guards. Without ties: a table is compared as a whole."""
    found: list[Setup] = []
    for setup in by_pair()[pair]:
        plain = replace(setup, ties=False)
        if setup.feed["kind"] == "changes":
            found.append(replace(plain, truncates=True, feed={**setup.feed, "truncate_when": "op = 'T'"}))
        elif setup.feed["kind"] == "snapshot":
            found += [replace(plain, bad=True, feed={**setup.feed, **guards}) for guards in _GUARDS]
        else:
            found.append(plain)
    return found


def single_case(pair: tuple[str, str], seed: int) -> tuple[Setup, Case]:
    """A random history of a random setup of the pair, as a case of its own."""
    dice = random.Random(f"{pair} {seed}")
    setup = dice.choice(single_setups(pair))
    case = dict(together(setup, [random_history(setup, dice)], f"{pair[0]}_{pair[1]}_{seed}"))
    if setup.feed["kind"] == "snapshot" and dice.random() < 0.6:
        case["batches"] = [{**batch, "event_time": _some_day(dice)} for batch in case["batches"]]
    return setup, case


def _some_day(dice: random.Random) -> str:
    return (datetime(2024, 3, 1, tzinfo=UTC) + timedelta(days=dice.randint(0, 4))).isoformat()


def single_differences(setup: Setup, case: Case, opened: Open) -> list[str]:
    """What the engine does otherwise than the oracle: tables, reports, rejected rows, state, errors."""
    engine, oracle = opened(case), ByOracle(case, by_content)
    wrong: list[str] = []
    before, number = Table(), 1
    for place, batch in enumerate(case["batches"], 1):
        mine, theirs = answer(engine, batch, number), answer(oracle, batch, number)
        after = engine.table()
        found = [*unlike(setup, mine, theirs), *_compared(setup, case, after, oracle.table())]
        found += broken(case, before, after)
        wrong += [f"batch {place}: {text}" for text in found]
        before, number = after, number + isinstance(theirs, Mapping)
        if wrong:
            return wrong
    if engine.rejected() != oracle.rejected():
        wrong.append(f"rejected: {dict(engine.rejected())}, oracle {dict(oracle.rejected())}")
    return wrong


def _compared(setup: Setup, case: Case, after: Table, expected: Table) -> Iterator[str]:
    is_log = setup.history["kind"] == "log"
    found = (
        difference(without(after, own_to_leave_out(case)), expected.rows, ordered=is_log)
        if expected.rows or after.rows
        else None
    )
    if found:
        yield found
