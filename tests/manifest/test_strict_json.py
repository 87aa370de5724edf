"""JSON with places."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.manifest.strict_json import parse_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES, st.sampled_from([None, 2, "\t"]), st.booleans())
def test_it_reads_what_json_writes(value: Any, indent: Any, ascii_only: Any) -> None:
    document = parse_json(json.dumps(value, indent=indent, ensure_ascii=ascii_only), "x.json")
    assert document.problems == []
    assert document.data == value


def test_places() -> None:
    document = parse_json('{\n\t"a": [1,\n 2],\n "b": {"c": true}}', "x.json")
    assert document.keys == {("a",): (2, 2), ("b",): (4, 2), ("b", "c"): (4, 8)}
    assert document.values["a", 1] == (3, 2)


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 1, "this is not JSON: the file is empty"),
        (" \n", 1, "this is not JSON: the file is empty"),
        ('{"a": 1', 1, "this is not JSON: expected ','"),
        ('{"a": 1,}', 1, "this is not JSON: expected a text in double quotes"),
        ("{\n'a': 1}", 2, "this is not JSON: expected a text in double quotes"),
        ('{"a" 1}', 1, "this is not JSON: expected ':'"),
        ("[1,]", 1, "this is not JSON: a value is missing or cannot be read"),
        ("[NaN]", 1, "this is not JSON: a value is missing or cannot be read"),
        ("[01]", 1, "this is not JSON: expected ','"),
        ('["\\x"]', 1, "this is not JSON: the text has an escape that is unknown"),
        ("[1]\n[2]", 2, "this is not JSON: something follows after its end"),
        ("[" * 100, 1, "this is not JSON: more than 40 levels inside each other"),
        ('{"a": 1,\n"a": 2}', 2, "'a' is there twice; the first stands in line 1"),
    ],
)
def test_mistakes(text: str, line: int, what: str) -> None:
    (problem,) = parse_json(text, "x.json").problems
    assert (problem.file, problem.line, problem.what) == ("x.json", line, what)
