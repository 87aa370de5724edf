"""The runner itself: what it must notice, what it must leave out, and what a case may hold."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.conformance import cases
from tests.conformance.by_oracle import ByOracle
from tests.conformance.cases import Case
from tests.conformance.checks import failures
from tests.conformance.compare import Table, difference
from tests.conformance.properties import broken_identity, converges

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
BY_TIME = {"kind": "versions", "valid_from": "t"}
SYSTEM_TIME = "2024-02-01T00:00:00Z"


def made(rows: list[dict[str, Any]], feed: dict[str, Any], history: dict[str, Any], **more: Any) -> Case:
    """A case of one batch."""
    return {
        "name": "made",
        "schema": "id bigint, v string, t timestamp, op string",
        "feed": {"key": ["id"], **feed},
        "history": history,
        "batches": [{"system_time": SYSTEM_TIME, "rows": rows}],
        **more,
    }


def updated(rows: list[dict[str, Any]], **more: Any) -> Case:
    return made(rows, {"kind": "updates"}, {"kind": "current"}, **more)


def test_R2_leaves_out_rows_that_are_bad_in_versions_only() -> None:
    rows = [{"id": 1, "v": "a", "t": "2024-01-01T00:00:00Z"}, {"id": 2, "v": "b", "t": None}]
    case = made(rows, {"kind": "updates", "except_columns": ["t", "op"]}, BY_TIME)
    assert broken_identity(case, ByOracle) == []


def test_G6_leaves_out_deletes_that_take_the_time_of_their_batch() -> None:
    feed = {"kind": "changes", "order_by": ["id"], "delete_when": "op = 'D'"}
    timed, untimed = ({"id": 1, "T": time, "op": "D"} for time in ("2024-01-01T00:00:00Z", None))
    assert converges(made([timed], feed, BY_TIME))
    assert not converges(made([timed, untimed], feed, BY_TIME))
    assert converges(made([timed, untimed], feed, {"kind": "versions"}))
    assert converges(made([timed, untimed], {**feed, "event_time": "t"}, BY_TIME))


def test_files_may_leave_out_what_they_do_not_need(tmp_path: Path) -> None:
    refused = {
        "name": "refused",
        "schema": "id bigint",
        "feed": {"kind": "append"},
        "history": {"kind": "versions"},
        "expected_error": {"batch": 0, "code": "unsupported_combination"},
    }
    (tmp_path / "vectors.json").write_text('{"date_vectors": []}', "utf-8")
    (tmp_path / "short.json").write_text(json.dumps({"cases": [refused]}), "utf-8")
    (case,) = cases.load([tmp_path])
    assert case["note"] == ""
    assert not converges(case)
    assert failures(case, ByOracle) == []


def test_a_count_of_0_is_no_count() -> None:
    assert failures(updated([], expected_rejected={"null_key": 0}), ByOracle) == []
    error = {"batch": 1, "code": "null_key", "reasons": {"null_key": 1, "null_order": 0}}
    case = made([{"id": None}], {"kind": "updates", "on_bad_rows": "fail"}, {"kind": "current"})
    assert failures({**case, "expected_error": error}, ByOracle) == []


def test_G9_names_in_rows_ignore_case() -> None:
    assert failures(updated([{"ID": 1, "V": "a"}], expected=[{"Id": 1, "v": "a"}]), ByOracle) == []


@pytest.mark.parametrize(
    ("kind", "found", "expected"),
    [
        ("double", 1.0, "abc"),
        ("double", 1.0, True),
        ("decimal(5,2)", Decimal("1.00"), "abc"),
        ("decimal(5,2)", Decimal("1.00"), True),
        ("timestamp", NOON, "noon"),
        ("string", "true", True),
        ("boolean", True, "true"),
        ("boolean", True, 1),
        ("array<boolean>", [True], ["true"]),
        ("struct<a:int,b:double>", (1, 2.0), {"a": 1}),
        ("struct<a:int,b:double>", (1, 2.0), {"a": 1, "b": "x"}),
        ("struct<a:int>", (1,), "text"),
        ("map<string,int>", {"a": 1}, {"a": 1, "b": None}),
        ("map<int,int>", {1: 1}, {"one": 1}),
        ("binary", b"\xff", "\xff"),
        ("binary", b"a", 1),
    ],
)
def test_what_differs_is_a_difference(kind: str, found: Any, expected: Any) -> None:
    assert difference(Table([{"x": found}], {"x": kind}), [{"x": expected}])


@pytest.mark.parametrize(
    ("kind", "found", "expected"),
    [
        ("timestamp_ntz", datetime(2024, 1, 1, 12), "2024-01-01T12:00:00"),  # noqa: DTZ001
        ("timestamp_ntz", datetime(2024, 1, 1, 12), "2024-01-01T12:00:00Z"),  # noqa: DTZ001
        ("binary", bytearray(b"\xc3\xbf"), "\xff"),
        ("array<timestamp>", [NOON, None], ["2024-01-01T13:00:00+01:00", None]),
        ("array<double>", (float("nan"), -0.0), ["NaN", 0]),
        ("struct<A:int,b:double,c:string>", (1, -0.0, None), {"a": 1, "B": 0}),
        ("struct<a:struct<b:date>,c:int>", ((date(2024, 1, 1),), 1), {"a": {"b": "2024-01-01"}, "c": 1}),
        ("map<string,int>", {"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ("map<int,boolean>", {1: True}, {"1": True}),
        ("map<boolean,array<timestamp>>", {True: [NOON]}, {"true": ["2024-01-01T12:00:00Z"]}),
    ],
)
def test_what_is_equal_is_none(kind: str, found: Any, expected: Any) -> None:
    assert difference(Table([{"x": found}], {"x": kind}), [{"x": expected}]) is None


@pytest.mark.parametrize(("is_current", "fits"), [("true", True), (True, False)])
def test_texts_of_a_flag_are_texts(is_current: object, fits: bool) -> None:  # noqa: FBT001
    start, end = SYSTEM_TIME, "9999-12-31T00:00:00Z"
    row = {"id": 1, "valid_from": start, "valid_to": end, "is_current": is_current, "is_deleted": False}
    case = made([{"id": 1}], {"kind": "updates"}, {"kind": "versions", "flag": ["true", "false"]})
    assert (failures({**case, "expected": [row]}, ByOracle) == []) is fits
