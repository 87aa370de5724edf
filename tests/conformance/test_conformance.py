"""Every case through real Delta tables. All run side by side in one Spark session; each test waits for its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.cases import Case
from tests.conformance.checks import failures
from tests.conformance.properties import broken_convergence, broken_identity

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIDE_BY_SIDE = 3
Verdicts = Mapping[str, "Future[list[str]]"]


@pytest.fixture(scope="session")
def verdicts(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Verdicts]:
    """What is wrong with each case that was selected, by the test's id: the work of this whole module, begun at once."""
    from tests.conformance.by_engine import open_in

    def opened(judge: str) -> Any:
        """Judges work at the same time: each has a folder of its own for the tables of a case."""
        return open_in(spark, tmp_path_factory.mktemp(judge))

    expected, convergence, identity = opened("expected"), opened("convergence"), opened("identity")
    judges: dict[str, Callable[[Case], list[str]]] = {
        "case": lambda case: failures(case, expected),
        "sampled_ordered_case": lambda case: broken_convergence(case, convergence, range(1)),
        "sampled_stateful_case": lambda case: broken_identity(case, identity),
    }
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        begun = {}
        for item in request.session.items:
            if isinstance(item, pytest.Function) and "verdicts" in item.fixturenames:
                for name, case in item.callspec.params.items():
                    begun[item.nodeid] = pool.submit(judges[name], case)  # type: ignore[arg-type]
        yield begun
        pool.shutdown(cancel_futures=True)


@pytest.fixture
def wrong(verdicts: Verdicts, request: pytest.FixtureRequest) -> list[str]:
    return verdicts[request.node.nodeid].result()


def test_case(case: Case, wrong: list[str]) -> None:
    assert not wrong, "\n".join([f"{case['name']}: {case['note']}", *wrong])


def test_G6_no_delivery_matters(sampled_ordered_case: Case, wrong: list[str]) -> None:
    assert wrong == []


def test_R2_three_histories_hold_one_truth(sampled_stateful_case: Case, wrong: list[str]) -> None:
    assert wrong == []
