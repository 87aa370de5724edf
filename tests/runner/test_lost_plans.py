"""Plans that are lost or overtaken: what the table's own commits tell comes first. On a table in memory."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.runner.stand_in import DAYS, World

from lakebed.control import BatchPlan, ControlStore, Input
from lakebed.errors import TableError
from lakebed.runner import anything_new, recover, retry, skip
from lakebed.runner.plan_files import PlanFiles

KEPT = "warehouse/a/t__lakebed/batches"


def lose(world: World, *numbers: int) -> None:
    """The control store is gone, and so are these plans."""
    (world.root / ".lakebed" / "control.db").unlink()
    for number in numbers:
        (world.root / KEPT / f"{number:08}.json").unlink()


def failed_once(world: World) -> BatchPlan:
    """The plan of a batch that failed for a reason that is no more."""
    world.land(DAYS[0])
    world.tables["a.t"].bad = {DAYS[0]}
    world.run()
    world.tables["a.t"].bad = set()
    return world.open_plan("a.t")


@pytest.mark.parametrize("numbers", [(1,), (2,), (1, 2, 3)], ids=["first", "middle", "all"])
def test_G1_files_are_not_loaded_twice_where_plans_are_lost_too(
    world: World, numbers: tuple[int, ...]
) -> None:
    world.land(*DAYS)
    world.run()
    lose(world, *numbers)
    [failed] = world.run().failed
    assert failed.error is not None
    assert failed.error.code == "unknown_batches"
    [found] = recover(world.project, spark=world.spark, edges=world.edges)
    assert (found.batches, found.applied, found.error) == (3, 3, None)
    assert world.run().failed == ()
    assert world.files("a.t") == [[day] for day in DAYS]
    assert sorted(path.name for path in (world.root / KEPT).iterdir())[:3] == [
        f"{number:08}.json" for number in (1, 2, 3)
    ]


def test_a_dataset_that_cannot_be_recovered_says_so_and_the_others_are(world: World) -> None:
    world.add("b.t").land(*DAYS, "b.t/20240101.csv")
    world.run()
    lose(world, 2)
    world.tables["a.t"].batches_told = lambda: iter(())  # type: ignore[method-assign]  # the log was cleaned up
    broken, whole = recover(world.project, spark=world.spark, edges=world.edges)
    assert isinstance(broken.error, TableError)
    assert broken.error.code == "unknown_batches"
    assert "restore" in (broken.error.hint or "")
    assert (whole.dataset, whole.applied, whole.error) == ("b.t", 1, None)


def test_G1_what_another_run_has_committed_under_the_number_is_the_batch(world: World) -> None:
    plan = failed_once(world)
    assert skip(world.project, "a.t", spark=world.spark, edges=world.edges) == (DAYS[0],)
    world.land(DAYS[1])
    with (
        world.store() as store
    ):  # a run plans batch 1 from the second file, and dies; then the first one is committed after all
        store.plan_batch(replace(plan, inputs=(_input(world, DAYS[1]),)))
    world.tables["a.t"].commit(plan)
    outcome = world.run()
    assert outcome.failed == ()
    assert world.files("a.t") == [[DAYS[0]], [DAYS[1]]]
    assert "given up" in " ".join(outcome.datasets[0].batches[0].notes)


@pytest.mark.parametrize("way", ["run", "recover"])
def test_G1_a_plan_in_the_middle_that_was_not_carried_out_is_put_right(world: World, way: str) -> None:
    world.land(*DAYS)
    world.run()
    lose(world)
    world.land("a.t/20240104.csv")
    kept = world.root / KEPT / "00000001.json"
    kept.write_text(kept.read_text().replace(DAYS[0], "a.t/20240104.csv"))
    if way == "recover":
        [found] = recover(world.project, spark=world.spark, edges=world.edges)
        assert (found.applied, found.error) == (3, None)
    for _ in range(2):
        assert world.run().failed == ()
    assert world.files("a.t") == [[day] for day in (*DAYS, "a.t/20240104.csv")]


@pytest.mark.parametrize("step", ["drop", "replace", "keep"])
def test_G1_putting_a_plan_right_may_stop_anywhere(
    world: World, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = failed_once(world)
    skip(world.project, "a.t", spark=world.spark, edges=world.edges)
    world.land(DAYS[1])
    with world.store() as store:
        store.plan_batch(replace(plan, inputs=(_input(world, DAYS[1]),)))
    world.tables["a.t"].commit(plan)
    holder, name = {
        "drop": (PlanFiles, "drop"),
        "replace": (ControlStore, "replace_plan"),
        "keep": (PlanFiles, "keep"),
    }[step]
    whole, calls = (
        getattr(holder, name),
        iter([step != "keep", True]),
    )  # a plan is kept before it is looked at

    def dying(*given: Any) -> Any:
        if next(calls):
            raise KeyboardInterrupt
        return whole(*given)

    with monkeypatch.context() as patch:
        patch.setattr(holder, name, dying)
        with pytest.raises(KeyboardInterrupt):
            world.run()
    assert world.run().failed == ()
    assert world.files("a.t") == [[DAYS[0]], [DAYS[1]]]


@pytest.mark.parametrize("inputs", [[{"query": "x"}], []])
def test_commits_that_no_run_has_made_are_told_as_such(world: World, inputs: list[dict[str, Any]]) -> None:
    world.land(DAYS[0])
    moment: dict[str, Any] = {"system_time": world.now(), "event_time": None}
    world.tables["a.t"].applied.append({"batch": 1, "files": [], "inputs": inputs, **moment})
    [found] = recover(world.project, spark=world.spark, edges=world.edges)
    assert found.error is not None
    assert (found.error.code, "something else" in found.error.what) == ("unknown_batches", True)


def _input(world: World, path: str) -> Input:
    status = (world.root / "landing" / path).stat()
    return Input(path, status.st_size, status.st_mtime_ns)


def test_a_batch_that_failed_and_was_committed_after_all_does_not_wait_for_ever(world: World) -> None:
    world.tables["a.t"].commit(failed_once(world))
    world.land(DAYS[0], text="id\n1\n2\n", young=True)
    [failed] = world.run().failed
    assert failed.error is not None
    assert failed.error.code == "waiting"
    with pytest.raises(TableError, match="run again: the batch will be marked done"):
        retry(world.project, "a.t", spark=world.spark, edges=world.edges)
    assert [one.already_applied for one in world.run().datasets[0].batches][:1] == [True]


def test_retry_that_dies_after_it_dropped_the_plan_leaves_nothing_to_wait_for(world: World) -> None:
    failed_once(world)
    with world.store() as store:
        store.drop_plan("a.t", 1)  # and no more
        assert store.failure("a.t") is None
    assert anything_new(world.project) == ["a.t"]


def test_a_file_that_changes_while_it_waits_is_looked_at_again(world: World) -> None:
    world.land(*DAYS)
    table = world.tables["a.t"]
    apply = table.apply

    def and_rewrite(rows: Any, **batch: Any) -> Any:
        if batch["batch"] == 1:
            world.land(DAYS[2], text="id\n1\n2\n3\n")
        return apply(rows, **batch)

    table.apply = and_rewrite  # type: ignore[method-assign]
    assert world.run().failed == ()
    assert [batch["inputs"][0]["size"] for batch in table.applied] == [5, 5, 9]


def test_F3_a_snapshot_that_lands_meanwhile_comes_in_its_turn(world: World) -> None:
    world.land(DAYS[0], DAYS[2])
    table = world.tables["a.t"]
    apply = table.apply

    def and_land(rows: Any, **batch: Any) -> Any:
        if batch["batch"] == 1:
            world.land(DAYS[1])
            for _ in range(10):
                world.now()
        return apply(rows, **batch)

    table.apply = and_land  # type: ignore[method-assign]
    assert world.run().failed == ()
    assert world.files("a.t") == [[day] for day in DAYS]


def test_F3_a_folder_has_the_time_of_its_newest_file(tmp_path: Path) -> None:
    world = World(tmp_path).add(
        "a.t", files="in/{part}/{file}.csv", event_time={"from": "file"}, snapshot_unit="folder"
    )
    for path, seconds in (("in/A/1.csv", 1), ("in/A/2.csv", 10), ("in/B/1.csv", 2), ("in/B/2.csv", 3)):
        world.land(path)
        os.utime(tmp_path / "landing" / path, (seconds, seconds))
    world.run()
    assert [files[0].split("/")[1] for files in world.files("a.t")] == ["B", "A"]


def test_a_name_that_is_given_twice_is_run_once(world: World) -> None:
    world.land(DAYS[0])
    [only] = world.run(datasets=["a.t", "A.T"]).datasets
    assert not only.busy
