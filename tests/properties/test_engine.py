"""The engine against the oracle, a few hundred random histories for each pair; `make evidence` runs a hundred thousand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.conformance.checks import Open
from tests.properties.histories import told
from tests.properties.judge import (
    differences,
    final,
    generated,
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
# Each costs half a minute of a core: one of each history here, every pair in `make evidence`.
ONE_OF_EACH_HISTORY = [
    BY_NAME[name]
    for name in (
        "snapshot (plain) as log",
        "changes (present columns) as current (flag)",
        "changes (order) as versions (track a)",
    )
]


@pytest.fixture
def opened(spark: SparkSession, tmp_path: Path) -> Open:
    from tests.conformance.by_engine import open_in

    opener: Open = open_in(spark, tmp_path)
    return opener


@pytest.mark.parametrize("setup", [pytest.param(setup, id=setup.name) for setup in ONE_OF_EACH_HISTORY])
def test_engine_agrees_with_the_oracle(setup: Setup, opened: Open) -> None:
    found = differences(setup, generated(setup, 1, HISTORIES), opened, "histories")
    if found:
        first = min(found, key=lambda other: sum(map(len, other.history)) or 10**6)
        first = smallest(first, opened, "smaller") if first.history else first
        pytest.fail(f"{len(found)} of {HISTORIES} histories differ, such as {first}")


@pytest.mark.parametrize("name", ["changes (order) as versions (valid from t)"])
def test_G6_no_delivery_matters(name: str, opened: Open) -> None:
    setup = BY_NAME[name]
    histories = generated(setup, 2, HISTORIES)
    others = redelivered(histories, 3)
    wrong = unequal(final(setup, histories, opened, "first"), final(setup, others, opened, "other"))
    assert not wrong, f"{name}\n{told(histories[wrong[0]])}\nand otherwise\n{told(others[wrong[0]])}"


@pytest.mark.parametrize(("feed", "kind"), [("changes", "log"), ("snapshot", "versions")])
def test_whole_tables_with_truncates_and_guards(feed: str, kind: str, opened: Open) -> None:
    setup, case = single_case((feed, kind), 1)
    assert single_differences(setup, case, opened) == []
