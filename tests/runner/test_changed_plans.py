"""A batch that was planned and not applied, while the world goes on: the store stumbles, the manifest is mended, files come. On a
table in memory."""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.runner.stand_in import DAYS, MemoryTable, World, may_not_be_listed

from lakebed.control import BatchPlan, ControlStore
from lakebed.errors import LakebedError, TransientError
from lakebed.runner import Edges, anything_new, retry, status
from lakebed.sources import LocalFolder

PARTS = ["in/20240131/p1.csv", "in/20240131/p2.csv"]
MORE = "in/20240131/p3.csv"
TIMED = {"from": "path", "part": "day"}


def failed(world: World) -> LakebedError:
    error = world.run().failed[0].error
    assert error is not None
    return error


def tried_again(world: World) -> None:
    world.tables["a.t"].bad = set()
    assert retry(world.project, "a.t", spark=world.spark, edges=world.edges) == 1
    assert world.run().failed == ()


def test_F3_snapshots_stay_in_order_when_the_store_stumbles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path).add("a.t")
    world.land(*DAYS)
    plan_batch, stumbles = ControlStore.plan_batch, iter([False, True, False, False])

    def stumbling(store: ControlStore, plan: BatchPlan) -> Any:
        if next(stumbles):
            raise TransientError("the database starts again", code="store")
        return plan_batch(store, plan)

    monkeypatch.setattr(ControlStore, "plan_batch", stumbling)
    assert world.run().failed == ()
    assert world.files("a.t") == [[day] for day in DAYS]


def test_a_plan_is_made_anew_where_the_mended_manifest_would_make_another(tmp_path: Path) -> None:
    """A list of days, taken for changed rows first: all of them together, and their times not told."""
    world = World(tmp_path).add("a.t", feed={"kind": "updates", "key": ["id"]}, event_time=None)
    world.land(*DAYS)
    world.tables["a.t"].bad = {DAYS[0]}
    assert failed(world).code == "bad_rows"
    world.datasets = ()
    world.add("a.t", event_time=TIMED)
    tried_again(world)
    assert world.files("a.t") == [[day] for day in DAYS]
    assert [one["event_time"].day for one in world.tables["a.t"].applied] == [1, 2, 3]


def test_a_plan_of_a_run_that_died_is_not_carried_out_by_another_manifest(tmp_path: Path) -> None:
    world = World(tmp_path).add("a.t", event_time=None)
    world.land(DAYS[0])
    monkey = world.tables["a.t"]
    monkey.bad = {DAYS[0]}
    world.run()
    with world.store() as store:
        store.clear_failure("a.t")  # as if it had been killed
    monkey.bad, world.datasets = set(), ()
    world.add("a.t", event_time=TIMED)
    assert failed(world).code == "input_changed"
    tried_again(world)
    assert world.tables["a.t"].applied[0]["event_time"].day == 1


@pytest.mark.parametrize("unit", ["folder", "time"])
def test_F3_a_part_that_comes_before_the_batch_is_applied_is_taken_with_it(tmp_path: Path, unit: str) -> None:
    world = World(tmp_path).add(
        "a.t", files="in/{day:%Y%m%d}/{file}.csv", event_time=TIMED, snapshot_unit=unit
    )
    world.land(*PARTS)
    world.tables["a.t"].bad = {PARTS[0]}
    assert failed(world).code == "bad_rows"
    world.land(MORE)
    tried_again(world)
    assert world.files("a.t") == [[*PARTS, MORE]]


def landing_while_the_table_opens(world: World, *paths: str, text: str = "id\n1\n") -> Edges:
    """Spark starts, an old batch is finished: between the look at the folder and the batch lies more than a moment."""

    def open_table(*_: Any) -> MemoryTable:
        world.land(*paths, text=text)
        return world.tables["a.t"]

    return replace(world.edges, open_table=open_table)


@pytest.mark.parametrize("unit", ["folder", "time"])
def test_F3_a_part_that_comes_while_the_table_opens_is_taken_with_it(tmp_path: Path, unit: str) -> None:
    world = World(tmp_path).add("a.t", files="in/{day:%Y%m%d}/{file}.csv", snapshot_unit=unit)
    world.land(*PARTS)
    world.run_with(landing_while_the_table_opens(world, MORE))
    assert world.files("a.t") == [[*PARTS, MORE]]


