"""Random histories, each told by lakebed and by an independent model in plain Python (`tests/oracle`), compared row by row and
counter by counter. Thousands share a table, their number part of the key; those about whole tables (truncates, guards, stale
snapshots, offsets) have one of their own. Then the same events in any other order, split and repetition; and one feed kept as log,
as current and as versions. A history that differs is printed, made small.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from tests.conformance.checks import Open
from tests.conformance.properties import (
    live_rows,
)
from tests.properties.histories import together, told
from tests.properties.judge import (
    counted,
    differences,
    final,
    generated,
    played,
    redelivered,
    smallest,
    unequal,
)
from tests.properties.setups import Setup, by_pair, setups
from tests.properties.singles import single_case, single_differences

from evidence.comparing import compared, opened_tables, wrong_ones
from evidence.figure import Figure, part

PER_PAIR = 100_000
PER_TABLE = 20_000
SINGLE = 500
REDELIVERED = 20_000


def run(seed: int, share: float) -> list[Figure]:
    """All of it takes hours on a small machine."""
    return series(seed, part(PER_PAIR, share), part(SINGLE, share), part(REDELIVERED, share))


def series(seed: int, per_pair: int, single: int, redelivery: int) -> list[Figure]:
    """The same with other numbers, to try it out."""
    with opened_tables() as opened:
        return [
            *(figure for pair in by_pair() for figure in _shared(pair, seed, per_pair, opened)),
            *(figure for pair in by_pair() for figure in _alone(pair, seed, single, opened)),
            *_any_delivery(seed, redelivery, opened),
            *_one_truth(seed, redelivery, opened),
        ]


def _shared(pair: tuple[str, str], seed: int, wanted: int, opened: Open) -> list[Figure]:
    """Many histories in each table, over all setups of the pair."""
    kinds = by_pair()[pair]
    share = -(-wanted // len(kinds))
    told_otherwise = ran = 0
    for place, setup in enumerate(kinds):
        for piece, start in enumerate(range(0, share, PER_TABLE)):
            name = f"{pair[0]}_{pair[1]}_{place}_{piece}"
            histories = generated(setup, seed * 1000 + piece, min(PER_TABLE, share - start))
            found = differences(setup, histories, opened, name)
            ran, told_otherwise = ran + len(histories), told_otherwise + len(found)
            for other in found[:1]:
                _say(seed, str(smallest(other, opened, f"{name}_small") if other.history else other))
    return [compared(f"{pair[0]} as {pair[1]}: histories in shared tables", ran, told_otherwise)]


def _alone(pair: tuple[str, str], seed: int, wanted: int, opened: Open) -> list[Figure]:
    """Each history in its own table."""

    def judged(number: int) -> bool:
        setup, case = single_case(pair, seed * 1_000_000 + number)
        wrong = single_differences(setup, case, opened)
        if wrong:
            _say(seed, f"{setup}\n{case['batches']}\n" + "\n".join(wrong))
        return bool(wrong)

    return [
        compared(
            f"{pair[0]} as {pair[1]}: histories with a table each", wanted, wrong_ones(judged, range(wanted))
        )
    ]


def _any_delivery(seed: int, wanted: int, opened: Open) -> list[Figure]:
    """G6, engine against engine."""
    kinds = [setup for setup in setups() if setup.converges]
    share, wrong, ran = -(-wanted // len(kinds)), 0, 0
    for place, setup in enumerate(kinds):
        histories = generated(setup, seed + 7, share)
        others = redelivered(histories, seed + 8)
        off = unequal(
            final(setup, histories, opened, f"g6_{place}"), final(setup, others, opened, f"g6_{place}_other")
        )
        ran, wrong = ran + share, wrong + len(off)
        if off:
            _say(seed, f"G6 {setup}\n{told(histories[off[0]])}\nand otherwise\n{told(others[off[0]])}")
    return [compared("G6: histories delivered twice, differently", ran, wrong)]


def _one_truth(seed: int, wanted: int, opened: Open) -> list[Figure]:
    """R2, engine against engine."""
    logs = [
        setup
        for setup in setups()
        if setup.history["kind"] == "log" and setup.feed["kind"] not in ("append", "ledger")
    ]
    share, wrong = -(-wanted // len(logs)), 0
    for place, setup in enumerate(logs):
        wrong += _truths_differ(replace(setup, bad=False), seed + 9, share, opened, f"r2_{place}")
    return [compared("R2: histories kept as log, current and versions", share * len(logs), wrong)]


def _truths_differ(setup: Setup, seed: int, count: int, opened: Open, name: str) -> int:
    histories = generated(setup, seed, count)
    truths = []
    for kind in ("log", "current", "versions"):
        case = {**together(setup, histories, f"{name}_{kind}"), "history": {"kind": kind}}
        truths.append(counted(live_rows(case, played(case, opened))))
    off = [((truths[0] - other) + (other - truths[0])) for other in truths[1:]]
    for rows in off:
        for row in list(rows)[:1]:
            _say(seed, f"R2 {setup}: only in one of the histories: {sorted(row)}")
    return max(rows.total() for rows in off)


def _say(seed: int, text: str) -> None:
    print(f"seed {seed}: {text}", file=sys.stderr, flush=True)
