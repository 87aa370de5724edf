"""`source.envelope`: how it is written, what follows from it, what it does not go with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lakebed.manifest import Changes, Dataset, Debezium, Dms, Plain, Versions, json_schema, load_project
from lakebed.manifest.dataset import check_dataset
from lakebed.manifest.envelopes import ORDER

EXAMPLES = Path(__file__).parents[2] / "examples"


def dataset(envelope: object = None, *, feed: dict[str, Any] | None = None, **source: Any) -> Dataset:
    given = {"files": "in/{file}", "format": "json", "schema": "id bigint, at timestamp", **source}
    if envelope is not None:
        given["envelope"] = envelope
    return Dataset.model_validate(
        {
            "dataset": "demo.things",
            "source": {name: value for name, value in given.items() if value is not None},
            "feed": {"kind": "changes", "key": ["id"], **(feed or {})},
            "history": {"kind": "current"},
        }
    )


def problems(of: Dataset) -> list[tuple[str, str]]:
    return [(problem.field, problem.what) for problem in check_dataset(of)]


@pytest.mark.parametrize(
    ("written", "envelope"),
    [
        (None, Plain()),
        ("plain", Plain()),
        ("debezium", Debezium()),
        ({"kind": "debezium", "times": "us"}, Debezium(times="us")),
        ({"kind": "dms", "timestamp": "at"}, Dms(timestamp="at")),
    ],
)
def test_a_name_or_a_mapping(written: object, envelope: object) -> None:
    assert dataset(written).source.envelope == envelope


def test_plain_changes_nothing() -> None:
    of = dataset(feed={"delete_when": "gone", "order_by": ["at"]})
    assert of.declared_feed == of.feed


def test_debezium_tells_the_feed_everything() -> None:
    feed = dataset("debezium").declared_feed
    assert isinstance(feed, Changes)
    assert feed.order_by == ORDER
    assert feed.delete_when == "`_change_operation` = 'delete'"
    assert feed.truncate_when == "`_change_operation` = 'truncate'"
    assert feed.ignore_when == "`_change_operation` = 'ignore'"
    assert (feed.present_columns, feed.event_time) == ("_change_sets", "_change_time")
    assert set(feed.except_columns) == {*ORDER, "_change_operation", "_change_time", "_change_sets"}


def test_a_column_that_dms_uses_and_does_not_store_may_have_any_name() -> None:
    of = dataset({"kind": "dms", "timestamp": "sk"}, format="csv", schema="id bigint, sk timestamp")
    assert problems(of.model_copy(update={"history": Versions()})) == []
    of = dataset(schema="id bigint, sk timestamp").model_copy(update={"history": Versions()})
    assert [field for field, _ in problems(of)] == ["source.schema"]


def test_dms_does_not_store_what_it_was_told_to_use() -> None:
    feed = dataset({"kind": "dms", "timestamp": "at"}, format="csv").declared_feed
    assert isinstance(feed, Changes)
    assert (feed.truncate_when, feed.present_columns) == (None, None)
    assert "at" in feed.except_columns


def test_what_the_user_says_of_order_and_time_holds() -> None:
    of = dataset(
        "debezium",
        feed={"order_by": ["at"], "ignore_when": "id = 0", "except_columns": ["x"]},
        schema="id bigint, at timestamp, x int",
        event_time={"from": "column", "column": "at"},
    )
    feed = of.declared_feed
    assert isinstance(feed, Changes)
    assert problems(of) == []
    assert feed.order_by == ("at",)
    assert feed.event_time_column is not None
    assert feed.event_time_column.column == "at"
    assert feed.ignore_when == "(id = 0) OR `_change_operation` = 'ignore'"
    assert feed.except_columns[0] == "x"


@pytest.mark.parametrize(
    ("envelope", "more", "field", "words"),
    [
        ("debezium", {"feed": {"kind": "updates"}}, "feed.kind", "holds changes"),
        ("debezium", {"format": "csv"}, "source.format", "comes as json or ndjson or parquet or orc"),
        ("dms", {}, "source.format", "comes as csv or parquet"),
        ("debezium", {"schema": None}, "source", "'schema' is missing"),
        ("dms", {"schema": None, "format": "csv"}, "source", "'schema' is missing"),
        ("debezium", {"feed": {"delete_when": "x"}}, "feed.delete_when", "tells this already"),
        ("dms", {"format": "csv", "feed": {"present_columns": "id"}}, "feed.present_columns", "already"),
        ("debezium", {"feed": {"ignore_nulls": True}}, "feed.ignore_nulls", "a NULL in it is a value"),
        ("debezium", {"event_time": {"from": "file"}}, "source.event_time", "tells the time"),
        ("debezium", {"schema": "id int, _Change_x int"}, "source.schema", "prefix"),
        ("dms", {"format": "csv", "schema": "id int, op string"}, "source.schema", "puts in front"),
        ({"kind": "dms", "sequence": "seq"}, {"format": "csv"}, "source.envelope.sequence", "not in"),
        ({"kind": "debezium", "times": {"that": "us"}}, {}, "source.envelope.times.that", "not in"),
    ],
)
def test_what_it_does_not_go_with(envelope: object, more: dict[str, Any], field: str, words: str) -> None:
    found = problems(dataset(envelope, **more))
    assert [name for name, _ in found] == [field]
    assert words in found[0][1]


def test_editors_know_the_name_and_the_mapping() -> None:
    schema = json_schema("dataset")
    name, mapping = schema["$defs"]["LandingFiles"]["properties"]["envelope"]["anyOf"]
    assert name == {"enum": ["plain", "debezium", "dms"]}
    assert len(mapping["oneOf"]) == 3
    assert set(schema["$defs"]["Debezium"]["properties"]) == set(Debezium.model_fields)
    assert schema["$defs"]["Dms"]["required"] == ["kind"]


@pytest.mark.parametrize("name", ["debezium_orders", "dms_orders"])
def test_the_examples_load(name: str) -> None:
    for orders in load_project(EXAMPLES / name).datasets:
        assert orders.source.envelope.kind == name.removesuffix("_orders")
