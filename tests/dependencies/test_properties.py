"""What holds for any graph, compared with a closure computed in the plainest way."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.dependencies.building import DAY, derived, event, graph, on

from lakebed.dependencies import Graph, State, plan

Dag = Mapping[int, Sequence[tuple[int, int]]]
"""For each dataset (from 3; 0 to 2 are sources) the tables it reads, and by how many days it shifts them."""


@st.composite
def dags(draw: st.DrawFn) -> Dag:
    count = draw(st.integers(1, 8))
    return {
        number: draw(
            st.lists(st.tuples(st.integers(0, number - 1), st.integers(-2, 2)), min_size=1, max_size=3, unique=True)
        )
        for number in range(3, 3 + count)
    }  # fmt: skip


def graph_of(dag: Dag) -> Graph:
    items = [
        derived(f"t.n{number}", *[on(f"t.n{source}", shift={"days": days}) for source, days in reads])
        for number, reads in dag.items()
    ]
    return graph(*items)


def closure(dag: Dag, source: int, day: str) -> set[tuple[str, str]]:
    """All that follows from one partition, by following every edge until nothing is new."""
    found: set[tuple[int, str]] = set()
    left = [(source, day)]
    while left:
        table, value = left.pop()
        for number, reads in dag.items():
            for read, days in reads:
                moved = dt.datetime.strptime(value, DAY) + dt.timedelta(days=days)  # noqa: DTZ007
                target = (number, moved.strftime(DAY))
                if read == table and target not in found:
                    found.add(target)
                    left.append(target)
    return {(f"t.n{number}", value) for number, value in found}


EVENTS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["20240228", "20240301", "20240310"])), max_size=4
)


@settings(max_examples=60, deadline=None)
@given(dags(), EVENTS)
def test_D10_everything_that_follows_runs_once_and_after_what_feeds_it(
    dag: Dag, given_events: list[tuple[int, str]]
) -> None:
    items = graph_of(dag)
    events = [event(f"t.n{table}", day, id=str(number)) for number, (table, day) in enumerate(given_events)]
    done = plan(items, events)
    ran = [(run.dataset, str(run.target.value)) for run in done.runs]
    assert len(ran) == len(set(ran))
    assert set(ran) == {one for table, day in given_events for one in closure(dag, table, day)}
    place = {run.id: index for index, run in enumerate(done.runs)}
    for run in done.runs:
        assert all(place.get(cause.event, -1) < place[run.id] for cause in run.causes)
    assert not done.waiting
    assert not done.refused


@settings(max_examples=40, deadline=None)
@given(dags(), EVENTS)
def test_D10_passes_reach_what_one_pass_reaches(dag: Dag, given_events: list[tuple[int, str]]) -> None:
    items = graph_of(dag)
    events = [event(f"t.n{table}", day, id=str(number)) for number, (table, day) in enumerate(given_events)]
    at_once = {run.target for run in plan(items, events).runs}
    state, reached = State(), set()
    for one in events:
        done = plan(items, [one], state)
        state = done.state
        reached |= {run.target for run in done.runs}
    assert reached == at_once
    assert plan(items, events, state).runs == ()


@settings(max_examples=40, deadline=None)
@given(dags(), st.integers(3, 10))
def test_D11_nothing_downstream_of_a_failure_runs(dag: Dag, broken: int) -> None:
    items = graph_of(dag)
    name = f"t.n{broken}"
    done = plan(items, [event("t.n0", "20240301")], failing=lambda run: 1 if run.dataset == name else None)
    failed = [run.run.target for run in done.failed]
    below = {one for target in failed for one in closure(dag, broken, str(target.value))}
    assert not below & {(run.dataset, str(run.target.value)) for run in done.runs}
