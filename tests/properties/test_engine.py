"""The engine against the oracle, a few hundred random histories for the hardest pairs; `make evidence` runs a hundred thousand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.conformance.checks import Open
from tests.properties.judge import (
    differences,
    generated,
    smallest,
)
from tests.properties.setups import Setup, setups

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HISTORIES = 300
BY_NAME = {setup.name: setup for setup in setups()}
# Each costs a minute of a core: late events, and none, here; every pair in `make evidence`.
HARDEST = [
    BY_NAME["changes (order) as versions (track a)"],
    BY_NAME["changes (in order) as versions (track no n, flag)"],
]


@pytest.fixture
def opened(spark: SparkSession, tmp_path: Path) -> Open:
    from tests.conformance.by_engine import open_in

    opener: Open = open_in(spark, tmp_path)
    return opener


@pytest.mark.parametrize("setup", [pytest.param(setup, id=setup.name) for setup in HARDEST])
def test_engine_agrees_with_the_oracle(setup: Setup, opened: Open) -> None:
    found = differences(setup, generated(setup, 1, HISTORIES), opened, "histories")
    if found:
        first = min(found, key=lambda other: sum(map(len, other.history)) or 10**6)
        first = smallest(first, opened, "smaller") if first.history else first
        pytest.fail(f"{len(found)} of {HISTORIES} histories differ, such as {first}")
