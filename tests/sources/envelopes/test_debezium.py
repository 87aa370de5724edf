"""Debezium's messages as changes: many small records, one job."""

from __future__ import annotations

import datetime as dt
import itertools
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType
from tests.sources.envelopes import records

import lakebed as lb
from lakebed.manifest import Dataset, Debezium, load_project
from lakebed.manifest.envelopes import ORDER
from lakebed.sources.envelopes import Given, debezium, one_file, reads_lines, unwrap
from lakebed.sources.envelopes.debezium_messages import as_messages

SCHEMA = (
    "id bigint, name string, amount decimal(10,2), big decimal(38,0), rate double, day date, at timestamp, "
    "moment timestamp, flag boolean, doc binary, tags array<string>, nums array<int>, props map<string,string>"
)
ARRIVED = dt.datetime(2024, 3, 3, tzinfo=dt.UTC)


def fields(ddl: str) -> tuple[StructField, ...]:
    parsed = StructType.fromDDL(ddl)
    assert isinstance(parsed, StructType)
    return tuple(parsed.fields)


def given(schema: str = SCHEMA, **more: Any) -> Given:
    return Given(declared=fields(schema), key=("id",), **more)


def lines(spark: SparkSession, texts: dict[str, str]) -> DataFrame:
    """Messages as the reader gives them, the name of each in place of its file."""
    rows = [(text, name, place, (7 << 51) + place) for place, (name, text) in enumerate(texts.items())]
    return spark.createDataFrame(
        rows, "_lb_raw string, _lb_file string, _lb_line bigint, _lb_position bigint"
    ).withColumn("_lb_arrived", F.lit(ARRIVED).cast("timestamp"))


def changes(
    spark: SparkSession, texts: dict[str, str], envelope: Debezium | None = None, **more: Any
) -> DataFrame:
    found = debezium.changes(lines(spark, texts), envelope or Debezium(), given(**more))
    # Python's own times end with the year 9999, and a variant of times beyond it is another test's matter.
    return found.withColumn("_time", F.col("_change_time").cast("string"))


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> dict[str, Row]:
    """Every record by its name, all of them read in one job."""
    positions = {
        f"{source} {place}": text
        for source, texts in records.POSITIONS.items()
        for place, text in enumerate(texts)
    }
    plain = {
        **records.OPERATIONS,
        **records.VALUES,
        **records.ABSURD,
        **records.SCHEMAS,
        **records.UNAVAILABLE,
        **records.MONGO,
        **records.FLAT,
        **positions,
    }
    optioned = Debezium(form="nested", decimals="string", times={"AT": "ms", "moment": "us"})
    frames = [
        changes(spark, plain),
        changes(spark, records.FLAT_ONLY, Debezium(form="flat"), schema="id bigint, source string"),
        changes(
            spark, records.OPTIONED, optioned, schema="amount decimal(10,2), at timestamp, moment timestamp"
        ),
        changes(
            spark, records.MISSING, schema="id bigint, name string, amount decimal(10,2)", keep_missing=True
        ),
    ]
    united = frames[0]
    for frame in frames[1:]:
        united = united.unionByName(frame, allowMissingColumns=True)
    rows = united.withColumns({"at": F.col("at").cast("string"), "moment": F.col("moment").cast("string")})
    return {row["_lb_file"]: row for row in rows.collect()}


