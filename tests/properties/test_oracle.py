"""The oracle's own properties over random histories, without Spark: quick, and Hypothesis makes a counterexample small."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conformance.by_oracle import ByOracle
from tests.conformance.compare import Table
from tests.conformance.invariants import broken
from tests.conformance.properties import live_rows
from tests.properties.circumstances import befallen
from tests.properties.histories import History, random_history, together
from tests.properties.judge import counted, differences, final, played, redelivered, unequal
from tests.properties.setups import Setup, by_pair, setups
from tests.properties.singles import single_case, single_differences

ALL = list(setups())
ANY_DELIVERY = [setup for setup in ALL if setup.converges]
VERSIONS = [setup for setup in ALL if setup.history["kind"] == "versions"]
THREE_HISTORIES = [
    setup
    for setup in ALL
    if setup.feed["kind"] not in ("append", "ledger") and setup.history.get("deletes") != "ignore"
]
SEEDS = st.integers(0, 2**32)


def history_of(setup: Setup, seed: int) -> History:
    return random_history(setup, random.Random(seed))


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(ANY_DELIVERY), SEEDS, SEEDS)
def test_G6_no_delivery_matters(setup: Setup, seed: int, other: int) -> None:
    history = history_of(setup, seed)
    first = final(setup, [history], ByOracle, "first")
    assert unequal(first, final(setup, redelivered([history], other), ByOracle, "other")) == []


def test_G6_deletes_have_a_time_where_no_delivery_matters() -> None:
    """One without takes the time of its batch (G3)."""
    timed = [
        setup
        for setup in ANY_DELIVERY
        if setup.history.get("valid_from") and not setup.feed.get("event_time")
    ]
    histories = [history_of(setup, seed) for setup in timed for seed in range(200)]
    deletes = [row for history in histories for rows in history for row in rows if row["op"] == "D"]
    assert [row for row in deletes if row["t"] is None] == []


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(VERSIONS), SEEDS)
def test_V7_after_every_batch(setup: Setup, seed: int) -> None:
    case = together(setup, [history_of(setup, seed)])
    dataset, before = ByOracle(case), Table()
    for place, batch in enumerate(case["batches"], 1):
        dataset.apply(batch, batch["schema"], place)
        after = dataset.table()
        assert broken(case, before, after) == []
        before = after


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(THREE_HISTORIES), SEEDS)
def test_R2_three_histories_hold_one_truth(setup: Setup, seed: int) -> None:
    history = history_of(
        replace(setup, bad=False), seed
    )  # a row without `t` is bad only where valid_from is `t`
    truths = []
    for kind in ("log", "current", "versions"):
        same = setup.history if setup.history["kind"] == kind else {"kind": kind}
        case = {**together(setup, [history]), "history": same}
        truths.append(counted(live_rows(case, played(case, ByOracle))))
    assert truths[0] == truths[1] == truths[2]


@pytest.mark.parametrize("setup", [pytest.param(setup, id=setup.name) for setup in ALL])
def test_the_judge_agrees_with_itself(setup: Setup) -> None:
    histories = [history_of(setup, seed) for seed in range(20)]
    assert differences(setup, histories, ByOracle, "itself") == []


@pytest.mark.parametrize("setup", [pytest.param(setup, id=setup.name) for setup in ALL])
def test_the_judge_agrees_with_itself_whatever_befalls_a_table(setup: Setup) -> None:
    for seed in range(2):
        around = befallen(setup, seed)
        histories = [history_of(around, number) for number in range(10)]
        assert differences(around, histories, ByOracle, "itself") == []


@pytest.mark.parametrize("pair", list(by_pair()), ids=" as ".join)
def test_single_tables_of_every_pair_can_be_judged(pair: tuple[str, str]) -> None:
    for seed in range(30):
        setup, case = single_case(pair, seed)
        assert single_differences(setup, case, ByOracle) == []
