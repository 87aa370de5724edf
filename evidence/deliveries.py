"""G6: random histories whose events are delivered again in another order, split and repetition, lakebed against lakebed. R2: one feed kept
as log, as current and as versions. A share takes every so many of the setups, too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tests.conformance.checks import Open
from tests.conformance.properties import live_rows
from tests.properties.histories import together, told
from tests.properties.judge import counted, final, generated, played, redelivered, unequal
from tests.properties.setups import Setup, setups

from evidence.comparing import compared, every_so_many, opened_tables, say
from evidence.figure import Figure, part

HISTORIES = 20_000


def run(seed: int, share: float) -> Iterator[Figure]:
    wanted = part(HISTORIES, share)
    with opened_tables() as opened:
        yield _any_delivery(seed, share, wanted, opened)
        yield _one_truth(seed, share, wanted, opened)


def _any_delivery(seed: int, share: float, wanted: int, opened: Open) -> Figure:
    """G6, engine against engine."""
    kinds = every_so_many([setup for setup in setups() if setup.converges], seed, share)
    each, wrong, ran = -(-wanted // len(kinds)), 0, 0
    for place, setup in enumerate(kinds):
        histories = generated(setup, seed + 7, each)
        others = redelivered(histories, seed + 8)
        off = unequal(
            final(setup, histories, opened, f"g6_{place}"), final(setup, others, opened, f"g6_{place}_other")
        )
        ran, wrong = ran + each, wrong + len(off)
        if off:
            say(seed, f"G6 {setup}\n{told(histories[off[0]])}\nand otherwise\n{told(others[off[0]])}")
    return compared("G6: histories delivered twice, differently", ran, wrong)


def _one_truth(seed: int, share: float, wanted: int, opened: Open) -> Figure:
    """R2, engine against engine."""
    logs = [
        setup
        for setup in setups()
        if setup.history["kind"] == "log" and setup.feed["kind"] not in ("append", "ledger")
    ]
    logs = every_so_many(logs, seed, share)
    each, wrong = -(-wanted // len(logs)), 0
    for place, setup in enumerate(logs):
        wrong += _truths_differ(replace(setup, bad=False), seed + 9, each, opened, f"r2_{place}")
    return compared("R2: histories kept as log, current and versions", each * len(logs), wrong)


def _truths_differ(setup: Setup, seed: int, count: int, opened: Open, name: str) -> int:
    histories = generated(setup, seed, count)
    truths = []
    for kind in ("log", "current", "versions"):
        case = {**together(setup, histories, f"{name}_{kind}"), "history": {"kind": kind}}
        truths.append(counted(live_rows(case, played(case, opened))))
    off = [((truths[0] - other) + (other - truths[0])) for other in truths[1:]]
    for rows in off:
        for row in list(rows)[:1]:
            say(seed, f"R2 {setup}: only in one of the histories: {sorted(row)}")
    return max(rows.total() for rows in off)
