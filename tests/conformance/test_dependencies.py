"""Every dependency case and vector of tests/cases, or of the folders named with `--cases`. No Spark."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tests.conformance.cases import DEFAULT

from lakebed.dependencies import Event, Graph, Partition, Plan, State, plan
from lakebed.dependencies.dates import converted, parse_date
from lakebed.errors import DependencyError, ManifestError
from lakebed.manifest import Derived, Shift
from lakebed.manifest.json_items import as_fields
from lakebed.manifest.shifts import parse_weekday

Case = Mapping[str, Any]
FIXTURES = {
    "dependency_case": "cases",
    "date_vector": "date_vectors",
    "weekday_vector": "weekday_vectors",
    "strict_parse_vector": "strict_parse_vectors",
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    folders: list[Path] = metafunc.config.getoption("--cases", default=None) or [DEFAULT]
    for fixture in FIXTURES.keys() & set(metafunc.fixturenames):
        found = list(_found(folders, FIXTURES[fixture]))
        ids = [str(one.get("name") or "-".join(map(str, one.values()))[:80]) for one in found]
        metafunc.parametrize(fixture, found, ids=ids)


def _found(folders: Iterable[Path], key: str) -> Iterable[Case]:
    for folder in folders:
        for file in sorted(folder.glob("*.json")):
            for one in json.loads(file.read_text("utf-8")).get(key, []):
                if key != "cases" or "items" in one:
                    yield one


def test_dependency_case(dependency_case: Case) -> None:
    case = dependency_case
    expected_error = case.get("expected_load_error")
    if expected_error:
        with pytest.raises(ManifestError) as caught:
            graph_of(case)
        assert caught.value.code == expected_error["code"]
        if "path" in expected_error:
            assert is_same_cycle(caught.value.sample[0], expected_error["path"])
        return
    graph, state = graph_of(case), State()
    for number, one in enumerate(case["passes"]):
        fail = {name.lower(): step for name, step in one.get("fail", {}).items()}
        done = plan(
            graph,
            [event_of(one["event"], number)],
            state,
            failing=lambda run, fail=fail: fail.get(run.dataset.lower()),  # type: ignore[misc]
        )
        expected = one["expected"]
        told = told_as(done, expected)
        assert told == {**told, **in_any_order(expected)}, f"pass {number + 1}: {case.get('note')}"
        state = done.state


def test_D4_dates(date_vector: Case) -> None:
    def result() -> str:
        shift = Shift.model_validate(date_vector["attributes"] or {})
        return converted(date_vector["value"], date_vector["parse"], shift, date_vector["format"])

    if "error" in date_vector:
        with pytest.raises((DependencyError, ValidationError)):
            result()
    else:
        assert result() == date_vector["result"]


def test_D4_weekdays(weekday_vector: Case) -> None:
    if "error" in weekday_vector:
        with pytest.raises(ValueError, match="expected"):
            parse_weekday(weekday_vector["text"])
    else:
        assert list(parse_weekday(weekday_vector["text"])) == weekday_vector["means"]


def test_D6_strict_parsing(strict_parse_vector: Case) -> None:
    given = (strict_parse_vector["value"], strict_parse_vector["parse"])
    if "error" in strict_parse_vector:
        with pytest.raises(DependencyError) as caught:
            parse_date(*given)
        assert caught.value.code == "value_does_not_parse"
    else:
        date = parse_date(*given)
        assert strict_parse_vector["result"] in (date.isoformat(), date.date().isoformat())


def graph_of(case: Case) -> Graph:
    return Graph.of(Derived.model_validate(as_fields(item)) for item in case["items"])


def event_of(event: Mapping[str, Any], number: int) -> Event:
    values = tuple(
        (column, None if value is None else str(value)) for column, value in event.get("partition", [])
    )
    return Event(event.get("id", f"pass-{number + 1}"), event["table"], (Partition(values),))


def told_as(done: Plan, expected: Mapping[str, Any]) -> dict[str, Any]:
    """The pass in the words of a case, as far as the case says something."""
    runs = [
        {
            "dataset": outcome.run.dataset,
            "partition": as_object(outcome.run.partition),
            "write": outcome.run.write,
            "sql": [step.sql for step in outcome.run.steps],
            "status": outcome.status,
            "failed_step": outcome.failed_step,
        }
        for outcome in done.outcomes
    ]
    named = [set(run) for run in expected.get("runs", [])]
    for run, names in zip(runs, named, strict=False):
        for name in ("sql", "status", "failed_step"):
            if name not in names:
                del run[name]
    told = {
        "runs": runs,
        "waiting": [
            {
                "dataset": one.dataset,
                "partition": as_object(one.partition),
                "arrived": list(one.arrived),
                "missing": list(one.missing),
            }
            for one in done.waiting
        ],
        "errors": [{"dataset": one.dataset, "code": one.code} for one in done.refused],
        "already_processed": bool(done.already_handled),
    }
    if "errors" not in expected:
        assert told["errors"] == []
    return in_any_order(told)


def in_any_order(told: Mapping[str, Any]) -> dict[str, Any]:
    """Runs have an order; what waits, what it waits for, and errors have none."""
    return {
        name: sorted((_sorted(one) for one in value), key=str) if name in ("waiting", "errors") else value
        for name, value in told.items()
    }


def _sorted(one: Mapping[str, Any]) -> dict[str, Any]:
    return {name: sorted(value) if isinstance(value, list) else value for name, value in one.items()}


def as_object(partition: Partition | None) -> dict[str, str | None] | None:
    return dict(partition.values) if partition else None


def is_same_cycle(found: list[str], expected: list[str]) -> bool:
    """The same ring of names, told from any of its members, along the data or against it."""
    ring = [name.lower() for name in expected[:-1]]
    there = [name.lower() for name in found[:-1]]
    turns = [there[start:] + there[:start] for start in range(len(there))]
    return ring in turns or ring[::-1] in turns
