"""`pytest tests/conformance --cases DIR`: all cases of a folder, through real Delta tables.

Without the option the seeds' worked examples and what is precious go through Delta; the oracle has them all, with their properties. (A batch
costs seconds of a core, whatever its size.) `make evidence` runs everything.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conformance import cases
from tests.conformance.cases import Case
from tests.conformance.properties import chosen, converges, has_three_histories

# One of each seed, and of seed 004 all its strategies.
WORKED_EXAMPLES = (
    "seed_000_corner_cases",
    "seed_001_steps_1_to_6",
    "seed_002_products",
    "seed_004_cities_append",
    "seed_004_cities_ledger",
    "seed_004_cities_retraction",
    "seed_004_cities_snapshot",
)
# What would cost a user the table if it broke.
PRECIOUS = ("settings_order_by_added",)

# What a test gets that asks for one of these: one case after the other.
SELECTIONS: dict[str, Callable[[Case], bool]] = {
    "case": lambda _case: True,
    "sampled_case": lambda case: case["name"] in WORKED_EXAMPLES + PRECIOUS,
    "sampled_property": lambda case: case["name"] == "versions_users_example",
    "ordered_case": converges,
    "stateful_case": has_three_histories,
    # The properties cost two to five tables for a case: a tenth of the cases, where a folder is named.
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
    given = metafunc.config.getoption("--cases", default=None)
    through_delta = "verdicts" in metafunc.fixturenames
    for name in SELECTIONS.keys() & set(metafunc.fixturenames):
        select = SELECTIONS[name]
        if through_delta and not given:
            select = SELECTIONS["sampled_case"] if name == "case" else SELECTIONS["sampled_property"]
        selected = [case for case in cases.load(given or [cases.DEFAULT]) if select(case)]
        metafunc.parametrize(name, [pytest.param(case, id=case["name"]) for case in selected])
