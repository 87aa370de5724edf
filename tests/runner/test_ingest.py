"""The runner on a table in memory."""

from __future__ import annotations

import json
import socket
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from tests.runner.stand_in import DAYS, START, MemoryTable, World

from lakebed.errors import ManifestError, TableError
from lakebed.runner import (
    BatchOutcome,
    DatasetOutcome,
    Silent,
    anything_new,
    pending_files,
    recover,
    retry,
    run_project,
    skip,
    status,
)


def test_each_new_snapshot_is_one_batch_in_order(world: World) -> None:
    world.land(*reversed(DAYS))
    outcome = world.run()
    assert world.files("a.t") == [[day] for day in DAYS]
    assert [batch.number for batch in outcome.datasets[0].batches] == [1, 2, 3]
    assert outcome.datasets[0].state == "done"
    assert outcome.failed == ()
    assert world.tables["a.t"].applied[0]["event_time"] == datetime(2024, 1, 1, tzinfo=UTC)


def test_where_nothing_is_new_no_session_starts(world: World) -> None:
    assert world.run().datasets[0].state == "idle"
    assert world.spark_starts == 0
    world.land(*DAYS)
    world.run()
    started = world.spark_starts
    assert started > 0
    assert world.run().datasets[0].state == "idle"
    assert world.spark_starts == started


def test_the_store_knows_plan_report_and_event(world: World) -> None:
    world.land(DAYS[0])
    world.run()
    with world.store() as store:
        batch = store.last_done("a.t")
        assert batch is not None
        assert [one.path for one in batch.plan.inputs] == [DAYS[0]]
        assert batch.report == {"batch": 1, "read": 1, "version": 0}
        assert [(event.dataset, event.batch, event.table_version) for event in store.events()] == [
            ("a.t", 1, 0)
        ]
        run = store.last_run("a.t")
        assert run is not None
        assert (run.state, run.batches) == ("done", 1)


def test_the_plan_lies_beside_the_table_not_in_it(world: World) -> None:
    world.land(DAYS[0])
    world.run()
    path = world.root / "warehouse" / "a" / "t__lakebed" / "batches" / "00000001.json"
    kept = json.loads(path.read_text())
    assert kept["inputs"][0]["path"] == DAYS[0]
    assert kept["event_time"] == "2024-01-01T00:00:00+00:00"
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_G1_a_batch_the_table_has_is_only_marked_done(world: World) -> None:
    """A run died after the commit and before it could say so."""
    world.land(*DAYS)
    table = world.tables["a.t"]
    real = table.apply

    def dies(rows: Any, **batch: Any) -> Any:
        real(rows, **batch)
        raise KeyboardInterrupt

    table.apply = dies  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        world.run()
    with world.store() as store:
        open_batch = store.open_batch("a.t")
        assert open_batch is not None
        assert open_batch.number == 1
        run = store.last_run("a.t")
        assert run is not None
        assert run.state == "failed"
    table.apply = real  # type: ignore[method-assign]
    outcome = world.run()
    assert [batch.already_applied for batch in outcome.datasets[0].batches] == [True, False, False]
    assert world.files("a.t") == [[day] for day in DAYS]


def test_a_retry_reads_the_plan_never_the_folder_again(world: World) -> None:
    world.add("b.t", feed={"kind": "append"}, event_time={"from": "system"})
    world.land("b.t/20240101.csv", "b.t/20240102.csv")
    world.tables["b.t"].bad = {"b.t/20240102.csv"}
    assert world.run().failed[0].dataset == "b.t"
    world.land("b.t/20240100.csv", "b.t/20240103.csv")
    world.tables["b.t"].bad = set()
    assert world.run().failed[0].error.code == "waiting"  # type: ignore[union-attr]
    assert retry(world.project, "b.t", spark=world.spark, edges=world.edges) == 1
    world.run()
    assert world.files("b.t") == [["b.t/20240101.csv", "b.t/20240102.csv"], ["b.t/20240103.csv"]]


