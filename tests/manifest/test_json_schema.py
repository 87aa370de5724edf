"""JSON Schema for editors: it must know every name that the loader knows."""

from __future__ import annotations

import json

import pytest

from lakebed.manifest import Changes, Dependency, Versions, json_schema


def test_a_dataset_has_its_names_as_they_are_written() -> None:
    schema = json_schema("dataset")
    assert schema["anyOf"] == [{"$ref": "#/$defs/Dataset"}, {"$ref": "#/$defs/Derived"}]
    assert list(schema["$defs"]["Dataset"]["properties"]) == [
        "dataset",
        "source",
        "feed",
        "history",
        "partition_by",
        "files",
    ]
    assert "schema" in schema["$defs"]["LandingFiles"]["properties"]
    assert schema["$defs"]["FromPath"]["required"] == ["from", "part"]
    assert schema["$defs"]["Changes"]["required"] == ["kind", "key"]
    assert set(schema["$defs"]["Versions"]["properties"]) == set(Versions.model_fields)
    assert set(schema["$defs"]["Changes"]["properties"]) == set(Changes.model_fields)


def test_D1_a_derived_dataset_too() -> None:
    forms = json_schema("dataset")["$defs"]
    assert forms["Derived"]["required"] == ["dataset", "dependencies", "steps"]
    assert forms["Dependency"]["required"] == ["table_name", "usage"]
    assert set(forms["Dependency"]["properties"]) == set(Dependency.model_fields)
    assert "weekday" in forms["Shift"]["properties"]


@pytest.mark.parametrize("which", ["project", "dataset"])
def test_unknown_names_are_refused_everywhere(which: str) -> None:
    schema = json_schema("project" if which == "project" else "dataset")
    assert json.loads(json.dumps(schema)) == schema
    top = [schema] if which == "project" else []
    for form in [*top, *schema["$defs"].values()]:
        assert form["additionalProperties"] is False
