"""`pytest tests/conformance --cases DIR`: cases from other folders than `tests/cases`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conformance import cases
from tests.conformance.cases import Case
from tests.conformance.properties import chosen, converges, has_three_histories

# What a test gets that asks for one of these: one case after the other.
SELECTIONS: dict[str, Callable[[Case], bool]] = {
    "case": lambda _case: True,
    "ordered_case": converges,
    "stateful_case": has_three_histories,
    # The properties cost two to five tables for a case: one in ten here, all of them in `make evidence`.
    "sampled_ordered_case": lambda case: chosen(case, 10) and converges(case),
    "sampled_stateful_case": lambda case: chosen(case, 10) and has_three_histories(case),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cases",
        action="append",
        type=Path,
        metavar="DIR",
        help="a folder of conformance cases; may be given several times (default: tests/cases)",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for name in SELECTIONS.keys() & set(metafunc.fixturenames):
        folders = metafunc.config.getoption("--cases", default=None) or [cases.DEFAULT]
        selected = [case for case in cases.load(folders) if SELECTIONS[name](case)]
        metafunc.parametrize(name, [pytest.param(case, id=case["name"]) for case in selected])