def test_a_failing_batch_blocks_its_own_dataset_only(world: World) -> None:
    world.add("b.t").add("c.t")
    world.land(*DAYS, "b.t/20240101.csv", "b.t/20240102.csv", "c.t/20240101.csv")
    world.tables["b.t"].bad = {"b.t/20240101.csv"}
    outcome = world.run()
    assert [(one.dataset, one.state) for one in outcome.datasets] == [
        ("a.t", "done"),
        ("b.t", "failed"),
        ("c.t", "done"),
    ]
    assert world.files("b.t") == []
    assert outcome.failed[0].error is not None
    assert outcome.failed[0].error.code == "bad_rows"
    assert outcome.as_dict()["datasets"][1]["error"]["code"] == "bad_rows"
    with world.store() as store:
        run = store.last_run("b.t")
        assert run is not None
        assert run.error is not None
        assert run.error["code"] == "bad_rows"


def test_only_the_datasets_that_are_named(world: World) -> None:
    world.add("b.t").land(*DAYS, "b.t/20240101.csv")
    assert [one.dataset for one in world.run(datasets=["B.T"]).datasets] == ["b.t"]
    assert world.files("a.t") == []
    with pytest.raises(ManifestError):
        world.run(datasets=["nobody.knows"])


def test_G2_system_time_never_goes_back(world: World) -> None:
    world.land(DAYS[0])
    world.clock = START + timedelta(days=300)
    world.run()
    world.clock = START
    world.land(*DAYS[1:])
    world.run()
    times = [batch["system_time"] for batch in world.tables["a.t"].applied]
    assert times[0] > START + timedelta(days=299)
    assert times == [times[0]] * 3


def test_a_retry_keeps_its_system_time(world: World) -> None:
    world.land(DAYS[0])
    world.tables["a.t"].bad = {DAYS[0]}
    world.run()
    with world.store() as store:
        planned = store.open_batch("a.t")
    assert planned is not None
    world.clock += timedelta(days=9)
    world.tables["a.t"].bad = set()
    retry(world.project, "a.t", spark=world.spark, edges=world.edges)
    world.run()
    assert world.tables["a.t"].applied[0]["system_time"] == planned.plan.system_time


def test_a_lost_store_is_rebuilt_from_the_plans_beside_the_table(world: World) -> None:
    world.land(*DAYS[:2])
    world.run()
    with world.store() as store:
        before = [batch.plan for batch in store.batches("a.t")]
    for file in (world.root / ".lakebed").iterdir():
        file.unlink()
    world.land(DAYS[2])
    outcome = world.run()
    assert [batch.already_applied for batch in outcome.datasets[0].batches] == [True, True, False]
    assert world.files("a.t") == [[day] for day in DAYS]
    with world.store() as store:
        assert [batch.plan for batch in store.batches("a.t")][:2] == before


def test_an_unapplied_plan_of_a_lost_store_is_carried_out_as_it_was(world: World) -> None:
    world.land(DAYS[1])
    world.tables["a.t"].bad = {DAYS[1]}
    world.run()
    for file in (world.root / ".lakebed").iterdir():
        file.unlink()
    world.land(DAYS[0])
    world.tables["a.t"].bad = set()
    world.run()
    assert world.files("a.t") == [[DAYS[1]], [DAYS[0]]]


def test_files_are_never_taken_for_loaded_because_of_someone_elses_batch(world: World) -> None:
    """Store and plans are both gone, or something else writes the table: its numbers mean nothing to us."""
    world.tables["a.t"].applied = [{"batch": 1, "files": ["who knows"], "system_time": START}]
    world.land(*DAYS)
    error = world.run().failed[0].error
    assert isinstance(error, TableError)
    assert error.code == "unknown_batches"
    with world.store() as store:
        assert store.last_batch("a.t") is None
    assert pending(world) == DAYS


def test_files_whose_batches_a_table_lacks_are_not_passed_over(world: World) -> None:
    """The table was removed, or the control store is that of another profile."""
    world.land(*DAYS[:2])
    world.run()
    world.tables["a.t"].applied.clear()
    world.land(DAYS[2])
    error = world.run().failed[0].error
    assert isinstance(error, TableError)
    assert (error.code, error.what) == (
        "missing_batches",
        "the control store tells of 2 batches, and the table holds none",
    )
    assert pending(world) == [DAYS[2]]


