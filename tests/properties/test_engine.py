"""The engine against the oracle, a few hundred random histories for each pair; `make evidence` runs a hundred thousand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.conformance.checks import Open
from tests.conformance.properties import live_rows
from tests.properties.histories import together, told
from tests.properties.judge import (
    counted,
    differences,
    final,
    generated,
    played,
    redelivered,
    smallest,
    unequal,
)
from tests.properties.setups import Setup, setups
from tests.properties.singles import single_case, single_differences

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HISTORIES = 300
BY_NAME = {setup.name: setup for setup in setups()}
ONE_OF_EACH_PAIR = [
    BY_NAME[name]
    for name in (
        "append (event time) as log",
        "ledger (correcting) as log",
        "ledger (event time) as current",
        "snapshot (plain) as log",
        "snapshot (compare a) as current (flag)",
        "snapshot (plain) as versions (track no n, flag)",
        "updates (ignore nulls) as log",
        "updates (stored order) as current",
        "updates (order) as versions (initial)",
        "changes (order, no ties) as log",
        "changes (present columns) as current (flag)",
        "changes (order) as versions (track a)",
    )
]


@pytest.fixture
def opened(spark: SparkSession, tmp_path: Path) -> Open:
    from tests.conformance.by_engine import open_in

    opener: Open = open_in(spark, tmp_path)
    return opener


@pytest.mark.parametrize("setup", [pytest.param(setup, id=setup.name) for setup in ONE_OF_EACH_PAIR])
def test_engine_agrees_with_the_oracle(setup: Setup, opened: Open) -> None:
    found = differences(setup, generated(setup, 1, HISTORIES), opened, "histories")
    if found:
        first = min(found, key=lambda other: sum(map(len, other.history)) or 10**6)
        first = smallest(first, opened, "smaller") if first.history else first
        pytest.fail(f"{len(found)} of {HISTORIES} histories differ, such as {first}")


@pytest.mark.parametrize(
    "name", ["updates (ignore nulls) as current", "changes (order) as versions (valid from t)"]
)
def test_G6_no_delivery_matters(name: str, opened: Open) -> None:
    setup = BY_NAME[name]
    histories = generated(setup, 2, HISTORIES)
    others = redelivered(histories, 3)
    wrong = unequal(final(setup, histories, opened, "first"), final(setup, others, opened, "other"))
    assert not wrong, f"{name}\n{told(histories[wrong[0]])}\nand otherwise\n{told(others[wrong[0]])}"


def test_R2_three_histories_hold_one_truth(opened: Open) -> None:
    setup = BY_NAME["changes (ignore nulls in a) as log"]
    histories = generated(setup, 4, HISTORIES)
    truths = []
    for kind in ("log", "current", "versions"):
        case = {**together(setup, histories, kind), "history": {"kind": kind}}
        truths.append(counted(live_rows(case, played(case, opened))))
    assert truths[0] == truths[1]
    assert truths[1] == truths[2]


@pytest.mark.parametrize("kind", ["log", "current", "versions"])
@pytest.mark.parametrize("feed", ["snapshot", "changes"])
def test_whole_tables_with_truncates_and_guards(feed: str, kind: str, opened: Open) -> None:
    setup, case = single_case((feed, kind), 1)
    assert single_differences(setup, case, opened) == []
