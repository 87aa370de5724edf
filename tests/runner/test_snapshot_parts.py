"""F3: a snapshot of several files is taken whole, or not at all. On a table in memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.runner.stand_in import World

from lakebed.runner import anything_new

FOLDERS: dict[str, Any] = {
    "files": "in/{day:%Y%m%d}/{file}.csv",
    "event_time": {"from": "path", "part": "day"},
    "snapshot_unit": "folder",
}
PARTS = ["in/20240131/p1.csv", "in/20240131/p2.csv"]
LATE = "in/20240131/p3.csv"


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
    world.land(PARTS[0], text="id\n1\n2\n")
    error = world.run().failed[0].error
    assert error is not None
    assert error.code == "late_part"
    assert world.files("a.t") == [PARTS]


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