def pending(world: World) -> list[str]:
    with world.store() as store:
        return pending_files(world.project, world.project.dataset("a.t"), store)


def test_a_planned_file_that_changed_is_not_read(world: World) -> None:
    world.land(DAYS[0])
    world.tables["a.t"].bad = {DAYS[0]}
    world.run()
    world.tables["a.t"].bad = set()
    world.land(DAYS[0], text="id\n1\n2\n")
    with world.store() as store:
        store.clear_failure("a.t")
    error = world.run().failed[0].error
    assert error is not None
    assert error.code == "input_changed"
    assert world.files("a.t") == []
    assert retry(world.project, "a.t", spark=world.spark, edges=world.edges) == 1
    assert world.run().failed == ()
    assert world.files("a.t") == [[DAYS[0]]]
    kept = world.root / "warehouse" / "a" / "t__lakebed" / "batches"
    assert sorted(one.name for one in kept.iterdir()) == ["00000001.dropped-1.json", "00000001.json"]


def test_a_plan_that_the_table_holds_cannot_be_set_aside(world: World) -> None:
    world.land(DAYS[0])
    world.tables["a.t"].bad = {DAYS[0]}
    world.run()
    world.tables["a.t"].bad = set()
    world.tables["a.t"].commit(world.open_plan("a.t"))
    with pytest.raises(TableError, match="in the table already"):
        skip(world.project, "a.t", spark=world.spark, edges=world.edges)
    assert retry(world.project, "a.t", spark=world.spark, edges=world.edges) == 1
    assert world.run().failed == ()
    assert retry(world.project, "a.t", spark=world.spark, edges=world.edges) is None


def test_files_that_were_skipped_are_not_taken_again(world: World) -> None:
    world.land(*DAYS)
    world.tables["a.t"].bad = {DAYS[1]}
    world.run()
    assert skip(world.project, "a.t", spark=world.spark, edges=world.edges) == (DAYS[1],)
    assert world.run().failed == ()
    assert world.files("a.t") == [[DAYS[0]], *[[day] for day in DAYS[2:]]]
    (
        world.root / ".lakebed" / "control.db"
    ).unlink()  # a lost store knows it again from the plans beside the table
    assert world.run().failed == ()
    assert len(world.files("a.t")) == len(DAYS) - 1


@pytest.mark.parametrize(
    ("rule", "taken", "code"), [("fail", 1, "changed_file"), ("ignore", 1, None), ("reload", 2, None)]
)
def test_a_file_that_was_rewritten(world: World, rule: str, taken: int, code: str | None) -> None:
    world.add("b.t", on_changed_file=rule)
    world.land("b.t/20240101.csv")
    world.run()
    world.land("b.t/20240101.csv", text="id\n1\n2\n")
    outcome = world.run(datasets=["b.t"]).datasets[0]
    assert len(world.files("b.t")) == taken
    assert (outcome.error.code if outcome.error else None) == code
    if rule == "ignore":
        assert "has changed since batch 1 took it" in outcome.notes[0]


def test_a_file_that_grows_while_it_is_looked_at_waits(world: World) -> None:
    world.land(DAYS[0], DAYS[1], young=True)
    texts = iter(["id\n1\n2\n", "id\n1\n2\n3\n", "id\n"])
    edges = replace(world.edges, pause=lambda _: world.land(DAYS[1], text=next(texts), young=True))
    run_project(world.project, spark=world.spark, now=lambda: datetime.now(UTC), edges=edges)
    assert world.files("a.t") == [[DAYS[0]]]


def test_another_run_is_left_to_it(world: World) -> None:
    world.land(DAYS[0])
    with world.store() as store:
        assert store.take_lease("a.t", "elsewhere/1/x", seconds=1000)
        assert [one.state for one in world.run().datasets] == ["busy"]
        store.release_lease("a.t", "elsewhere/1/x")
        gone = f"{socket.gethostname()}/999999999/x"  # of a process here that is no more
        assert store.take_lease("a.t", gone, seconds=1000)
    assert [one.state for one in world.run().datasets] == ["done"]


