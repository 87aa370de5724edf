"""G1: a batch that dies leaves the tables as before it or as after it, and the next try finishes it. `make evidence` dies at
every write, and goes on from every prefix of the files."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.crash.dying import died
from tests.crash.scenario import Scenario, content

import lakebed as lb
from lakebed.errors import ConflictError, LakebedError


@pytest.fixture(scope="module")
def scenario(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    made = Scenario(spark, tmp_path_factory.mktemp("crash") / "base", lb.Versions())
    made.prepare()
    return made


@pytest.fixture(scope="module")
def undisturbed(scenario: Scenario) -> dict[str, list[str]]:
    path = scenario.copy("undisturbed")
    scenario.second(path)
    return content(scenario.spark, path)


def test_G1_a_batch_that_dies_at_a_write_is_finished_by_the_next_try(
    scenario: Scenario, undisturbed: dict[str, list[str]]
) -> None:
    """After the second one, when the truth has the batch and the tables that follow lack it; `make evidence` has them all."""
    path = died(scenario, 2, "after")
    scenario.second(path)
    assert content(scenario.spark, path) == undisturbed


def test_G1_of_two_writers_at_once_one_wins_and_the_table_is_right(
    scenario: Scenario, undisturbed: dict[str, list[str]]
) -> None:
    path = scenario.copy("two-writers")
    outcomes: list[object] = []
    start = threading.Barrier(2)

    def write() -> None:
        start.wait()
        try:
            outcomes.append(scenario.second(path))
        except LakebedError as error:
            outcomes.append(error)

    writers = [threading.Thread(target=write) for _ in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    applied = [one for one in outcomes if isinstance(one, lb.BatchReport) and not one.already_applied]
    others = [one for one in outcomes if one not in applied]
    assert len(applied) <= 1
    assert all(isinstance(one, ConflictError) or getattr(one, "already_applied", False) for one in others)
    scenario.second(path)
    assert content(scenario.spark, path) == undisturbed


def test_G1_a_crash_in_the_first_create_leaves_folders_that_do_no_harm(
    spark: SparkSession, tmp_path: Path
) -> None:
    made = Scenario(spark, tmp_path / "hollow", lb.Log(), lb.Append(except_columns=["op"]))
    (tmp_path / "hollow" / "_delta_log" / "_staged_commits").mkdir(parents=True)
    made.prepare()
    assert made.table(made.base).last_batch == 1
