"""What plain values mean."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.manifest.strict_yaml import parse_document


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None), ("~", None), ("", None), ("true", True), ("false", False), ("0", 0), ("-12", -12), ("1.5", 1.5), ("1e3", 1000.0),
        ("Y", "Y"), ("2024-01-31", "2024-01-31"), ("1.2.3", "1.2.3"), ('"010"', "010"), ("'no'", "no"), ("${env:X}", "${env:X}"),
        ("[a, 1]", ["a", 1]), ("{a: {b: c}}", {"a": {"b": "c"}}), ("|\n  two\n  lines\n", "two\nlines\n"), ("infinity", "infinity"),
    ],
)  # fmt: skip
def test_values(text: str, value: Any) -> None:
    document = parse_document(f"a: {text}", "f")
    assert document.problems == []
    assert document.data == {"a": value}
    assert type(document.data["a"]) is type(value)


@pytest.mark.parametrize(
    "text",
    ["yes", "No", "ON", "off", "True", "FALSE", "Null", "NULL", "010", "08", "0o17", "0x1F", "0b1", "1_000", "1.", ".5", "-.inf", ".NaN", "12:30", "01.5"],
)  # fmt: skip
def test_values_that_programs_read_differently(text: str) -> None:
    (problem,) = parse_document(f"a:\n  b: {text}", "f").problems
    assert (problem.line, problem.column, problem.field) == (2, 6, "a.b")
    assert text in problem.what
    assert f'"{text}" in quotes' in str(problem.hint)


def test_places_of_keys_and_values() -> None:
    document = parse_document("a:\n  - x\n  - b: 1\n", "f")
    assert document.place(("a", 1, "b")) == (3, 8)
    assert document.place(("a", 1, "b"), on_key=True) == (3, 5)
    assert document.place(("a", 1, "c", "d")) == (3, 5)
    assert document.place(("nowhere",)) == (1, 1)


@given(st.text())
def test_any_text_is_read_or_refused_but_never_breaks(text: str) -> None:
    parse_document(text, "f")