def test_names_that_nearly_fit_are_told(world: World) -> None:
    world.land("a.t/20240231.csv")
    assert "20240231" in world.run().datasets[0].notes[0]


def test_progress_is_told_in_order(world: World) -> None:
    heard: list[Any] = []

    class Watch(Silent):
        def dataset_started(self, dataset: str) -> None:
            heard.append(dataset)

        def batch_started(self, dataset: str, number: int, files: Any, left: int) -> None:
            heard.append((dataset, number, list(files), left))

        def batch_finished(self, outcome: BatchOutcome) -> None:
            heard.append(outcome.number)

        def dataset_finished(self, outcome: DatasetOutcome) -> None:
            heard.append(outcome.state)

    world.land(*DAYS[:2])
    world.run(progress=Watch())
    assert heard == ["a.t", ("a.t", 1, [DAYS[0]], 1), 1, ("a.t", 2, [DAYS[1]], 0), 2, "done"]


def test_status_needs_no_session(world: World) -> None:
    world.land(*DAYS)
    [before] = status(world.project)
    assert (before.last_batch, before.waiting, before.last_run) == (None, tuple(DAYS), None)
    world.tables["a.t"].bad = {DAYS[1]}
    world.run()
    started = world.spark_starts
    [after] = status(world.project)
    assert after.last_batch is not None
    assert after.open_batch is not None
    assert (after.last_batch.number, after.open_batch.number, after.waiting) == (1, 2, tuple(DAYS[1:]))
    assert json.loads(json.dumps(after.as_dict()))["last_run"]["error"]["code"] == "bad_rows"
    assert world.spark_starts == started


def test_the_stand_in_is_strict() -> None:
    with pytest.raises(AssertionError, match="batch_gap"):
        MemoryTable().apply([], batch=2, system_time=START, event_time=None, inputs=[], immutable=True)


def test_a_run_that_is_asked_to_stop_ends_after_the_batch_under_way(world: World) -> None:
    world.land(*DAYS)
    edges = replace(world.edges, stopping=lambda: bool(world.files("a.t")))
    run_project(world.project, spark=world.spark, now=world.now, edges=edges)
    assert world.files("a.t") == [[DAYS[0]]]
    assert anything_new(world.project) == ["a.t"]


def test_a_dataset_that_waits_for_a_person_is_nothing_new(world: World) -> None:
    world.land(*DAYS)
    world.tables["a.t"].bad = {DAYS[0]}
    world.run()
    assert anything_new(world.project) == []


def test_a_lost_store_is_made_again_and_nothing_applied(world: World) -> None:
    world.land(*DAYS[:2])
    world.run()
    (world.root / ".lakebed" / "control.db").unlink()
    world.land(DAYS[2])
    found = recover(world.project, spark=world.spark, edges=world.edges)
    assert [(one.batches, one.applied, one.marked) for one in found] == [(2, 2, 2)]
    assert [one.marked for one in recover(world.project, spark=world.spark, edges=world.edges)] == [0]
    assert world.files("a.t") == [[day] for day in DAYS[:2]]
    world.run()
    assert world.files("a.t") == [[day] for day in DAYS]


def test_G5_keys_that_may_be_those_of_bad_rows_are_told(world: World) -> None:
    world.land(*DAYS)
    table, counts = (
        world.tables["a.t"],
        iter([{"rejected": 1}, {"deleted": 2}, {"rejected": 1, "deleted": 2}]),
    )
    apply = table.apply

    def counted(rows: Any, **batch: Any) -> Any:
        done, more = apply(rows, **batch), next(counts)
        return SimpleNamespace(as_dict=lambda: done.as_dict() | more)

    table.apply = counted  # type: ignore[method-assign]
    notes = [one.notes for one in world.run().datasets[0].batches]
    assert notes[:2] == [(), ()]
    assert "1 bad rows were set aside, and 2 keys are gone" in notes[2][0]
