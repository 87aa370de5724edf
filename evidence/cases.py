"""Every conformance case through Delta tables; those that G6 and R2 speak about also delivered in two other ways, and kept as log,
as current and as versions. A share takes every so many of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from tests.conformance import cases
from tests.conformance.cases import Case
from tests.conformance.checks import failures
from tests.conformance.properties import broken_convergence, broken_identity, converges, has_three_histories
from tests.conftest import SMALL

from evidence.comparing import compared, opened_tables, wrong_ones
from evidence.figure import Figure


def run(_seed: int, share: float) -> Iterator[Figure]:
    every = cases.load()[:: round(1 / share)]
    with opened_tables(SMALL) as opened:
        judges: dict[str, tuple[list[Case], Callable[[Case], list[str]]]] = {
            "conformance cases": (every, lambda case: failures(case, opened)),
            "G6: conformance cases delivered in two other ways": (
                [case for case in every if converges(case)],
                lambda case: broken_convergence(case, opened, range(2)),
            ),
            "R2: conformance cases kept as log, current and versions": (
                [case for case in every if has_three_histories(case)],
                lambda case: broken_identity(case, opened),
            ),
        }
        for what, (chosen, judge) in judges.items():
            yield _judged(what, chosen, judge)


def _judged(what: str, chosen: list[Case], judge: Callable[[Case], list[str]]) -> Figure:
    wrong = wrong_ones(lambda place: _told(judge(chosen[place]), chosen[place]), range(len(chosen)))
    return compared(what, len(chosen), wrong)


def _told(wrong: list[str], case: Case) -> bool:
    for text in wrong:
        print(f"{case['name']}: {text}", file=sys.stderr, flush=True)
    return bool(wrong)
