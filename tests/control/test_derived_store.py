"""What the store keeps of derived datasets, on both databases."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.dependencies.building import derived, event, graph, on

from lakebed.control import ControlStore, DeadLetter, Position
from lakebed.dependencies import Plan, Target, plan

A = graph(derived("a.Both", on("a.left"), on("a.right"), when="all"))
DAY = "20220120"


def waiting_plan(*days: str) -> Plan:
    return plan(A, [event("a.left", *days)])


def test_a_pass_keeps_positions_and_what_waits_together(store: ControlStore) -> None:
    store.derived.finish_pass({("a.both", "a.left"): Position(3, "id")}, A.derived, waiting_plan(DAY))
    store.derived.finish_pass({("a.both", "a.left"): Position(4, "id")}, A.derived, waiting_plan(DAY))
    assert store.derived.positions() == {("a.both", "a.left"): Position(4, "id")}
    (waits,) = store.derived.waiting()
    assert (waits.dataset, waits.partition, waits.arrived, waits.missing) == (
        "a.Both",
        DAY,
        ("a.left",),
        ("a.right",),
    )
    assert store.derived.pending() == waiting_plan(DAY).state.waiting


def test_a_target_waits_since_it_began_to(store: ControlStore) -> None:
    store.derived.finish_pass({}, A.derived, waiting_plan(DAY))
    (before,) = store.derived.waiting()
    store.derived.finish_pass({}, A.derived, waiting_plan(DAY, "20220121"))
    assert {one.partition: one.since > before.since for one in store.derived.waiting()} == {
        DAY: False,
        "20220121": True,
    }


def test_a_pass_over_some_datasets_leaves_what_waits_of_the_others(store: ControlStore) -> None:
    store.derived.finish_pass({}, A.derived, waiting_plan(DAY))
    other = graph(derived("b.other", on("a.left")))
    store.derived.finish_pass({}, other.derived, plan(other, []))
    assert list(store.derived.pending()) == [Target("a.both", DAY)]


def test_D11_a_dead_letter_stays_until_it_is_discarded(store: ControlStore) -> None:
    causes = waiting_plan(DAY).waiting[0].causes
    at = datetime(2026, 1, 1, tzinfo=UTC)
    letter = DeadLetter("id", "a.Both", DAY, causes, 2, {"code": "sql", "what": "no"}, at)
    store.derived.bury(letter)
    store.derived.bury(letter)
    assert store.derived.dead_letters() == [letter]
    store.derived.discard("id")
    assert store.derived.dead_letters() == []


def test_runs_are_told_the_newest_first(store: ControlStore) -> None:
    (run,) = plan(A, [event("a.left", DAY), event("a.right", DAY)]).runs
    first = store.derived.start_run(run, [{"db": "a", "info": "", "sql": "SELECT 1"}])
    second = store.derived.start_run(run, [])
    store.derived.finish_run(first, state="failed", failed_step=1, error={"code": "sql"})
    store.derived.finish_run(second, state="done", version=3, rows=10, files=1)
    newest, oldest = store.derived.runs("a.Both")
    assert (newest.state, newest.version, newest.rows, newest.causes) == ("done", 3, 10, run.causes)
    assert (oldest.state, oldest.failed_step, oldest.steps[0]["sql"]) == ("failed", 1, "SELECT 1")
    assert store.derived.runs("b.other") == []
    assert len(store.derived.runs(limit=1)) == 1
