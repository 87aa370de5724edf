"""Failures, skipped inputs and leases, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.control.test_store import a_plan

from lakebed.control import ControlStore
from lakebed.errors import TableError

NAME = "crm.customers"


def test_a_failure_is_kept_until_it_is_cleared(store: ControlStore) -> None:
    assert store.failure(NAME) is None
    store.note_failure(NAME, 3, {"code": "bad_rows", "what": "two rows"})
    store.note_failure(NAME, 4, {"code": "bad_rows", "what": "three rows"})
    failed = store.failure(NAME)
    assert failed is not None
    assert (failed.number, failed.error["what"]) == (4, "three rows")
    assert store.failure("crm.orders") is None
    store.clear_failure(NAME)
    assert store.failure(NAME) is None


def test_inputs_that_are_skipped_are_taken_for_good_and_their_number_is_free(store: ControlStore) -> None:
    plan = a_plan(1, "a.csv", "b.csv")
    store.plan_batch(plan)
    store.note_failure(NAME, 1, {"code": "bad_rows"})
    assert store.skip_batch(NAME, 1) == plan.inputs
    assert store.failure(NAME) is None
    assert store.not_taken(NAME, plan.inputs) == []
    assert store.taken_paths(NAME, ["a.csv"]) == {}
    assert store.plan_batch(a_plan(1, "c.csv")).plan == a_plan(1, "c.csv")
    store.finish_batch(NAME, 1, report={})
    assert store.taken_paths(NAME, ["a.csv", "c.csv"]) == {"c.csv": 1}
    assert store.known_paths(NAME) == {"a.csv": None, "b.csv": None, "c.csv": 1}
    assert store.known_paths("crm.orders") == {}
    for number, why in ((1, "done"), (2, "not planned")):
        with pytest.raises(TableError, match=why):
            store.skip_batch(NAME, number)
    store.skip_inputs(NAME, plan.inputs)  # known already
    store.plan_batch(a_plan(2, "a.csv"))
    assert store.known_paths(NAME) == {"a.csv": 2, "b.csv": None, "c.csv": 1}  # what was taken since counts


def test_a_lease_has_one_holder_at_a_time(open_one: Callable[[], ControlStore]) -> None:
    one, other = open_one(), open_one()
    assert one.take_lease(NAME, "me", seconds=100)
    assert not other.take_lease(NAME, "you", seconds=100)
    assert one.take_lease(NAME, "me", seconds=100)
    assert other.lease_holder(NAME) == "me"
    assert other.take_lease("crm.orders", "you", seconds=100)
    other.release_lease(NAME, "you")  # not yours to give back
    assert not other.take_lease(NAME, "you", seconds=100)
    one.release_lease(NAME, "me")
    assert other.take_lease(NAME, "you", seconds=-1)  # over at once
    assert one.take_lease(NAME, "me", seconds=100)


def test_of_many_that_want_a_lease_at_once_one_gets_it(open_one: Callable[[], ControlStore]) -> None:
    stores = [open_one() for _ in range(6)]
    with ThreadPoolExecutor(len(stores)) as pool:
        got = list(
            pool.map(lambda place: stores[place].take_lease(NAME, f"holder {place}", seconds=100), range(6))
        )
    assert got.count(True) == 1
