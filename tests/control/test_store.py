"""What the store promises, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from sqlalchemy import select

from lakebed.control import BatchPlan, ControlStore, Input
from lakebed.control.engine import make_engine, transaction
from lakebed.control.schema import runs
from lakebed.errors import ConflictError, TableError

NOON = datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC)


def a_plan(number: int = 1, *paths: str, dataset: str = "crm.customers") -> BatchPlan:
    named = paths or (f"{number}.csv",)
    return BatchPlan(dataset, number, tuple(Input(path, 10, 10**18 + 1) for path in named), NOON)


def test_a_plan_comes_back_as_it_was_given(store: ControlStore) -> None:
    plan = BatchPlan("crm.customers", 1, (Input("b.csv", 2**40, 2**60), Input("a.csv", 0, 0)), NOON, NOON)
    assert store.plan_batch(plan).plan == plan
    kept = store.open_batch("crm.customers")
    assert kept is not None
    assert kept.plan == plan
    assert kept.state == "planned"


def test_a_plan_survives_closing_the_store(open_one: Callable[[], ControlStore]) -> None:
    first = open_one()
    first.plan_batch(a_plan())
    first.close()
    kept = open_one().open_batch("crm.customers")
    assert kept is not None
    assert kept.plan == a_plan()


def test_the_first_of_two_plans_wins_and_both_see_it(open_one: Callable[[], ControlStore]) -> None:
    one, other = open_one(), open_one()
    assert one.plan_batch(a_plan(1, "a.csv")).plan == a_plan(1, "a.csv")
    assert other.plan_batch(a_plan(1, "b.csv")).plan == a_plan(1, "a.csv")
    assert other.not_taken("crm.customers", a_plan(1, "a.csv", "b.csv").inputs) == [
        Input("b.csv", 10, 10**18 + 1)
    ]


def test_an_input_is_in_one_batch_only(store: ControlStore) -> None:
    store.plan_batch(a_plan(1, "a.csv"))
    with pytest.raises(ConflictError, match="belongs to another batch"):
        store.plan_batch(a_plan(2, "b.csv", "a.csv"))
    assert [batch.number for batch in store.batches("crm.customers")] == [1]


def test_a_file_written_again_is_a_new_input(store: ControlStore) -> None:
    store.plan_batch(BatchPlan("d.t", 1, (Input("a.csv", 10, 1),), NOON))
    candidates = [Input("a.csv", 10, 1), Input("a.csv", 10, 2), Input("a.csv", 11, 1)]
    assert store.not_taken("d.t", candidates) == candidates[1:]


def test_datasets_do_not_share_inputs_or_numbers(store: ControlStore) -> None:
    store.plan_batch(a_plan(1, "a.csv"))
    assert store.plan_batch(a_plan(1, "a.csv", dataset="crm.others")).number == 1
    assert store.not_taken("crm.third", a_plan(1, "a.csv").inputs) == list(a_plan(1, "a.csv").inputs)


def test_G1_numbers_have_no_gaps(store: ControlStore) -> None:
    store.plan_batch(a_plan(1))
    with pytest.raises(ConflictError, match="the next batch is 2"):
        store.plan_batch(a_plan(3))


def test_G1_the_first_number_is_one(store: ControlStore) -> None:
    with pytest.raises(ConflictError, match="the next batch is 1"):
        store.plan_batch(a_plan(7))


def test_a_plan_that_is_dropped_no_longer_waits_for_anybody(store: ControlStore) -> None:
    store.plan_batch(a_plan(1))
    store.note_failure("crm.customers", 1, {"what": "bad rows"})
    store.drop_plan("crm.customers", 1)
    assert store.failure("crm.customers") is None


def test_a_finished_batch_is_done_and_an_event(store: ControlStore) -> None:
    store.plan_batch(a_plan(1))
    done = store.finish_batch("crm.customers", 1, report={"read": 3}, table_version=4)
    assert (done.state, done.report) == ("done", {"read": 3})
    assert done.finished_at is not None
    assert store.open_batch("crm.customers") is None
    assert store.last_batch("crm.customers") == done
    assert [(one.dataset, one.batch, one.table_version) for one in store.events()] == [
        ("crm.customers", 1, 4)
    ]


def test_finishing_twice_changes_nothing(store: ControlStore) -> None:
    store.plan_batch(a_plan(1))
    first = store.finish_batch("crm.customers", 1, report={"read": 3})
    assert store.finish_batch("crm.customers", 1, report={"read": 99}) == first
    assert len(store.events()) == 1


def test_what_was_never_planned_cannot_be_finished(store: ControlStore) -> None:
    with pytest.raises(TableError, match="never planned"):
        store.finish_batch("crm.customers", 1, report={})


def test_the_open_batch_is_the_first_one(store: ControlStore) -> None:
    for number in (1, 2, 3):
        store.plan_batch(a_plan(number))
    store.finish_batch("crm.customers", 1, report={})
    kept = store.open_batch("crm.customers")
    assert kept is not None
    assert kept.number == 2


def test_a_dropped_plan_gives_its_inputs_back(store: ControlStore) -> None:
    store.plan_batch(a_plan(1, "a.csv"))
    store.drop_plan("crm.customers", 1)
    assert store.open_batch("crm.customers") is None
    assert store.not_taken("crm.customers", a_plan(1, "a.csv").inputs) == list(a_plan(1, "a.csv").inputs)
    store.plan_batch(a_plan(1, "b.csv"))
    store.finish_batch("crm.customers", 1, report={})
    with pytest.raises(TableError, match="done and cannot be dropped"):
        store.drop_plan("crm.customers", 1)


def test_times_are_instants_in_utc(store: ControlStore) -> None:
    tokyo = NOON.astimezone(timezone(timedelta(hours=9)))
    store.plan_batch(BatchPlan("d.t", 1, (), tokyo, tokyo))
    kept = store.last_batch("d.t")
    assert kept is not None
    assert (kept.plan.system_time, kept.plan.event_time) == (NOON, NOON)
    assert kept.plan.system_time.tzinfo is UTC


def test_a_time_without_a_zone_is_refused(store: ControlStore) -> None:
    naive = NOON.replace(tzinfo=None)
    with pytest.raises(Exception, match="without a zone"):
        store.plan_batch(BatchPlan("d.t", 1, (), naive))
    assert store.last_batch("d.t") is None


def test_runs_are_remembered_with_their_error(store: ControlStore) -> None:
    assert store.last_run("d.t") is None
    first = store.start_run("d.t")
    store.finish_run(first, "failed", batches=2, error={"code": "bad_rows"})
    second = store.start_run("d.t")
    assert second > first
    running = store.last_run("d.t")
    assert running is not None
    assert (running.id, running.state, running.finished_at, running.error) == (second, "running", None, None)
    store.finish_run(second, "done", batches=1)
    done = store.last_run("d.t")
    assert done is not None
    assert (done.state, done.batches, done.error) == ("done", 1, None)


def test_a_run_that_was_killed_has_ended_when_the_next_one_begins(address: str, store: ControlStore) -> None:
    killed, other = store.start_run("d.t"), store.start_run("d.other")
    store.finish_run(other, "done", batches=0)
    store.start_run("d.t")
    engine = make_engine(address, base=Path())
    with transaction(engine, writes=False) as connection:
        rows = connection.execute(select(runs).order_by(runs.c.id)).all()
    engine.dispose()
    assert [row.state for row in rows] == ["failed", "done", "running"]
    assert (rows[0].id, rows[0].error["code"]) == (killed, "died")


def test_events_are_read_from_where_one_left_off(store: ControlStore) -> None:
    for number in (1, 2, 3):
        store.plan_batch(a_plan(number))
        store.finish_batch("crm.customers", number, report={})
    first, *rest = store.events()
    assert store.events(after=first.id) == rest
    assert store.events(after=rest[-1].id) == []
    assert store.events(limit=1) == [first]


def test_names_of_any_kind(store: ControlStore) -> None:
    odd = "dé pôt.`t'a\"ble` -- 🗻"
    store.plan_batch(BatchPlan(odd, 1, (Input("ä/ö 'x\".csv", 1, 1),), NOON))
    kept = store.open_batch(odd)
    assert kept is not None
    assert kept.plan.inputs == (Input("ä/ö 'x\".csv", 1, 1),)


def test_a_plan_is_the_same_after_json() -> None:
    import json

    plan = BatchPlan("d.t", 2, (Input("a.csv", 1, 2),), NOON, NOON)
    assert BatchPlan.from_dict(json.loads(json.dumps(plan.as_dict()))) == plan
