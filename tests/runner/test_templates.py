"""One manifest for many tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.runner.stand_in import START, World, may_not_be_listed

from lakebed.control import BatchPlan, Input
from lakebed.manifest import LandingFiles, compile_pattern
from lakebed.manifest.patterns import PatternError
from lakebed.runner.templates import filled_in

STAGE_A = {
    "files": "{team}/{database}/{table}/{partitions}/{file}.csv",
    "event_time": {"from": "system"},
}

ONE_LEVEL = {**STAGE_A, "files": "a/{database}/{table}/{file}.csv"}


def no_spark() -> SparkSession:
    raise AssertionError("folders of this machine are looked at without Spark")


def test_every_table_that_has_landed_is_a_dataset(tmp_path: Path) -> None:
    world = World(tmp_path).add("own.orders", files="a/own/orders/{file}.csv", event_time={"from": "system"})
    world.add("{team}_{database}.{table}", {"kind": "append"}, **STAGE_A)
    world.add(
        "{database}.{table}", {"kind": "append"}, **{**STAGE_A, "files": "a/{database}/{table}/{file}.csv"}
    )
    world.land(
        "a/crm/orders/date=20240131/1.csv",
        "a/crm/orders/date=20240131/country=DE/2.csv",
        "b/crm/people/3.csv",
        "a/own/orders/4.csv",
        "a/crm/no-name/5.csv",
    )
    project, notes = filled_in(world.project, no_spark)
    assert [dataset.name for dataset in project.datasets] == [
        "a_crm.orders",
        "a_own.orders",
        "b_crm.people",
        "own.orders",
    ]
    assert notes == [
        "not taken: a/crm/no-name/5.csv: no name of a table can be made of a, crm, no-name",
        "not taken: a/crm/no-name/5.csv: no name of a table can be made of crm, no-name",
    ]
    source = project.dataset("a_crm.orders").source
    assert isinstance(source, LandingFiles)
    assert source.files == "a/crm/orders/{partitions}/{file}.csv"


def test_paths_that_would_be_one_table_are_told_and_left_alone(tmp_path: Path) -> None:
    world = World(tmp_path).add("{team}_{database}.{table}", {"kind": "append"}, **STAGE_A)
    world.land("a_b/c/t/1.csv", "a/b_c/t/2.csv", "a/x/u/3.csv", "a/x/U/4.csv", "a/x/v/5.csv")
    project, notes = filled_in(world.project, no_spark)
    assert [dataset.name for dataset in project.datasets] == ["a_x.v"]
    assert [note.split(";")[0] for note in notes] == [
        "not taken: a/b_c/t/2.csv, a_b/c/t/1.csv: all would be a_b_c.t",
        "not taken: a/x/U/4.csv, a/x/u/3.csv: all would be a_x.U",
    ]


def test_partitions_in_the_path_are_columns() -> None:
    pattern = compile_pattern("{table}/{partitions}/{file}.csv")
    path = "t/date=20240131/name=a%2Fb/none=__HIVE_DEFAULT_PARTITION__/1.csv"
    assert pattern.match(path) is not None
    assert pattern.values(path) == {"date": "20240131", "name": "a/b", "none": None}
    assert pattern.match("t/1.csv") is not None
    assert pattern.match("t/plain/1.csv") is None
    assert compile_pattern("{t}/country={c}/{f}.csv").values("t/country=DE/1.csv") == {"country": "DE"}


@pytest.mark.parametrize("text", ["a{partitions}/x.csv", "a/{partitions}", "a/{partitions:%Y}/x.csv"])
def test_partitions_are_whole_folders(text: str) -> None:
    with pytest.raises(PatternError, match="whole folders"):
        compile_pattern(text)


def test_a_project_without_templates_is_left_alone(tmp_path: Path) -> None:
    world = World(tmp_path).add("a.t")
    project = replace(world.project, landing=str(tmp_path / "nowhere"))
    assert filled_in(project, no_spark) == (project, [])


def test_a_table_whose_files_were_moved_away_is_a_dataset_still(tmp_path: Path) -> None:
    world = World(tmp_path).add("{database}.{table}", {"kind": "append"}, **ONE_LEVEL)
    world.land("a/crm/people/1.csv")
    project, _ = filled_in(world.project, no_spark)
    with world.store() as store:
        store.plan_batch(BatchPlan("crm.people", 1, (Input("a/crm/people/1.csv", 5, 1),), START))
    (tmp_path / "landing" / "a/crm/people/1.csv").unlink()
    again, notes = filled_in(world.project, no_spark)
    assert ([one.name for one in again.datasets], notes) == ([one.name for one in project.datasets], [])


def test_a_folder_that_may_not_be_looked_into_stops_no_table_that_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path).add("{database}.{table}", {"kind": "append"}, **ONE_LEVEL)
    world.land("a/crm/people/1.csv", "a/hr/pay/1.csv")
    with world.store() as store:
        store.plan_batch(BatchPlan("crm.people", 1, (Input("a/crm/people/1.csv", 5, 1),), START))
    may_not_be_listed("pay", monkeypatch)
    project, [note] = filled_in(world.project, no_spark)
    assert [one.name for one in project.datasets] == ["crm.people"]
    assert note.startswith("not looked for new tables of {database}.{table}: a/hr/pay/: ")


def test_of_paths_that_would_be_one_table_the_one_that_was_loaded_goes_on(tmp_path: Path) -> None:
    world = World(tmp_path).add("{database}.{table}", {"kind": "append"}, **ONE_LEVEL)
    world.land("a/crm/people/1.csv", "a/CRM/people/2.csv")
    with world.store() as store:
        store.plan_batch(BatchPlan("crm.people", 1, (Input("a/crm/people/1.csv", 5, 1),), START))
    project, [note] = filled_in(world.project, no_spark)
    assert [one.name for one in project.datasets] == ["crm.people"]
    assert note.startswith("not taken: a/CRM/people/2.csv: ")


def test_files_that_another_dataset_took_make_none(tmp_path: Path) -> None:
    world = World(tmp_path).add("{database}.{table}", {"kind": "append"}, **ONE_LEVEL)
    with world.store() as store:
        store.plan_batch(BatchPlan("all.people", 1, (Input("a/crm/people/1.csv", 5, 1),), START))
    assert filled_in(world.project, no_spark)[0].datasets == ()
    world.land("a/crm/people/2.csv")
    assert [one.name for one in filled_in(world.project, no_spark)[0].datasets] == ["crm.people"]


def test_two_templates_that_make_one_dataset_are_told(tmp_path: Path) -> None:
    world = World(tmp_path).add("{database}.{table}", {"kind": "append"}, **ONE_LEVEL)
    world.add(
        "{database}.{table}", {"kind": "append"}, **{**ONE_LEVEL, "files": "b/{database}/{table}/{file}.csv"}
    )
    world.land("a/crm/people/1.csv", "b/crm/people/2.csv")
    project, [note] = filled_in(world.project, no_spark)
    assert [one.name for one in project.datasets] == ["crm.people"]
    assert note == (
        "not taken: {database}.{table} would make crm.people too, beside the template {database}.{table}"
    )


def test_of_two_templates_the_one_whose_table_was_loaded_goes_on(tmp_path: Path) -> None:
    world = World(tmp_path)
    for name, folder in (("{database}.{table}", "new"), ("{db}.{t}", "old")):
        parts = name.replace(".", "/")
        world.add(
            name, {"kind": "append"}, files=f"{folder}/{parts}/{{file}}.csv", event_time={"from": "system"}
        )
    with world.store() as store:
        store.plan_batch(BatchPlan("crm.orders", 1, (Input("old/crm/orders/1.csv", 5, 1),), START))
    world.land("new/crm/orders/9.csv", "old/crm/orders/2.csv")
    project, notes = filled_in(world.project, no_spark)
    [found] = project.datasets
    assert isinstance(found.source, LandingFiles)
    assert found.source.files.startswith("old/")
    assert notes == ["not taken: {database}.{table} would make crm.orders too, beside the template {db}.{t}"]
