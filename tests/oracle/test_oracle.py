"""The oracle against every conformance case: it must be right before it may judge."""

from __future__ import annotations

import pytest
from tests.conformance import cases
from tests.conformance.by_oracle import ByOracle
from tests.conformance.cases import Case
from tests.conformance.checks import failures


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in cases.load()])
def test_oracle_agrees_with_the_case(case: Case) -> None:
    assert failures(case, ByOracle) == []
