"""Random histories about whole tables (truncates, guards, stale snapshots, offsets), each with a table of its own, told by lakebed and by
the independent model in plain Python (`tests/oracle`), compared row by row and counter by counter."""

from __future__ import annotations

from collections.abc import Iterator

from tests.conformance.checks import Open
from tests.conftest import SMALL
from tests.properties.setups import by_pair
from tests.properties.singles import single_case, single_differences

from evidence.comparing import compared, opened_tables, say, wrong_ones
from evidence.figure import Figure, part

PER_PAIR = 500


def run(seed: int, share: float) -> Iterator[Figure]:
    with opened_tables(SMALL) as opened:
        for pair in by_pair():
            yield _alone(pair, seed, part(PER_PAIR, share), opened)


def _alone(pair: tuple[str, str], seed: int, wanted: int, opened: Open) -> Figure:
    def judged(number: int) -> bool:
        setup, case = single_case(pair, seed * 1_000_000 + number)
        wrong = single_differences(setup, case, opened)
        if wrong:
            say(seed, "\n".join([f"{setup}\n{case['batches']}", *wrong]))
        return bool(wrong)

    return compared(f"{pair[0]} as {pair[1]}", wanted, wrong_ones(judged, range(wanted)))
