"""What the series have in common that compare tables with what is expected of them."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.conformance.by_engine import open_in
from tests.conformance.checks import Open

from evidence.figure import Figure
from lakebed.session import session

SIDE_BY_SIDE = 4


@contextmanager
def opened_tables(conf: Mapping[str, str] | None = None) -> Iterator[Open]:
    """Opens tables in a folder that goes when all is done."""
    folder = Path(tempfile.mkdtemp(prefix="lakebed-evidence-"))
    try:
        yield open_in(session(conf=conf), folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def wrong_ones(judged: Callable[[int], int], numbers: range) -> int:
    """How many are wrong in all of these, several looked at side by side."""
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        return sum(pool.map(judged, numbers))


def every_so_many(some: Sequence[Any], seed: int, share: float) -> list[Any]:
    """A share of them, one at the least; which ones, the seed decides."""
    step = min(len(some), round(1 / share))
    return list(some[seed % step :: step])


def missing(some: Sequence[object], others: Sequence[object]) -> int:
    """How many of some rows are not among the others, each counted once."""
    left, lost = list(others), 0
    for row in some:
        if row in left:
            left.remove(row)
        else:
            lost += 1
    return lost


def say(seed: int, text: str) -> None:
    """What differs, for whoever has to find out why."""
    print(f"seed {seed}: {text}", file=sys.stderr, flush=True)


def compared(what: str, ran: int, wrong: int) -> Figure:
    return Figure(what, f"{ran:,}, {wrong} of them told differently")
