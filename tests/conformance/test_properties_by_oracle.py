"""The properties of the cases' README, for all cases, in the oracle: a rule that contradicts itself shows here first."""

from __future__ import annotations

from tests.conformance.by_oracle import ByOracle
from tests.conformance.cases import Case
from tests.conformance.properties import broken_convergence, broken_identity


def test_G6_no_delivery_matters(ordered_case: Case) -> None:
    assert broken_convergence(ordered_case, ByOracle, range(8)) == []


def test_R2_three_histories_hold_one_truth(stateful_case: Case) -> None:
    assert broken_identity(stateful_case, ByOracle) == []
