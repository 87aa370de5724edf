"""D11: a step that fails is tried again; what is wrong with its SQL is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.dependencies.building import derived, event, graph, on

from lakebed.control import open_store
from lakebed.dependencies import plan
from lakebed.errors import ConflictError, DependencyError, LakebedError, TransientError
from lakebed.manifest import Project, Spark
from lakebed.runner import Edges
from lakebed.runner.derive import Derivation, StepError, patiently
from lakebed.runner.table_logs import TableLogs

GRAPH = graph(derived("a.daily", on("a.source"), steps=[{"info": "totals", "sql": "SELECT 1"}]))


class AnalysisException(Exception):  # noqa: N818 - as Spark calls it
    """Stands for Spark's."""


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def tried(tmp_path: Path, pauses: list[float]) -> Callable[..., Any]:
    """Does a step whose tries fail with these errors, one after the other, and then succeed."""
    root = str(tmp_path)
    project = Project("p", tmp_path, root, root, "sqlite:///c.db", Spark(), derived=GRAPH.items)
    (run,) = plan(GRAPH, [event("a.source", "20220120")]).runs

    def do(*errors: Exception) -> Any:
        left = list(errors)

        def step() -> str:
            if left:
                raise left.pop(0)
            return "done"

        with open_store(project.control, base=tmp_path) as store:
            edges = Edges(pause=pauses.append)
            work = Derivation(project, GRAPH, store, edges, TableLogs(project, lambda: None))
            return patiently(work, run, 1, step)

    return do


def test_passing_trouble_is_waited_out_longer_and_longer(
    tried: Callable[..., Any], pauses: list[float]
) -> None:
    assert tried(ConflictError("other"), RuntimeError("lost an executor")) == "done"
    assert pauses == [1.0, 2.0]


def test_after_three_tries_it_has_failed_for_good(tried: Callable[..., Any], pauses: list[float]) -> None:
    with pytest.raises(StepError) as failed:
        tried(RuntimeError("1"), RuntimeError("2"), RuntimeError("3\nat java.lang"))
    assert (failed.value.step, len(pauses)) == (1, 2)
    why = failed.value.why
    assert (why.code, why.what) == ("spark", "Spark refuses the step: 3")
    assert why.where == "a.daily day=20220120, step 1 (totals)"


@pytest.mark.parametrize("error", [AnalysisException("no such column"), DependencyError("x", code="columns")])
def test_what_is_wrong_stays_wrong(error: Exception, tried: Callable[..., Any], pauses: list[float]) -> None:
    with pytest.raises(StepError):
        tried(error)
    assert pauses == []


def test_a_JVM_that_is_gone_is_no_fault_of_the_step(tried: Callable[..., Any]) -> None:
    class Silent(Exception):  # noqa: N818
        def __str__(self) -> str:
            raise ConnectionRefusedError

    for error in (ConnectionResetError(), Silent()):
        with pytest.raises(TransientError) as caught:
            tried(error)
        assert isinstance(caught.value, LakebedError)
        assert caught.value.code == "spark"
