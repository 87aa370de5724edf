"""Spark DDL without a JVM."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.manifest.ddl import DdlError, parse_ddl

GOOD = {
    "id bigint, name string": [("id", "bigint"), ("name", "string")],
    "ID BIGINT NOT NULL COMMENT 'the (one), key'": [("ID", "BIGINT")],
    "`a.b` int, `tick``s` int": [("a.b", "int"), ("tick`s", "int")],
    "d decimal(10, 2), e decimal, c char(3), v varchar(20)": [
        ("d", "decimal(10, 2)"), ("e", "decimal"), ("c", "char(3)"), ("v", "varchar(20)"),
    ],
    "a array<map<string, struct<x: int, y: array<double>>>>": [("a", "array<map<string, struct<x: int, y: array<double>>>>")],
    "t timestamp, n timestamp_ntz, s struct<>": [("t", "timestamp"), ("n", "timestamp_ntz"), ("s", "struct<>")],
    "größe int": [("größe", "int")],
}  # fmt: skip


@pytest.mark.parametrize(("ddl", "columns"), GOOD.items())
def test_columns(ddl: str, columns: list[tuple[str, str]]) -> None:
    assert [(column.name, column.type) for column in parse_ddl(ddl)] == columns


@pytest.mark.parametrize(
    ("ddl", "why"),
    [
        ("", "expected the name of a column at its end"),
        ("id", "the column id has no type"),
        ("id bigint,", "expected the name of a column at its end"),
        ("id bigint name string", "expected a comma or the end near 'name string'"),
        ("id bigit", "'bigit' is no type of Spark; did you mean 'bigint'?"),
        ("i interval day to second", "the column i cannot be kept as interval; declare it as string"),
        ("id bigint, t time", "the column t cannot be kept as time"),
        ("id number", "'number' is no type of Spark"),
        ("a.b int", "'.' cannot stand here"),
        ("a array<int", "expected '>' at its end"),
        ("a array int", "expected '<' near 'int'"),
        ("a map<int>", "expected ',' near '>'"),
        ("d decimal(1,2,3)", "decimal takes 2 numbers at most, found 3"),
        ("d decimal(x)", "expected a number near 'x)'"),
        ("v varchar", "varchar needs its length"),
        ("i int(3)", "int takes no numbers in brackets"),
        ("i int not", "expected NOT NULL at its end"),
        ("i int comment x", "expected a text in quotes after COMMENT near 'x'"),
        ("a int, A string", "the column 'A' is there twice"),
        ("a int; drop table x", "';' cannot stand here"),
    ],
)
def test_refused(ddl: str, why: str) -> None:
    with pytest.raises(DdlError) as caught:
        parse_ddl(ddl)
    assert why in str(caught.value)


@given(st.text(alphabet="ab <>(),:`'1int"))
def test_any_text_is_read_or_refused_but_never_breaks(ddl: str) -> None:
    with contextlib.suppress(DdlError):
        assert parse_ddl(ddl)