def test_G10_a_file_that_is_written_anew_while_the_table_opens_is_taken_once(tmp_path: Path) -> None:
    world = World(tmp_path).add("a.t", feed={"kind": "append"}, on_changed_file="reload")
    world.land(DAYS[0])
    world.run_with(landing_while_the_table_opens(world, DAYS[0], text="id\n1\n2\n3\n"))
    assert [batch["inputs"][0]["size"] for batch in world.tables["a.t"].applied] == [9]


def test_G6_a_file_that_is_taken_again_with_the_same_order_is_told(tmp_path: Path) -> None:
    world = World(tmp_path)
    for name, order in (("a.t", {"order_by": ["id"]}), ("b.t", {})):
        world.add(name, feed={"kind": "updates", "key": ["id"], **order}, on_changed_file="reload")
        world.land(f"{name}/20240101.csv")
    world.run()
    world.land("a.t/20240101.csv", "b.t/20240101.csv", text="id\n1\n2\n")
    ordered, by_arrival = (" ".join(one.batches[0].notes) for one in world.run().datasets)
    assert ("not the newer one" in ordered, by_arrival) == (True, "")


def test_a_first_load_after_changes_is_told(tmp_path: Path) -> None:
    world = World(tmp_path).add(
        "a.t",
        feed={"kind": "changes", "key": ["id"]},
        files="a.t/{file}.csv",
        schema="id bigint",
        envelope={"kind": "dms"},
        event_time=None,
    )
    world.land("a.t/LOAD00000001.csv", "a.t/20240131-120000000.csv")
    assert world.run().datasets[0].batches[0].notes == ()
    world.land("a.t/LOAD00000002.csv")
    [note] = world.run().datasets[0].batches[0].notes
    assert note.startswith("a.t/LOAD00000002.csv is of a first load, and changes were taken before it")


def test_F3_a_part_that_cannot_be_read_by_its_name_holds_its_snapshot_back(tmp_path: Path) -> None:
    world = World(tmp_path).add("a.t", files="in/{day:%Y%m%d}/{file}.csv", snapshot_unit="folder")
    world.land(PARTS[0], "in/20240131/p2-10:30.csv", "in/20240201/p1.csv")
    notes = " ".join(world.run().datasets[0].notes)
    assert "in/20240131/p2-10:30.csv: Spark reads no local file with a colon" in notes
    assert world.files("a.t") == [["in/20240201/p1.csv"]]


def test_F3_a_part_with_an_unusable_name_is_a_part_of_a_plan_that_is_open_too(tmp_path: Path) -> None:
    world = World(tmp_path).add("a.t", files="in/{day:%Y%m%d}/{file}.csv", snapshot_unit="folder")
    world.land(*PARTS)
    world.tables["a.t"].bad = {PARTS[0]}
    world.run()
    with world.store() as store:
        store.clear_failure("a.t")  # as if it had been killed
    world.tables["a.t"].bad = set()
    world.land("in/20240131/p2-10:30.csv")
    assert failed(world).code == "input_changed"


def test_F3_a_snapshot_over_several_folders_waits_for_all_their_markers(tmp_path: Path) -> None:
    files = ["in/DE/20240131/a.csv", "in/FR/20240131/a.csv"]
    world = World(tmp_path).add(
        "a.t",
        files="in/{country}/{day:%Y%m%d}/{file}.csv",
        event_time=TIMED,
        snapshot_unit="time",
        wait_for="READY",
    )
    world.land(*files, "in/DE/20240131/READY")
    world.run()
    assert world.files("a.t") == []
    world.land("in/FR/20240131/READY")
    world.run()
    assert world.files("a.t") == [files]


def test_a_folder_that_may_not_be_looked_into_is_not_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path).add("a.t").add("b.t")
    world.land(*DAYS, "b.t/20240101.csv")
    may_not_be_listed("a.t", monkeypatch)
    error = failed(world)
    assert (error.code, error.where) == ("out_of_reach", "a.t/")
    assert world.files("b.t") == [["b.t/20240101.csv"]]
    assert anything_new(world.project) == ["a.t"]  # for a run to say why
    [reached, _] = status(world.project)
    assert reached.trouble == "a.t/ cannot be reached: Permission denied"
    with pytest.raises(TransientError):
        list(LocalFolder(tmp_path / "landing").walk(""))


def test_a_lease_of_a_container_before_is_taken_at_once(tmp_path: Path) -> None:
    world = World(tmp_path).add("a.t")
    world.land(DAYS[0])
    with world.store() as store:
        before = f"{socket.gethostname()}/{os.getpid()}/0000aaaa/1"  # same name and number, another life
        assert store.take_lease("a.t", before, seconds=60)
    assert not world.run().datasets[0].busy
    assert world.files("a.t") == [[DAYS[0]]]