def bad(row: Row) -> str | None:
    reason = row["_lb_bad"]
    assert (reason is None) == (row["_lb_raw"] is None)
    return str(reason) if reason else None


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        ("create", "upsert"),
        ("update", "upsert"),
        ("snapshot read", "upsert"),
        ("delete with the key only", "delete"),
        ("delete whose other values do not fit", "delete"),
        ("truncate", "truncate"),
        ("logical message", "ignore"),
        ("tombstone", "ignore"),
        ("blank line", "ignore"),
        ("tombstone in a schema", "ignore"),
        ("begin", "ignore"),
        ("end", "ignore"),
        ("other case", "upsert"),
        ("a status that is data", "upsert"),
        ("flat", "upsert"),
        ("flat with fields", "upsert"),
        ("flat kept", "upsert"),
        ("flat deleted", "delete"),
        ("flat deleted by op", "delete"),
        ("columns like an envelope", "upsert"),
        ("absurd times of the source", "upsert"),
        ("absurd position", "upsert"),
        ("absurd sequence", "upsert"),
    ],
)
def test_operations(found: dict[str, Row], name: str, operation: str) -> None:
    assert (found[name]["_change_operation"], bad(found[name])) == (operation, None)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("unknown operation", "unknown_operation"),
        ("no operation", "unknown_operation"),
        ("delete whose key does not fit", "bad_cast"),
        ("upsert without a row", "unreadable"),
        ("torn", "unreadable"),
        ("two messages on a line", "unreadable"),
        ("something after it", "unreadable"),
        ("a list", "unreadable"),
        ("no JSON", "unreadable"),
        ("decimal too big", "bad_cast"),
        ("decimal with digits that would be lost", "bad_cast"),
        ("number with digits that would be lost", "bad_cast"),
        ("decimal as text", "bad_cast"),
        ("whole decimal of digits alone", "bad_cast"),
        ("decimal of digits alone", "bad_cast"),
        ("moment without a unit", "bad_cast"),
        ("a time is no moment", "bad_cast"),
        ("text in a number", "bad_cast"),
        ("fraction in a whole number", "bad_cast"),
        ("array with a stranger", "bad_cast"),
        ("array that is none", "bad_cast"),
        ("absurd scale", "bad_cast"),
        ("absurd decimal", "bad_cast"),
        ("absurd day", "bad_cast"),
        ("absurd moment", "bad_cast"),
        ("absurd time of day", "bad_cast"),
    ],
)
def test_G5_what_cannot_be_used_is_bad_and_keeps_its_text(
    found: dict[str, Row], name: str, reason: str
) -> None:
    texts = records.OPERATIONS | records.VALUES | records.ABSURD
    assert bad(found[name]) == reason
    assert found[name]["_lb_raw"] == texts[name]


@pytest.mark.parametrize(
    ("name", "column", "value"),
    [
        ("create", "name", "x"),
        ("update", "name", "y"),
        ("delete with the key only", "id", 1),
        ("other case", "id", 7),
        ("other case", "name", "x"),
        ("decimal 123.45", "amount", Decimal("123.45")),
        ("decimal -123.45", "amount", Decimal("-123.45")),
        ("decimal 0", "amount", Decimal("0.00")),
        ("decimal 1.28", "amount", Decimal("1.28")),
        ("decimal as a number", "amount", Decimal("1234.00")),
        ("decimal with its own scale", "amount", Decimal("1234.50")),
        ("whole number with its own scale", "id", 12345),
        ("biggest decimal", "big", Decimal(10**38 - 1)),
        ("smallest decimal", "big", Decimal(1 - 10**38)),
        ("many digits", "big", Decimal("12345678901234567890123456789012345678")),
        ("day", "day", dt.date(2024, 2, 29)),
        ("day before 1970", "day", dt.date(1969, 12, 31)),
        ("day as text", "day", dt.date(2024, 2, 29)),
        ("zoned moment", "at", "2018-06-20 13:37:03.123456"),
        ("zoned moment elsewhere", "at", "2018-06-20 13:37:03"),
        ("bytes", "doc", b"hello"),
        ("flag", "flag", True),
        ("number in a text", "name", "5"),
        ("JSON in a text", "name", '{"b": 1, "a": 2}'),
        ("null", "name", None),
        ("array", "nums", [1, None, 3]),
        ("map", "props", {"a": "b"}),
        ("infinity", "moment", "9999-12-31 23:59:59.999999"),
        ("minus infinity", "moment", "0001-01-01 00:00:00"),
        ("schema decimal", "amount", Decimal("1234.50")),
        ("schema negative scale", "amount", Decimal("500.00")),
        ("schema decimal as number", "amount", Decimal("1234.00")),
        ("schema decimal to text", "name", "-123.45"),
        ("schema decimal to double", "rate", 1234.5),
        ("schema decimal in string mode", "amount", Decimal("1234.00")),
        ("schema ms", "at", "2018-06-20 15:13:16.945"),
        ("schema us", "at", "2018-06-20 15:13:16.945104"),
        ("schema ns", "at", "2018-06-20 15:13:16.945104"),
        ("schema zoned", "at", "2018-06-20 13:37:03"),
        ("schema day", "day", dt.date(2024, 2, 29)),
        ("schema moment to day", "day", dt.date(2018, 6, 20)),
        ("schema time to text", "name", "12:34:56.000007"),
        ("schema negative time", "name", "-01:00:00.000000"),
        ("schema day to text", "name", "2024-02-29"),
        ("mongodb row", "id", 7),
        ("mongodb row", "at", "2018-06-20 15:13:16.945"),
        ("flat deleted", "id", 1),
        ("columns like an envelope", "id", 1),
        ("string mode", "amount", Decimal("1234.00")),
        ("moment with a unit", "at", "2018-06-20 15:13:16.945"),
        ("moment with another unit", "moment", "2018-06-20 15:13:16.945104"),
    ],
)
def test_values(found: dict[str, Row], name: str, column: str, value: object) -> None:
    assert (found[name][column], bad(found[name])) == (value, None)


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("unavailable text", "name"),
        ("unavailable bytes", "doc"),
        ("unavailable texts", "tags"),
        ("unavailable uuids", "tags"),
        ("unavailable numbers", "nums"),
        ("unavailable map", "props"),
        ("unavailable JSON", "name"),
    ],
)
def test_F6_a_value_that_was_not_sent_is_not_set(found: dict[str, Row], name: str, column: str) -> None:
    row = found[name]
    assert (row[column], bad(row)) == (None, None)
    assert sorted([*row["_change_sets"], column]) == sorted(field.name for field in fields(SCHEMA))


