"""JSON Schema for editors: it must know every name that the loader knows."""

from __future__ import annotations

import json

import pytest

from lakebed.manifest import Changes, Versions, json_schema


def test_a_dataset_has_its_names_as_they_are_written() -> None:
    schema = json_schema("dataset")
    assert list(schema["properties"]) == ["dataset", "source", "feed", "history", "partition_by", "files"]
    assert "schema" in schema["$defs"]["Source"]["properties"]
    assert schema["$defs"]["FromPath"]["required"] == ["from", "part"]
    assert schema["$defs"]["Changes"]["required"] == ["kind", "key"]
    assert set(schema["$defs"]["Versions"]["properties"]) == set(Versions.model_fields)
    assert set(schema["$defs"]["Changes"]["properties"]) == set(Changes.model_fields)


@pytest.mark.parametrize("which", ["project", "dataset"])
def test_unknown_names_are_refused_everywhere(which: str) -> None:
    schema = json_schema("project" if which == "project" else "dataset")
    assert json.loads(json.dumps(schema)) == schema
    for form in [schema, *schema["$defs"].values()]:
        assert form["additionalProperties"] is False
