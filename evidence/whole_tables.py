"""Random histories in tables that something befalls as a whole: truncates that come late, again, twice; batches that lack columns or have
them in other types; batches with and without a time; partitions. A few hundred share a table; lakebed and the independent
model in plain Python (`tests/oracle`) are compared row by row and counter by counter. A history that differs is printed, made small."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.conformance.checks import Open
from tests.conftest import SMALL
from tests.properties.circumstances import befallen
from tests.properties.judge import differences, explained, generated
from tests.properties.setups import by_pair

from evidence.comparing import compared, opened_tables, say, wrong_ones
from evidence.figure import Figure, part

TABLES = 40  # per pair
HISTORIES = 500  # per table


def run(seed: int, share: float) -> Iterator[Figure]:
    with opened_tables(SMALL) as opened:
        for pair in by_pair():
            yield _pair(pair, seed, part(TABLES, share), opened)


def _pair(pair: tuple[str, str], seed: int, tables: int, opened: Open) -> Figure:
    def told_otherwise(number: int) -> int:
        dice = random.Random(f"{pair} {seed} {number}")
        setup = befallen(dice.choice(by_pair()[pair]), seed * 1000 + number)
        name = f"{pair[0]}_{pair[1]}_{number}"
        histories = generated(setup, seed, HISTORIES)
        found = differences(setup, histories, opened, name)
        for other in found[:1]:
            say(seed, str(explained(other, histories, opened, f"{name}_small")))
        return len(found)

    wrong = wrong_ones(told_otherwise, range(tables))
    return compared(f"{pair[0]} as {pair[1]}, {tables} tables", tables * HISTORIES, wrong)