def test_F6_a_whole_row_sets_all(found: dict[str, Row]) -> None:
    assert found["nothing unavailable"]["_change_sets"] is None


def test_a_field_that_is_missing_keeps_its_value_where_that_is_asked_for(found: dict[str, Row]) -> None:
    assert found["a field is missing"]["_change_sets"] == ["id", "amount"]


@pytest.mark.parametrize("source", records.POSITIONS)
def test_G6_positions_order_as_the_source_did(found: dict[str, Row], source: str) -> None:
    rows = [found[f"{source} {place}"] for place in range(len(records.POSITIONS[source]))]
    orders = [tuple(row[name] for name in ORDER) for row in rows]
    assert not any(part is None for order in orders for part in order)
    assert all(one < other for one, other in itertools.pairwise(orders)), orders


@pytest.mark.parametrize(
    ("name", "phase", "major"),
    [
        ("flat", 1, 0),
        ("flat snapshot", 0, 0),
        ("flat with fields", 1, 5),
        ("flat with a binlog", 1, 7),
        ("snapshot read", 0, 500),
        ("truncate", 1, 500),
    ],
)
def test_positions_of_flat_rows_and_others(found: dict[str, Row], name: str, phase: int, major: int) -> None:
    assert (found[name]["_change_phase"], found[name]["_change_major"]) == (phase, major)


def test_without_a_position_the_file_and_the_place_in_it_decide(found: dict[str, Row]) -> None:
    """The batch does not: a file has the same place in it whatever is read along."""
    row = found["flat"]
    assert row["_change_file"] == "flat"
    assert row["_change_minor"] == row["_lb_line"]


@pytest.mark.parametrize(
    ("name", "time"),
    [
        ("create", "2024-03-02 08:30:00.1"),
        ("flat with fields", "2024-03-02 08:30:00.1"),
        ("flat", "2024-03-03 00:00:00"),
    ],
)
def test_G3_the_time_is_that_of_the_change(found: dict[str, Row], name: str, time: str) -> None:
    assert found[name]["_time"] == time


