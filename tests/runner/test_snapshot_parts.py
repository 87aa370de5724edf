"""F3: a snapshot of several files is taken whole, or not at all. On a table in memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.runner.stand_in import DAYS, World

from lakebed.control import ControlStore
from lakebed.errors import LakebedError
from lakebed.runner import anything_new, skip

FOLDERS: dict[str, Any] = {
    "files": "in/{day:%Y%m%d}/{file}.csv",
    "event_time": {"from": "path", "part": "day"},
    "snapshot_unit": "folder",
}
PARTS = ["in/20240131/p1.csv", "in/20240131/p2.csv"]
LATE = "in/20240131/p3.csv"
ANEW = "id\n1\n2\n"


def skipped(world: World) -> World:
    """The snapshot of both parts has failed, and somebody has decided to leave it out."""
    world.land(*PARTS)
    world.tables["a.t"].bad = {PARTS[1]}
    world.run()
    assert skip(world.project, "a.t", spark=world.spark, edges=world.edges) == tuple(PARTS)
    world.tables["a.t"].bad = set()
    return world


def archive(world: World, *paths: str) -> None:
    """Move files out of the landing folder."""
    for path in paths:
        (world.root / "landing" / path).unlink()


def refused(world: World) -> LakebedError:
    error = world.run().failed[0].error
    assert error is not None
    assert error.code == "late_part"
    return error


@pytest.mark.parametrize("unit", ["folder", "time"])
@pytest.mark.parametrize("rule", ["fail", "reload"])
def test_F3_a_part_that_comes_after_its_snapshot_is_not_a_snapshot(
    tmp_path: Path, unit: str, rule: str
) -> None:
    world = World(tmp_path).add("a.t", **{**FOLDERS, "snapshot_unit": unit, "on_changed_file": rule})
    world.land(*PARTS)
    assert world.run().failed == ()
    world.land(LATE)
    error = world.run().failed[0].error
    assert error is not None
    assert (error.code, error.sample) == ("late_part", [LATE])
    assert "batch 1 took the other files" in error.what
    assert world.files("a.t") == [PARTS]


def test_F3_a_part_that_is_written_anew_is_not_a_snapshot_either(tmp_path: Path) -> None:
    world = World(tmp_path).add("a.t", **FOLDERS, on_changed_file="reload")
    world.land(*PARTS)
    world.run()
    world.land(PARTS[0], text=ANEW)
    assert f"deliver {PARTS[1]} anew too" in (refused(world).hint or "")
    assert world.files("a.t") == [PARTS]


@pytest.mark.parametrize("unit", ["folder", "time"])
def test_F3_a_snapshot_whose_parts_are_all_written_anew_is_taken_again(tmp_path: Path, unit: str) -> None:
    world = World(tmp_path).add("a.t", **{**FOLDERS, "snapshot_unit": unit, "on_changed_file": "reload"})
    world.land(*PARTS)
    world.run()
    world.land(*PARTS, text=ANEW)
    assert world.run().failed == ()
    world.land(*PARTS, LATE, text="id\n1\n2\n3\n")  # with one more, which is a part from now on
    assert world.run().failed == ()
    assert world.files("a.t") == [PARTS, PARTS, [*PARTS, LATE]]
    world.land(*PARTS, text=ANEW * 2)
    assert "batch 3 took" in refused(world).what


def test_F3_without_reload_parts_that_are_written_anew_are_changed_files(tmp_path: Path) -> None:
    world = World(tmp_path).add("a.t", **FOLDERS)
    world.land(*PARTS)
    world.run()
    world.land(*PARTS, text=ANEW)
    error = world.run().failed[0].error
    assert error is not None
    assert error.code == "changed_file"


@pytest.mark.parametrize("unit", ["folder", "time"])
@pytest.mark.parametrize("rule", ["fail", "reload"])
def test_F3_a_part_is_late_also_where_the_others_are_archived(tmp_path: Path, unit: str, rule: str) -> None:
    world = World(tmp_path).add("a.t", **{**FOLDERS, "snapshot_unit": unit, "on_changed_file": rule})
    world.land(*PARTS)
    world.run()
    archive(world, *PARTS)
    world.land(LATE)
    assert refused(world).sample == [LATE]
    (world.root / ".lakebed" / "control.db").unlink()  # a lost store knows it again from the plans
    assert refused(world).sample == [LATE]
    archive(world, LATE)
    world.land("in/20240201/p1.csv")  # the next snapshot is its own
    assert world.run().failed == ()
    assert world.files("a.t") == [PARTS, ["in/20240201/p1.csv"]]


@pytest.mark.parametrize("rule", ["fail", "reload"])
@pytest.mark.parametrize("part", [PARTS[1], LATE])
def test_F3_a_part_of_a_skipped_snapshot_is_not_a_snapshot(tmp_path: Path, rule: str, part: str) -> None:
    world = skipped(World(tmp_path).add("a.t", **FOLDERS, on_changed_file=rule))
    world.land(part, text=ANEW)
    error = refused(world)
    assert "the other files of its snapshot were skipped" in error.what
    assert f"deliver {PARTS[0]}" in (error.hint or "")
    assert world.files("a.t") == []


@pytest.mark.parametrize("rule", ["fail", "reload", "ignore"])
def test_F3_a_skipped_snapshot_can_be_delivered_anew_as_a_whole(tmp_path: Path, rule: str) -> None:
    world = skipped(World(tmp_path).add("a.t", **FOLDERS, on_changed_file=rule))
    assert anything_new(world.project) == []
    world.land(*PARTS, LATE, text=ANEW)
    assert world.run().failed == ()
    assert world.files("a.t") == [[*PARTS, LATE]]


def test_F3_a_part_of_a_skipped_snapshot_can_be_left_out(tmp_path: Path) -> None:
    world = skipped(World(tmp_path).add("a.t", **FOLDERS, on_changed_file="ignore"))
    world.land(PARTS[1], text=ANEW)
    outcome = world.run()
    assert outcome.failed == ()
    assert any("were skipped: left out" in note for note in outcome.datasets[0].notes)
    assert (world.files("a.t"), anything_new(world.project)) == ([], [])


@pytest.mark.parametrize("feed", [{"kind": "snapshot", "key": ["id"]}, {"kind": "append"}])
def test_what_each_file_stands_for_alone_needs_no_memory_of_the_others(
    tmp_path: Path, feed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(*_: object) -> dict[str, int | None]:
        raise AssertionError("the paths are many, and are loaded for nothing")

    monkeypatch.setattr(ControlStore, "known_paths", asked)
    world = World(tmp_path).add("a.t", feed)
    world.land(*DAYS)
    assert world.run().failed == ()


def test_F3_late_parts_can_be_left_out_and_are_then_nothing_new(tmp_path: Path) -> None:
    world = World(tmp_path).add("a.t", **FOLDERS, on_changed_file="ignore")
    world.land(*PARTS)
    world.run()
    world.land(LATE, "in/20240201/p1.csv")
    outcome = world.run()
    assert outcome.failed == ()
    assert any(LATE in note and "left out" in note for note in outcome.datasets[0].notes)
    assert world.files("a.t") == [PARTS, ["in/20240201/p1.csv"]]
    assert anything_new(world.project) == []


def test_F3_a_folder_that_is_still_growing_waits_as_a_whole(tmp_path: Path) -> None:
    world = World(tmp_path).add("a.t", **FOLDERS)
    world.land(PARTS[0], "in/20240101/p1.csv")
    world.land(PARTS[1], young=True)

    def another_part_lands(_seconds: float) -> None:
        world.land(LATE, young=True)

    edges = replace(world.edges, pause=another_part_lands)
    world.run_with(edges)
    assert world.files("a.t") == [["in/20240101/p1.csv"]]
    world.run()
    assert world.files("a.t")[1:] == [[*PARTS, LATE]]


def test_a_marker_tells_that_a_folder_is_complete_and_is_no_data(tmp_path: Path) -> None:
    world = World(tmp_path).add("a.t", **{**FOLDERS, "files": "in/{day:%Y%m%d}/{file}"}, wait_for="READY")
    world.land(*PARTS)
    world.run()
    assert world.files("a.t") == []
    world.land("in/20240131/READY", text="")
    world.run()
    assert world.files("a.t") == [PARTS]
