"""A run that dies at any point: the next one finishes its work, once (G1). Every step is a point, before and after."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.runner.stand_in import MemoryTable, World

from lakebed.control import ControlStore
from lakebed.runner.plan_files import PlanFiles

FILES = [f"a.t/2024010{day}.csv" for day in (1, 2, 3)]
STEPS: list[tuple[type, str]] = [
    (ControlStore, "start_run"),
    (ControlStore, "open_batch"),
    (ControlStore, "plan_batch"),
    (PlanFiles, "keep"),
    (MemoryTable, "apply"),
    (ControlStore, "finish_batch"),
    (ControlStore, "finish_run"),
]


class Died(BaseException):
    """As a kill: no handler of the program sees it as an error of its own."""


def dying_at(point: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """From now on the `point`-th crossing of a step's border raises, and so does every one after it."""
    crossed: list[str] = []

    def cross(name: str) -> None:
        crossed.append(name)
        if len(crossed) >= point:
            raise Died(name)

    def wrapped(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any, **kwargs: Any) -> Any:
            cross(f"before {name}")
            result = real(*args, **kwargs)
            cross(f"after {name}")
            return result

        return step

    for owner, name in STEPS:
        monkeypatch.setattr(owner, name, wrapped(name, getattr(owner, name)))
    return crossed


def looks(world: World) -> dict[str, Any]:
    with world.store() as store:
        return {
            "files": world.files("a.t"),
            "batches": [(b.number, b.state, [i.path for i in b.plan.inputs]) for b in store.batches("a.t")],
            "events": [(event.dataset, event.batch) for event in store.events()],
        }


@pytest.mark.parametrize("lose_the_store", [False, True])
def test_G1_a_run_that_dies_anywhere_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, lose_the_store: bool
) -> None:
    undisturbed = World(tmp_path / "undisturbed").add("a.t")
    undisturbed.land(*FILES)
    undisturbed.run()
    for point in itertools.count(1):
        world = World(tmp_path / str(point)).add("a.t")
        world.land(*FILES)
        with monkeypatch.context() as patch:
            crossed = dying_at(point, patch)
            try:
                world.run()
            except Died:
                pass
            else:
                break
        if lose_the_store:
            for file in (world.root / ".lakebed").iterdir():
                file.unlink()
        assert world.run().failed == ()
        assert looks(world) == looks(undisturbed), f"after dying {crossed[-1]} (point {point})"
    assert point > 30