def test_columns_are_messages_too_and_those_of_the_path_stay_beside(spark: SparkSession) -> None:
    image = "struct<id:bigint,name:string>"
    block = "struct<connector:string,lsn:bigint,ts_ms:bigint>"
    schema = f"before {image}, after {image}, source {block}, op string"

    def of_file(country: str, row: tuple[Any, ...]) -> DataFrame:
        return as_messages(spark.createDataFrame([row], schema)).withColumn("country", F.lit(country))

    frame = of_file("DE", (None, (1, "x"), ("postgresql", 5, records.TIME), "c")).unionByName(
        of_file("FR", ((2, None), None, ("postgresql", 6, 1), "d"))
    )
    wanted = given("id bigint, name string, Country string", beside=("COUNTRY",))
    rows = debezium.changes(frame, Debezium(), wanted).orderBy("_change_minor").collect()
    assert [(row["id"], row["name"], row["Country"], row["_change_operation"]) for row in rows] == [
        (1, "x", "DE", "upsert"),
        (2, None, "FR", "delete"),
    ]


EXAMPLE = Path(__file__).parents[3] / "examples" / "debezium_orders"


def read_lines(spark: SparkSession, dataset: Dataset, path: Path) -> DataFrame:
    """A file as the reader would give it."""
    assert reads_lines(dataset)
    texts = path.read_text(encoding="utf-8").splitlines()
    frame = lines(spark, {str(place): text for place, text in enumerate(texts)}).drop("_lb_arrived")
    return one_file(frame.withColumn("_lb_file", F.lit(path.name)), dataset, ARRIVED)


def test_the_example_becomes_a_history(spark: SparkSession, tmp_path: Path) -> None:
    """One batch, its files in an odd order: with positions, the order of arrival does not matter."""
    dataset = load_project(EXAMPLE).dataset("shop.orders")
    orders = lb.table(spark, str(tmp_path / "orders"), feed=dataset.declared_feed, history=dataset.history)
    paths = sorted((EXAMPLE / "landing" / "shop" / "orders").iterdir())
    first, second, third = (read_lines(spark, dataset, path) for path in paths)
    arrived = third.unionByName(first).unionByName(second)
    report = orders.apply(unwrap(arrived, dataset), batch=1, system_time=ARRIVED)
    assert (report.read, report.rejected, report.duplicate, report.unchanged) == (8, 0, 1, 1)
    rows = orders.read().orderBy("id", "valid_from").collect()
    assert [(row["id"], row["customer"], row["total"], row["note"], row["is_current"]) for row in rows] == [
        (1, "Ada", Decimal("19.99"), "gift wrap, please", False),
        (1, "Ada", Decimal("89.99"), "gift wrap, please", True),
        (2, "Bob", Decimal("45.50"), None, False),
        (3, "Cleo", Decimal("120.00"), "ring twice", False),
        (3, "Cleopatra", Decimal("120.00"), "ring twice", True),
    ]
    assert not [name for name in rows[0].asDict() if name.startswith("_")]


REAL = os.environ.get("LAKEBED_REAL_DATA")


@pytest.mark.skipif(not REAL, reason="LAKEBED_REAL_DATA does not name a folder with events/")
def test_real_messages_end_in_the_same_products(spark: SparkSession) -> None:
    """Debezium's messages of two databases, with and without schema: rows 101 to 111, one of them deleted."""
    assert REAL is not None
    schema = "id bigint, name string, description string, weight double"
    ended: dict[str, list[tuple[Any, ...]]] = {}
    for file in sorted((Path(REAL) / "events").glob("debezium-*schema-*.txt")):
        frame = spark.read.text(str(file)).withColumnRenamed("value", "_lb_raw")
        wanted = Given(declared=fields(schema), key=("id",))
        rows = debezium.changes(frame, Debezium(), wanted).collect()
        assert [row for row in rows if row["_lb_bad"]] == [], file.name
        state: dict[int, tuple[Any, ...]] = {}
        for row in sorted(rows, key=lambda row: tuple(row[name] for name in ORDER)):
            state.pop(row["id"], None)
            if row["_change_operation"] == "upsert":
                state[row["id"]] = (row["name"], row["description"], round(row["weight"], 3))
        ended[file.name] = sorted((key, *values) for key, values in state.items())
    assert len(ended) == 4
    for name, products in ended.items():
        assert [product[0] for product in products] == list(range(101, 111)), name
        assert products[9][1:] == ("jacket", "new water resistent white wind breaker", 0.5), name
