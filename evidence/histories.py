"""Random histories, each told by lakebed and by an independent model in plain Python (`tests/oracle`), compared row by row and counter by
counter. Thousands share a table, their number part of the key. A history that differs is printed, made small."""

from __future__ import annotations

from collections.abc import Iterator

from tests.conformance.checks import Open
from tests.properties.judge import differences, explained, generated
from tests.properties.setups import by_pair

from evidence.comparing import compared, every_so_many, opened_tables, say, wrong_ones
from evidence.figure import Figure, part

PER_PAIR = 100_000
PER_TABLE = 20_000


def run(seed: int, share: float) -> Iterator[Figure]:
    """All of it takes hours on a small machine. A share takes every so many of a pair's setups, too."""
    with opened_tables() as opened:
        for pair in by_pair():
            yield _shared(pair, seed, share, part(PER_PAIR, share), opened)


def _shared(pair: tuple[str, str], seed: int, share: float, wanted: int, opened: Open) -> Figure:
    """Many histories in each table, over the setups of the pair."""
    kinds = every_so_many(by_pair()[pair], seed, share)
    each = -(-wanted // len(kinds))
    pieces = [
        (place, piece, min(PER_TABLE, each - start))
        for place in range(len(kinds))
        for piece, start in enumerate(range(0, each, PER_TABLE))
    ]

    def told_otherwise(number: int) -> int:
        place, piece, count = pieces[number]
        name = f"{pair[0]}_{pair[1]}_{place}_{piece}"
        histories = generated(kinds[place], seed * 1000 + piece, count)
        found = differences(kinds[place], histories, opened, name)
        for other in found[:1]:
            say(seed, str(explained(other, histories, opened, f"{name}_small")))
        return len(found)

    wrong = wrong_ones(told_otherwise, range(len(pieces)))
    what = f"{pair[0]} as {pair[1]}, {len(kinds)} setups of {len(by_pair()[pair])}"
    return compared(what, sum(count for _, _, count in pieces), wrong)
