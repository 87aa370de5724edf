"""Rows in every format."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
from typing import Any

import pytest

from lakebed.cli.output import Format, cell, harmless, print_rows

ROWS: list[dict[str, Any]] = [
    {"id": 1, "name": 'say "hi", you', "tags": ["a"], "ok": True},
    {"id": 2, "name": None, "tags": None, "ok": False},
    {"id": 3, "name": "", "tags": [], "ok": None},
]
COLUMNS = ["id", "name", "tags", "ok"]


def test_csv(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(COLUMNS, ROWS, Format.CSV)
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert rows == [
        COLUMNS,
        ["1", 'say "hi", you', '["a"]', "true"],
        ["2", "", "", "false"],
        ["3", "", "[]", ""],
    ]


def test_json_and_ndjson(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(COLUMNS, ROWS, Format.JSON)
    assert json.loads(capsys.readouterr().out) == ROWS
    print_rows(COLUMNS, ROWS, Format.NDJSON)
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == ROWS


def test_a_table_tells_null_from_empty_and_cuts_nothing_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(["name"], [{"name": "x" * 500}, {"name": None}, {"name": "[red]text[/red]"}], Format.TABLE)
    shown = capsys.readouterr().out
    assert "x" * 500 in shown
    assert "NULL" in shown
    assert "[red]text[/red]" in shown


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        (True, "true"),
        ("a\nb\x1b[31m", "a\\nb\\x1b[31m"),
        ({"a": 1}, '{"a": 1}'),
        (dt.datetime(2024, 1, 31, 12, tzinfo=dt.UTC), "2024-01-31 12:00:00"),
        ("größe 日本", "größe 日本"),
    ],
)
def test_cells(value: Any, text: str) -> None:
    assert cell(value) == text


def test_harmless_keeps_lines() -> None:
    assert harmless("a\nb\r\x07") == "a\nb\\r\\x07"
