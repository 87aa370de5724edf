"""What goes wrong in a run, on a table in memory: tried again, or told in a sentence."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from tests.runner.stand_in import DAYS, World

from lakebed.errors import BatchError, ConflictError, ManifestError, SetupError, TransientError
from lakebed.runner import (
    retry,
    run_project,
    skip,
    sound,
)
from lakebed.runner.leases import Lease


def test_passing_trouble_is_tried_again_with_the_same_plan(world: World) -> None:
    world.land(DAYS[0])
    table, troubles = world.tables["a.t"], [ConflictError("faster"), TransientError("busy")]
    real = table.apply

    def apply(rows: Any, **batch: Any) -> Any:
        if troubles:
            raise troubles.pop()
        return real(rows, **batch)

    table.apply = apply  # type: ignore[method-assign]
    assert world.run().failed == ()
    assert world.files("a.t") == [[DAYS[0]]]
    assert world.pauses == [1.0, 2.0]


def test_lasting_trouble_is_reported(world: World) -> None:
    world.land(DAYS[0])

    def apply(rows: Any, **batch: Any) -> Any:
        raise ConflictError("always faster")

    world.tables["a.t"].apply = apply  # type: ignore[method-assign]
    error = world.run().failed[0].error
    assert isinstance(error, ConflictError)
    assert len(world.pauses) == 3


def test_a_batch_that_is_refused_is_told_with_its_files(world: World) -> None:
    several = [f"b.t/2024010{day}.csv" for day in (1, 2, 3)]
    world.add("b.t", {"kind": "append"}, event_time={"from": "system"}).land(DAYS[0], *several)

    def apply(rows: Any, **batch: Any) -> Any:
        raise BatchError("two rows of one key", code="duplicate_key", where="/warehouse/a/t")

    for table in world.tables.values():
        table.apply = apply  # type: ignore[method-assign]
    told = [one.error.where for one in world.run().failed if one.error is not None]
    assert told == [f"a.t, batch 1 from {DAYS[0]}", f"b.t, batch 1 from {several[0]} and 2 more"]


def test_without_java_the_run_ends(world: World) -> None:
    world.add("b.t").land(*DAYS, "b.t/20240101.csv")

    def no_java() -> Any:
        raise SetupError("no Java")

    with pytest.raises(SetupError, match="no Java"):
        run_project(world.project, spark=no_java, now=world.now, edges=world.edges)
    with world.store() as store:
        run = store.last_run("a.t")
        assert run is not None
        assert run.state == "failed"


def test_two_plans_of_one_number_beside_the_table_are_refused(world: World) -> None:
    world.land(DAYS[0])
    world.tables["a.t"].bad = {DAYS[0]}
    world.run()
    path = world.root / "warehouse" / "a" / "t__lakebed" / "batches" / "00000001.json"
    other = json.loads(path.read_text())
    other["inputs"][0]["size"] += 1
    path.write_text(json.dumps(other))
    with world.store() as store:
        store.clear_failure("a.t")
    error = world.run().failed[0].error
    assert error is not None
    assert error.code == "plan_differs"
    path.write_text("{")
    error = world.run().failed[0].error
    assert error is not None
    assert error.code == "plan_broken"


def test_a_missing_landing_folder_fails_the_dataset(world: World) -> None:
    (world.root / "landing").rmdir()
    error = world.run().failed[0].error
    assert isinstance(error, ManifestError)


def test_what_is_no_error_of_ours_is_not_hidden(world: World) -> None:
    world.land(DAYS[0])

    def apply(rows: Any, **batch: Any) -> Any:
        raise ZeroDivisionError

    world.tables["a.t"].apply = apply  # type: ignore[method-assign]
    with pytest.raises(ZeroDivisionError):
        world.run()


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        (ConnectionRefusedError(111, "Connection refused"), "does not answer"),
        (PySparkException("a\nb"), "gave up: a"),
    ],
)
def test_trouble_with_spark_is_a_sentence(world: World, trouble: Exception, said: str) -> None:
    world.land(DAYS[0])

    def apply(rows: Any, **batch: Any) -> Any:
        raise trouble

    world.tables["a.t"].apply = apply  # type: ignore[method-assign]
    error = world.run().failed[0].error
    assert isinstance(error, BatchError)
    assert (error.code, said in error.what) == ("spark", True)


def test_trouble_with_the_disk_is_a_sentence(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.land(DAYS[0])

    def full(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.link", full)
    error = world.run().failed[0].error
    assert isinstance(error, BatchError)
    assert "No space left" in error.what
    monkeypatch.undo()
    assert world.run().failed == ()


def test_on_failure_is_told_once(world: World) -> None:
    world.land(*DAYS)
    world.tables["a.t"].bad = {DAYS[0]}
    project = replace(world.project, on_failure="cat >> told.json; echo $LAKEBED_DATASET >> names")
    assert sound(project, world.run()) == []
    assert sound(project, world.run()) == []  # it waits now
    told = json.loads((world.root / "told.json").read_text())
    assert (told["dataset"], told["error"]["code"]) == ("a.t", "bad_rows")
    assert (world.root / "names").read_text() == "a.t\n"
    with world.store() as store:
        store.clear_failure("a.t")
    assert sound(replace(project, on_failure="echo no >&2; exit 3"), world.run()) == [
        "on_failure for a.t ended with 3: no"
    ]


@pytest.mark.parametrize("prints", ["printf '\\351'", "printf '\\351' >&2"])
def test_on_failure_may_print_what_is_no_text(world: World, prints: str) -> None:
    world.land(DAYS[0])
    world.tables["a.t"].bad = {DAYS[0]}
    outcome = world.run()
    assert sound(replace(world.project, on_failure=prints), outcome) == []
    [said] = sound(replace(world.project, on_failure=f"{prints}; exit 3"), outcome)
    assert said.startswith("on_failure for a.t ended with 3")


def test_what_nobody_thought_of_stops_its_dataset_and_not_the_others(world: World) -> None:
    world.add("b.t").land(DAYS[0], "b.t/20240101.csv")

    def apply(rows: Any, **batch: Any) -> Any:
        raise UnicodeEncodeError("utf-8", "caf\udce9", 3, 4, "surrogates not allowed")

    world.tables["a.t"].apply = apply  # type: ignore[method-assign]
    [failed] = world.run().failed
    assert failed.error is not None
    assert (failed.dataset, failed.error.code) == ("a.t", "unexpected")
    assert world.files("b.t") == [["b.t/20240101.csv"]]


def test_a_name_that_is_no_text_is_told_and_left_alone(world: World) -> None:
    world.land(DAYS[0])
    odd = os.fsencode(world.root / "landing" / "a.t") + b"/caf\xe9.csv"
    Path(os.fsdecode(odd)).write_text("id\n1\n")
    [outcome] = world.run().datasets
    assert outcome.error is None
    assert any("the name is not UTF-8" in note for note in outcome.notes)
    assert world.files("a.t") == [[DAYS[0]]]


@pytest.mark.parametrize("act", [retry, skip])
def test_nobody_retries_or_skips_what_another_run_works_on(world: World, act: Any) -> None:
    world.land(DAYS[0])
    world.tables["a.t"].bad = {DAYS[0]}
    world.run()
    with world.store() as store, Lease(store, "a.t", "elsewhere/1/x"):
        with pytest.raises(ConflictError) as caught:
            act(world.project, "a.t", spark=world.spark, edges=world.edges)
        assert caught.value.code == "busy"
        assert store.open_batch("a.t") is not None


def test_a_skip_that_died_in_between_is_finished_by_the_next(world: World) -> None:
    world.land(DAYS[0])
    world.tables["a.t"].bad = {DAYS[0]}
    world.run()
    with world.store() as store:
        store.skip_inputs("a.t", store.open_batch("a.t").plan.inputs)  # type: ignore[union-attr]
    assert skip(world.project, "a.t", spark=world.spark, edges=world.edges) == (DAYS[0],)
    assert world.run().failed == ()
    assert world.files("a.t") == []
