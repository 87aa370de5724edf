"""G9 from schemas alone: which column is there, which may be missing, which type it has after a batch."""

from __future__ import annotations

import datetime as dt
from typing import Any, cast

import pytest
from pyspark.sql.types import DataType, StructType

import lakebed as lb
from lakebed.history.shape import Known, Shape, shape_of
from lakebed.history.types import reconcile
from lakebed.table.opening import known_of

pytestmark = pytest.mark.usefixtures("spark")  # it reads DDL


def schema(ddl: str) -> StructType:
    return cast("StructType", StructType.fromDDL(ddl))


def shapes(feed: Any, history: Any, *batches: str) -> list[Shape]:
    """The shape after each batch with these columns; the table keeps a journal."""
    known, found = Known(), list[Shape]()
    for ddl in batches:
        found.append(shape_of(schema(ddl), feed, history, known, batch_time_declared=False))
        known = known_of(found[-1], kept=True)
    return found


def type_of(name: str) -> DataType:
    return schema(f"x {name}")[0].dataType


@pytest.mark.parametrize(
    ("table", "batch", "after"),
    [
        ("bigint", "int", "bigint"),
        ("int", "bigint", "bigint"),
        ("double", "bigint", "double"),
        ("bigint", "double", None),
        ("decimal(20,2)", "int", "decimal(20,2)"),
        ("decimal(10,2)", "bigint", None),
        ("string", "boolean", "string"),
        ("string", "double", "string"),
        ("string", "timestamp", None),  # as text it depends on the session's zone
        ("boolean", "string", None),
        ("date", "void", "date"),  # no value has no type
        ("void", "bigint", "bigint"),
        ("timestamp", "date", "timestamp"),
        ("array<bigint>", "array<int>", "array<bigint>"),
        ("array<int>", "array<string>", None),
        ("map<string,double>", "map<string,float>", "map<string,double>"),
    ],
)
def test_G9_a_type_that_upcasts_is_cast_and_one_of_the_family_widens(
    table: str, batch: str, after: str | None
) -> None:
    found = reconcile(type_of(table), type_of(batch))
    assert (found and found.simpleString()) == after


CHANGES = lb.Changes(
    key=["id"], order_by=["n"], delete_when="op = 'D'", event_time="t", except_columns=["t", "op"]
)


def test_G9_a_declared_time_that_a_batch_lacks_is_null_in_it() -> None:
    _, later = shapes(
        CHANGES, lb.Current(), "id int, n int, op string, t timestamp", "id int, n int, op string"
    )
    assert later.event_time == "t"
    assert "t" not in later.sources


def test_G9_a_column_that_an_option_names_and_nobody_knows_is_a_slip_of_the_pen() -> None:
    feed = lb.Updates(key=["id"], event_time="tme")
    with pytest.raises(lb.LakebedError, match="'tme' is the declared event time") as error:
        shapes(feed, lb.Current(), "id int, time timestamp")
    assert error.value.code == "missing_column"


def test_G9_with_fail_a_declared_time_may_not_be_missing() -> None:
    feed = CHANGES.model_copy(update={"on_missing_column": "fail"})
    with pytest.raises(lb.LakebedError, match="declared event time"):
        shapes(feed, lb.Current(), "id int, n int, op string, t timestamp", "id int, n int, op string")


def test_L1_a_date_that_is_the_logs_own_event_time_is_a_timestamp_from_then_on() -> None:
    feed = lb.Ledger(key=["event_time", "city"], event_time="event_time")
    first, second = shapes(feed, lb.Log(), *["event_time date, city string"] * 2)
    assert first.field("event_time").dataType == second.field("event_time").dataType == type_of("timestamp")
    assert second.widened == ()


def test_V3_an_initial_time_needs_a_valid_from_that_is_one() -> None:
    feed = lb.Updates(key=["id"], order_by=["n"])
    with pytest.raises(lb.LakebedError, match="initial_valid_from is a time, and valid_from is bigint"):
        shapes(feed, lb.Versions(initial_valid_from=dt.date(1900, 1, 1)), "id int, n bigint")


def test_F6_what_an_event_may_leave_unset() -> None:
    row = "id int, n int, a string, b string"

    def optional(**options: Any) -> set[str]:
        (found,) = shapes(lb.Updates(key=["id"], order_by=["n"], **options), lb.Current(), row)
        return set(found.optional)

    assert optional() == set()
    assert optional(ignore_nulls=["A"]) == {"a"}
    assert optional(ignore_nulls=["a"], on_missing_column="keep") == {"n", "a", "b"}
    assert optional(ignore_nulls=True) == {"n", "a", "b"}
