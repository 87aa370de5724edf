"""What `lakebed watch` remembers between two looks."""

from __future__ import annotations

from lakebed.cli.watch import LONGEST_PAUSE, SOON, Told
from lakebed.errors import BatchError, LakebedError
from lakebed.runner import RunOutcome
from lakebed.runner.report import DatasetOutcome


def outcome(**errors: LakebedError | None) -> RunOutcome:
    return RunOutcome("shop", tuple(DatasetOutcome(name, error=error) for name, error in errors.items()))


def test_a_failure_is_told_once_until_it_is_another_one() -> None:
    told, changed, gone = Told(), BatchError("a.csv has changed"), BatchError("b.csv is gone")
    assert len(told.learns(outcome(a=changed, b=None), now=0).failed) == 1
    assert len(told.learns(outcome(a=changed, b=None), now=10).failed) == 0
    assert len(told.learns(outcome(a=gone, b=None), now=20).failed) == 1
    assert len(told.learns(outcome(a=None, b=None), now=30).failed) == 0
    assert len(told.learns(outcome(a=gone, b=None), now=40).failed) == 1


def test_what_fails_alike_is_tried_less_and_less_often() -> None:
    told, error, waits, now = Told(), BatchError("always"), list[float](), 0.0
    for _ in range(8):
        told.learns(outcome(a=error), now)
        wait = next(n for n in range(100) if told.due("a", now + n))
        waits.append(wait)
        now += wait
    assert waits[:3] == [2, 4, 8]
    assert waits[-1] == LONGEST_PAUSE
    assert told.due("b", now)
    told.learns(outcome(a=None), now)
    assert told.due("a", now)


def test_after_a_death_of_spark_what_failed_is_due_and_known() -> None:
    told, error = Told(), BatchError("Spark gave up", code="spark")
    told.learns(outcome(a=error), now=10)
    assert not told.due("a", 11)
    told.learns_death(11)
    assert told.due("a", 11)
    assert len(told.learns(outcome(a=error), now=11).failed) == 0


def test_deaths_of_spark_count_in_a_row_if_they_come_soon() -> None:
    told = Told()
    assert [told.learns_death(now) for now in (0, 1, SOON, 3 * SOON, 3 * SOON + 1)] == [1, 2, 3, 1, 2]
