"""What a target waits for."""

from __future__ import annotations

import pytest
from tests.dependencies.building import day, derived, event, graph, on, ran, waits, whole

from lakebed.dependencies import Event, Partition, State, plan

D = "20220120"


def test_D3_validate_never_triggers() -> None:
    items = graph(derived("a.b", on("a.s"), on("a.look", "validate")))
    assert ran(plan(items, [event("a.look", D)])) == []
    assert ran(plan(items, [event("a.s", D)])) == [("a.b", D)]


def test_D3_required_makes_the_run_wait_for_the_mapped_partition() -> None:
    items = graph(derived("a.b", on("a.s"), on("a.look", "validate", required=True, shift={"days": -1})))
    first = plan(items, [event("a.s", D)])
    assert (ran(first), waits(first)) == ([], {("a.b", D): (["a.s"], ["a.look"])})
    other = plan(items, [event("a.look", D)], first.state)
    assert (ran(other), len(other.waiting)) == ([], 1)
    there = plan(items, [event("a.look", "20220121")], other.state)
    assert (ran(there), waits(there)) == ([("a.b", D)], {})
    assert [cause.event for cause in there.runs[0].causes] == ["a.s@20220120"]


def test_D3_required_without_a_column_waits_for_the_table() -> None:
    items = graph(derived("a.b", on("a.s"), on("a.look", "validate", required=True, day=False)))
    first = plan(items, [event("a.s", D)])
    assert waits(first) == {("a.b", D): (["a.s"], ["a.look"])}
    assert ran(plan(items, [event("a.look")], first.state)) == [("a.b", D)]


def test_D3_what_is_already_there_counts() -> None:
    items = graph(derived("a.b", on("a.s"), on("a.look", "validate", required=True)))
    there = State(present={"a.look": frozenset({day(D)})})
    assert ran(plan(items, [event("a.s", D)], there)) == [("a.b", D)]


def test_D8_all_then_each_arrival_runs_again() -> None:
    items = graph(derived("a.b", on("a.s"), on("a.r", shift={"days": -1}), when="all"))
    first = plan(items, [event("a.s", D)])
    assert waits(first) == {("a.b", D): (["a.s"], ["a.r"])}
    second = plan(items, [event("a.r", "20220121")], first.state)
    assert (ran(second), waits(second)) == ([("a.b", D)], {})
    assert [cause.table for cause in second.runs[0].causes] == ["a.s", "a.r"]
    third = plan(items, [event("a.s", D, id="again")], second.state)
    assert ran(third) == [("a.b", D)]
    assert [cause.event for cause in third.runs[0].causes] == ["again"]


def test_D8_counted_per_partition() -> None:
    items = graph(derived("a.b", on("a.s"), on("a.r"), when="all"))
    done = plan(items, [event("a.s", D), event("a.r", "20220121")])
    assert ran(done) == []
    assert waits(done) == {("a.b", D): (["a.s"], ["a.r"]), ("a.b", "20220121"): (["a.r"], ["a.s"])}


def test_D8_the_same_arrival_twice_is_not_two_sources() -> None:
    items = graph(derived("a.b", on("a.s"), on("a.r"), when={"at_least": 2}))
    first = plan(items, [event("a.s", D, id="e1")])
    assert ran(plan(items, [event("a.s", D, id="e2")], first.state)) == []


@pytest.mark.parametrize(("needed", "runs_at"), [(1, 1), (2, 2), (3, 3)])
def test_D8_at_least_some(needed: int, runs_at: int) -> None:
    items = graph(derived("a.b", *[on(f"a.s{n}") for n in (1, 2, 3)], when={"at_least": needed}))
    state, runs = State(), []
    for number in (1, 2, 3):
        done = plan(items, [event(f"a.s{number}", D)], state)
        state = done.state
        runs.append(len(done.runs))
    assert runs == [int(number >= runs_at) for number in (1, 2, 3)]


def test_D8_validate_is_not_counted() -> None:
    items = graph(derived("a.b", on("a.s"), on("a.look", "validate"), when="all"))
    assert ran(plan(items, [event("a.s", D)])) == [("a.b", D)]


def test_D8_waiting_appends_run_each_for_itself() -> None:
    items = graph(derived("a.b", on("a.s", "append"), on("a.r", "append"), when="all"))
    done = plan(items, [event("a.s", D), event("a.r", D)])
    assert [[cause.table for cause in run.causes] for run in done.runs] == [["a.s"], ["a.r"]]


def test_D8_over_hops_in_one_pass() -> None:
    items = graph(
        derived("g.b", on("g.a")), derived("g.c", on("g.a")), derived("g.d", on("g.b"), on("g.c"), when="all")
    )
    assert ran(plan(items, [event("g.a", D)])) == [("g.b", D), ("g.c", D), ("g.d", D)]


def test_D8_a_target_without_partitions() -> None:
    items = graph(whole("a.b", on("a.s"), on("a.r"), when="all"))
    first = plan(items, [event("a.s", D)])
    assert waits(first) == {("a.b", None): (["a.s"], ["a.r"])}
    assert ran(plan(items, [Event("x", "a.r", (Partition(),))], first.state)) == [("a.b", None)]
