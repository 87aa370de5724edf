"""Ranges of target partitions (D14)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.dependencies.building import DAY, day, derived, graph, on, ran, waits, whole

from lakebed.dependencies import Graph, Plan, Range, plan_backfill
from lakebed.dependencies.backfill import sources
from lakebed.errors import DependencyError

WEEKLY = derived(
    "a.week",
    on("a.s", shift={"weekday": "SA(-1)"}),
    sql="SELECT '$w'",
    date_substitutions=[{"token": "$w", "format": "%Y-%m-%d"}],
)
MONTHLY = derived("a.month", on("a.week", shift={"day": 1}), partition_python_mask="%Y%m")


def backfill(items: Graph, name: str, first: str | None, last: str | None, **more: Any) -> Plan:
    present = more.pop("present", None)
    return plan_backfill(items, Range(name, first, last, "by hand", **more), present)


def test_D14_only_partitions_that_a_source_leads_to() -> None:
    done = backfill(graph(WEEKLY, MONTHLY), "A.Week", "20220101", "20220131")
    assert [value for _, value in ran(done)] == ["20220101", "20220108", "20220115", "20220122", "20220129"]
    assert [run.steps[0].sql for run in done.runs][:2] == ["SELECT '2022-01-01'", "SELECT '2022-01-08'"]
    assert {run.write for run in done.runs} == {"overwrite"}


def test_D14_all_source_values_that_map_to_a_target() -> None:
    (run,) = backfill(graph(WEEKLY), "a.week", "20220115", "20220115").runs
    values = [partition.value("day") for partition in run.causes[0].partitions]
    assert values == [f"202201{number}" for number in range(15, 22)]


def test_D14_of_a_month_from_days_and_of_days_from_a_month() -> None:
    monthly = derived("a.m", on("a.s", shift={"day": 1}), partition_python_mask="%Y%m")
    (run,) = backfill(graph(monthly), "a.m", "202402", "202402").runs
    assert len(run.causes[0].partitions) == 29
    daily = derived("a.d", {**on("a.s", shift={"months": 1, "days": -1}), "date_expression": "%Y%m"})
    done = backfill(graph(daily), "a.d", "20240101", "20240430")
    assert [value for _, value in ran(done)] == ["20240131", "20240229", "20240331", "20240430"]


def test_D14_of_days_from_hours() -> None:
    item = derived("a.d", {**on("a.s"), "date_expression": "%Y%m%d%H"})
    (run,) = backfill(graph(item), "a.d", "20240229", "20240229").runs
    assert len(run.causes[0].partitions) == 24


@pytest.mark.parametrize(
    "shift",
    [{}, {"days": -3}, {"months": 2}, {"years": -1, "day": 31}, {"weekday": "MO(-2)"}, {"weeks": 5, "weekday": "FR"},
     {"month": 1, "day": 1}, {"yearday": 200}, {"days": 40, "weekday": "SU(+3)"}],
)  # fmt: skip
def test_D14_enumeration_is_the_inverse_of_D4(shift: dict[str, Any]) -> None:
    from datetime import date, timedelta

    from lakebed.dependencies.mapping import target_of

    item = derived("a.d", on("a.s", shift=shift))
    found = sources(graph(item), item, "20230601", "20240701")
    listed = {
        (str(target.value), partition)
        for target, by_edge in found.items()
        for partitions in by_edge.values()
        for partition in partitions
    }
    days = (date(2019, 1, 1) + timedelta(days=number) for number in range(365 * 9))
    mapped = {
        (str(target_of(item, item.dependencies[0], day(one.strftime(DAY))).value), day(one.strftime(DAY)))
        for one in days
    }
    assert listed == {(value, source) for value, source in mapped if "20230601" <= value <= "20240701"}


def test_D14_only_missing_or_failed() -> None:
    there = {
        "a.s": frozenset(day(f"202201{number:02}") for number in range(1, 32)),
        "a.week": frozenset({day("20220108"), day("20220115")}),
    }
    done = backfill(
        graph(WEEKLY), "a.week", "20220108", "20220122", missing=True, failed=["20220115"], present=there
    )
    assert [value for _, value in ran(done)] == ["20220115", "20220122"]


def test_D14_cascades_or_not() -> None:
    items = graph(WEEKLY, MONTHLY)
    alone = backfill(items, "a.week", "20220101", "20220131")
    followed = backfill(items, "a.week", "20220101", "20220131", cascade=True)
    assert ran(followed) == [*ran(alone), ("a.month", "202201")]
    assert len(followed.runs[-1].causes) == 5
    assert followed.runs[-1].roots == ("by hand",)


def test_D14_what_lacks_its_inputs_waits() -> None:
    item = derived("a.b", on("a.s"), on("a.r"), when="all")
    there = {"a.s": frozenset({day("20220101"), day("20220102")}), "a.r": frozenset({day("20220102")})}
    done = backfill(graph(item), "a.b", "20220101", "20220102", present=there)
    assert ran(done) == [("a.b", "20220102")]
    assert waits(done) == {("a.b", "20220101"): (["a.s"], ["a.r"])}


def test_D14_appended_rows_are_not_appended_again() -> None:
    item = derived("a.b", on("a.s", "append"))
    there = {"a.s": frozenset({day("20220101"), day("20220102")}), "a.b": frozenset({day("20220101")})}
    done = backfill(graph(item), "a.b", "20220101", "20220102", present=there)
    assert ran(done) == [("a.b", "20220102")]
    assert [one.code for one in done.refused] == ["append_holds_rows"]


def test_D14_a_dataset_without_partitions_is_one_run() -> None:
    assert ran(backfill(graph(whole("a.b", on("a.s"))), "a.b", None, None)) == [("a.b", None)]


def test_D14_a_new_backfill_is_a_new_cause() -> None:
    (one,) = plan_backfill(graph(WEEKLY), Range("a.week", "20220115", "20220115", "first")).runs
    (two,) = plan_backfill(graph(WEEKLY), Range("a.week", "20220115", "20220115", "second")).runs
    assert one.id != two.id


@pytest.mark.parametrize(
    ("name", "first", "last", "code"),
    [
        ("a.nope", "20220101", "20220102", "unknown_dataset"),
        ("a.week", "2022-01-01", "20220102", "value_does_not_parse"),
        ("a.week", "20220102", "20220101", "range_empty"),
        ("a.week", None, None, "range_missing"),
        ("a.week", "10000101", "99991231", "range_too_large"),
    ],
)
def test_D14_a_range_that_is_none(name: str, first: str | None, last: str | None, code: str) -> None:
    with pytest.raises(DependencyError) as caught:
        backfill(graph(WEEKLY), name, first, last)
    assert caught.value.code == code
