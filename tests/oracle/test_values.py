"""The oracle's types and values: what is nested, what upcasts, and valid_from of another type than event time."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from tests.oracle import Model, Refused
from tests.oracle.values import cast, in_turn, meet, read_value

FEED = {"kind": "changes", "key": ["id"], "order_by": ["seq"], "delete_when": "op = 'D'"}
NOON = "2024-03-01T12:00:00Z"


def applied(feed: dict[str, Any], history: dict[str, Any], rows: list[dict[str, Any]], kind: str) -> Model:
    """A versions table after one batch whose column `t` has this type."""
    model = Model(feed, {"kind": "versions", **history})
    model.apply({"system_time": NOON, "rows": rows}, f"id int, seq int, op string, t {kind}")
    return model


@pytest.mark.parametrize(
    ("value", "kind", "read"),
    [
        ({"b": 1, "A": None}, "struct<a:string,b:double>", (None, 1.0)),
        ({"2": [1], "1": None}, "map<int,array<int>>", ((1, None), (2, (1,)))),
        ({"true": "1.5"}, "map<boolean,decimal(5,2)>", ((True, Decimal("1.5")),)),
        ("\xff", "binary", b"\xc3\xbf"),
        ("2024-01-01T00:00:00", "timestamp_ntz", datetime(2024, 1, 1, tzinfo=UTC)),
    ],
)
def test_values_can_be_keys(value: Any, kind: str, read: Any) -> None:
    found = read_value(value, kind)
    assert found == read
    assert isinstance(hash(found), int)


def test_L3_a_NULL_inside_of_a_key_comes_first() -> None:
    assert sorted([(1, "b"), (1, None), (0, "z")], key=in_turn) == [(0, "z"), (1, None), (1, "b")]


@pytest.mark.parametrize(
    ("kept", "arriving", "met"),
    [
        ("array<bigint>", "array<int>", "array<bigint>"),
        ("array<array<string>>", "array<array<int>>", "array<array<string>>"),
        ("map<string,double>", "map<string,float>", "map<string,double>"),
        ("map<bigint,int>", "map<int,int>", None),
        ("array<int>", "array<bigint>", None),
        ("struct<a:bigint>", "struct<a:int>", None),
        ("map<string,int>", "array<int>", None),
        ("timestamp_ntz", "date", "timestamp_ntz"),
        ("string", "timestamp_ntz", "string"),
        ("string", "timestamp", None),
    ],
)
def test_G9_upcasts_inside_arrays_and_maps(kept: str, arriving: str, met: str | None) -> None:
    assert meet(kept, arriving) == met


def test_G9_values_inside_are_cast() -> None:
    assert cast((1, None), "array<int>", "array<string>") == ("1", None)
    assert cast((("a", 1),), "map<string,int>", "map<string,double>") == (("a", 1.0),)
    assert (
        cast(datetime(2024, 1, 1, 0, 0, 0, 500000, UTC), "timestamp_ntz", "string") == "2024-01-01 00:00:00.5"
    )


def test_G3_a_delete_without_a_date_takes_the_day_of_its_event_time() -> None:
    rows = [{"id": 1, "seq": 1, "t": "2024-01-01"}, {"id": 1, "seq": 2, "op": "D"}]
    (row,) = applied(FEED, {"valid_from": "t"}, rows, "date").table()
    assert (row["valid_from"], row["valid_to"]) == (date(2024, 1, 1), date(2024, 3, 1))


def test_G3_a_key_that_vanishes_takes_the_day_of_its_snapshot() -> None:
    feed = {"kind": "snapshot", "key": ["id"], "allow_empty": True}
    model = applied(feed, {"valid_from": "t"}, [{"id": 1, "t": "2024-01-01"}], "date")
    model.apply({"system_time": NOON, "rows": []}, "id int, seq int, op string, t date")
    assert model.table()[0]["valid_to"] == date(2024, 3, 1)


@pytest.mark.parametrize(
    ("feed", "history"),
    [
        (FEED, {"valid_from": "t"}),
        ({**FEED, "delete_when": None, "truncate_when": "op = 'T'"}, {"valid_from": "t"}),
        (FEED, {"end": "inclusive_day"}),
        (FEED, {"initial_valid_from": "1900-01-01"}),
        ({"kind": "snapshot", "key": ["id"]}, {"valid_from": "t"}),
    ],
)
def test_G3_V2_a_number_as_valid_from_is_refused(feed: dict[str, Any], history: dict[str, Any]) -> None:
    with pytest.raises(Refused) as refused:
        applied(feed, history, [], "int")
    assert refused.value.code == "invalid_options"


@pytest.mark.parametrize(
    ("feed", "history"),
    [
        (FEED, {"valid_from": "seq"}),
        (FEED, {"valid_from": "t", "deletes": "ignore"}),
        ({**FEED, "delete_when": None}, {"valid_from": "t"}),
        ({"kind": "updates", "key": ["id"]}, {"valid_from": "t"}),
    ],
)
def test_G3_a_number_that_no_delete_lacks_is_a_valid_from(
    feed: dict[str, Any], history: dict[str, Any]
) -> None:
    assert applied(feed, history, [{"id": 1, "seq": 1, "t": 5}], "int").table()
