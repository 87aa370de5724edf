"""What goes wrong in a run, on a table in memory: tried again, or told in a sentence."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from pyspark.errors import PySparkException
from tests.runner.stand_in import DAYS, World

from lakebed.errors import BatchError, ConflictError, ManifestError, SetupError, TransientError
from lakebed.runner import (
    run_project,
    sound,
)


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
