"""The engine against the oracle, some random histories for the hardest pair; `make evidence` runs a hundred thousand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.conformance.checks import Open
from tests.properties.circumstances import befallen
from tests.properties.judge import differences, explained, generated
from tests.properties.setups import setups

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HISTORIES = 200
BY_NAME = {setup.name: setup for setup in setups()}
# It costs a minute of a core: late events in a table with truncates and columns that come and go; every pair in `make evidence`.
HARDEST = befallen(BY_NAME["changes (order) as versions (track a)"], 0)


@pytest.fixture
def opened(spark: SparkSession, tmp_path: Path) -> Open:
    from tests.conformance.by_engine import open_in

    opener: Open = open_in(spark, tmp_path)
    return opener


def test_engine_agrees_with_the_oracle(opened: Open) -> None:
    histories = generated(HARDEST, 1, HISTORIES)
    found = differences(HARDEST, histories, opened, "histories")
    if found:
        first = min(found, key=lambda other: sum(map(len, other.history)) or 10**6)
        first = explained(first, histories, opened, "smaller")
        pytest.fail(f"{len(found)} of {HISTORIES} histories differ, such as {first}")
