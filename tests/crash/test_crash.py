"""G1: a batch that dies at any write leaves the tables as before it or as after it, and the next try finishes it."""

from __future__ import annotations

import datetime as dt
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.crash.scenario import SECOND, START, TABLES, Scenario, content, frame

import lakebed as lb
from lakebed.errors import ConflictError, LakebedError
from lakebed.tables.delta import DeltaTable

WRITES = ("create", "append", "replace", "remove")


class DiedError(Exception):
    """Stands for the end of the process."""


class Dying:
    """Lets the n-th write of any table die: before it, after it, or after it with the answer lost."""

    def __init__(self, patch: pytest.MonkeyPatch, nth: int, when: str) -> None:
        self.calls, self.nth, self.when = 0, nth, when
        for name in WRITES:
            patch.setattr(DeltaTable, name, self._dying(getattr(DeltaTable, name)))

    def _dying(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def dies(*args: Any, **options: Any) -> Any:
            self.calls += 1
            mine = self.calls == self.nth
            if mine and self.when == "before":
                raise DiedError
            result = write(*args, **options)
            if mine:
                raise DiedError
            return result

        return dies


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


def moments(patch: pytest.MonkeyPatch, scenario: Scenario) -> Iterator[tuple[int, str]]:
    """After every third write of the batch: each is a state of its own."""
    with patch.context() as counting:
        dying = Dying(counting, -1, "never")
        scenario.second(scenario.copy("counted"))
    for nth in range(2, dying.calls + 1, 3):
        yield nth, "after"


def test_G1_a_batch_that_dies_at_any_write_is_finished_by_the_next_try(
    scenario: Scenario, undisturbed: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = 0
    for nth, when in moments(monkeypatch, scenario):
        path = scenario.copy(f"died-{nth}-{when}")
        with monkeypatch.context() as patch:
            Dying(patch, nth, when)
            with pytest.raises(DiedError):
                scenario.second(path)
        scenario.second(path)
        assert content(scenario.spark, path) == undisturbed, f"write {nth}, {when}"
        tried += 1
    assert tried >= 1


def test_G1_every_prefix_of_the_files_is_a_state_to_go_on_from(
    scenario: Scenario, undisturbed: dict[str, list[str]]
) -> None:
    """All files of Delta are written once, so each prefix by time is what a crash may leave. A few of them here."""
    whole = scenario.copy("whole")
    before = {str(path) for path in _files(whole)}
    scenario.second(whole)
    added = [path for path in _files(whole) if str(path) not in before]
    assert len(added) > 4
    for cut in (len(added) // 2,):
        path = scenario.copy(f"cut-{cut}")
        for source in added[:cut]:
            target = Path(str(source).replace(str(whole), str(path), 1))
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
        scenario.second(path)
        assert content(scenario.spark, path) == undisturbed, f"{cut} of {len(added)} files"


def _files(path: Path) -> list[Path]:
    found = [
        file
        for suffix in TABLES
        for file in Path(f"{path}{suffix}").rglob("*")
        if file.is_file() and ".crc" not in file.name
    ]
    return sorted(found, key=lambda file: file.stat().st_mtime_ns)


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


def test_G1_a_batch_again_under_its_number_changes_nothing(
    scenario: Scenario, undisturbed: dict[str, list[str]]
) -> None:
    path = scenario.copy("again")
    scenario.second(path)
    report = scenario.table(path).apply(
        frame(scenario.spark, SECOND[:1]), batch=2, system_time=START + dt.timedelta(days=9)
    )
    assert report.already_applied
    assert content(scenario.spark, path) == undisturbed


def test_G1_a_crash_in_the_first_create_leaves_folders_that_do_no_harm(
    spark: SparkSession, tmp_path: Path
) -> None:
    made = Scenario(spark, tmp_path / "hollow", lb.Versions())
    (tmp_path / "hollow" / "_delta_log" / "_staged_commits").mkdir(parents=True)
    made.prepare()
    assert made.table(made.base).last_batch == 1
