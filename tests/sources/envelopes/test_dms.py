"""Files of AWS DMS as changes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

import lakebed as lb
from lakebed.errors import BatchError
from lakebed.manifest import Dataset, Dms, load_project
from lakebed.manifest.envelopes import ORDER
from lakebed.sources.envelopes import Given, dms, one_file, unwrap
from lakebed.sources.envelopes.dms_files import CSV_DEFAULTS, Layout, csv_layout, is_load
from lakebed.sources.first_bytes import Start, first_record

ARRIVED = dt.datetime(2024, 3, 3, tzinfo=dt.UTC)
LOAD_1, LOAD_9, LOAD_A, LOAD_10 = (
    f"a/b/LOAD{counter}.csv" for counter in ("00000001", "00000009", "0000000A", "00000010")
)
SEGMENT = "a/b/SEGMENT2_LOAD00000011.csv"
EARLY, LATE = "a/b/20240302-083010123.csv", "a/b/2024/03/02/20240302-083010124.csv"
MARKS = "_lb_file string, _lb_position bigint"
SEQUENCE = "2024030208300000" + "0" * 16


def in_order(rows: list[Row]) -> list[str]:
    return [row["id"] for row in sorted(rows, key=lambda row: tuple(row[name] for name in ORDER))]


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> dict[str, list[Row]]:
    """Small files in all the shapes there are, read in one job; a first column tells them apart."""
    given = Given(declared=(), key=("id",))

    def changes(name: str, rows: Sequence[tuple[object, ...]], ddl: str, envelope: Dms) -> DataFrame:
        read = spark.createDataFrame(list(rows), f"{ddl}, {MARKS}")
        frame = dms.changes(read.withColumn("_lb_arrived", F.lit(ARRIVED)), envelope, given)
        return frame.withColumn("case", F.lit(name)).withColumn("time", F.col("_change_time").cast("string"))

    place = 3 << 51
    loads = [
        (identity, file, place + line)
        for identity, file, line in [
            ("load 10", LOAD_10, 0),
            ("load A", LOAD_A, 0),
            ("load 9", LOAD_9, 0),
            ("load 1 second", LOAD_1, 1),
            ("load 1 first", LOAD_1, 0),
            ("segment", SEGMENT, 0),
            ("absurd", f"a/b/LOAD{'F' * 40}.csv", 0),
        ]
    ]
    letters = [
        ("I", "insert", EARLY, 0),
        ("U", "update", EARLY, 1),
        ("D", "delete", LATE, place),
        ("u ", "small", LATE, place + 1),
        (None, "none", LATE, place + 2),
        ("X", "unknown", LATE, place + 3),
        (None, "load without", LOAD_1, 0),
        ("I", "load with", LOAD_1, 1),
    ]
    timed = [
        ("I", "second", "2024-03-02 08:30:00.000001", EARLY, 9),
        ("U", "third", "2024-03-02 08:30:00.000001", LATE, 0),
        ("U", "fourth", "2024-03-02 08:30:01", EARLY, 0),
        ("I", "first", "2024-03-02 09:00:00", LOAD_1, 0),
        ("U", "timeless", None, EARLY, 3),
    ]
    ordered = [
        ("U", "third", "10" + SEQUENCE[:-2] + "100", EARLY, 0),
        ("U", "second", "10" + SEQUENCE[:-2] + "099", LATE, 1),
        ("I", "first", None, LOAD_1, 0),
        ("U", "lost", None, EARLY, 2),
    ]
    frames = [
        changes("loads", loads, "id string", Dms()),
        changes("letters", letters, "Op string, id string", Dms()),
        changes("timed", timed, "Op string, id string, ts string", Dms(timestamp="TS")).drop("ts"),
        changes("ordered", ordered, "Op string, id string, seq string", Dms(sequence="seq")).drop("seq"),
        changes("inserts only", [("1", EARLY, 0)], "id string", Dms()),
        changes("other name", [("D", "1", EARLY, 0)], "kind string, id string", Dms(operation="Kind")),
    ]
    united = frames[0]
    for frame in frames[1:]:
        united = united.unionByName(frame)
    rows: dict[str, list[Row]] = {}
    for row in united.collect():
        rows.setdefault(row["case"], []).append(row)
    return rows


def by_id(rows: list[Row]) -> dict[str, tuple[str | None, str | None]]:
    return {row["id"]: (row["_change_operation"], row["_lb_bad"]) for row in rows}


def test_load_files_count_in_hexadecimal(found: dict[str, list[Row]]) -> None:
    rows = [row for row in found["loads"] if row["id"] != "absurd"]
    assert in_order(rows) == ["load 1 first", "load 1 second", "load 9", "load A", "load 10", "segment"]
    assert {row["_change_phase"] for row in rows} == {0}
    assert {row["_change_operation"] for row in rows} == {"upsert"}
    assert {row["time"] for row in rows} == {"2024-03-03 00:00:00"}


def test_operations(found: dict[str, list[Row]]) -> None:
    assert by_id(found["letters"]) == {
        "insert": ("upsert", None),
        "update": ("upsert", None),
        "delete": ("delete", None),
        "small": ("upsert", None),
        "none": (None, "unknown_operation"),
        "unknown": (None, "unknown_operation"),
        "load without": ("upsert", None),
        "load with": ("upsert", None),
    }
    raw = {row["id"]: row["_lb_raw"] for row in found["letters"]}
    assert raw["unknown"] == '{"Op":"X","id":"unknown"}'
    assert raw["insert"] is None
    assert by_id(found["inserts only"]) == {"1": ("upsert", None)}
    assert by_id(found["other name"]) == {"1": ("delete", None)}


def test_without_anything_else_the_files_time_and_the_place_in_it_order(found: dict[str, list[Row]]) -> None:
    """Sorted by path, the changes would come before the load, and folders of days before files."""
    expected = ["load without", "load with", "insert", "update", "delete", "small", "none", "unknown"]
    assert in_order(found["letters"]) == expected
    times = {row["id"]: row["time"] for row in found["letters"]}
    assert times["insert"] == "2024-03-02 08:30:10.123"


def test_the_timestamp_orders_changes_and_never_the_load(found: dict[str, list[Row]]) -> None:
    rows = found["timed"]
    assert in_order([row for row in rows if row["id"] != "timeless"]) == [
        "first",
        "second",
        "third",
        "fourth",
    ]
    times = {row["id"]: row["time"] for row in rows}
    assert times["fourth"] == "2024-03-02 08:30:01"
    assert next(row for row in rows if row["id"] == "timeless")["_change_major"] is None


def test_the_change_sequence_orders_whatever_the_files_say(found: dict[str, list[Row]]) -> None:
    rows = [row for row in found["ordered"] if row["id"] != "lost"]
    assert in_order(rows) == ["first", "second", "third"]
    lost = next(row for row in found["ordered"] if row["id"] == "lost")
    assert lost["_change_major"] is None
    assert {row["_change_file"] for row in rows if row["_change_phase"]} == {""}


@pytest.mark.parametrize(
    ("first", "header", "layout"),
    [
        (["1", "x"], None, Layout(("id", "name"), header=False)),
        (["I", "1", "x"], None, Layout(("Op", "id", "name"), header=False)),
        (["Op", "id", "name"], None, Layout(("Op", "id", "name"), header=True)),
        (["ID", "Name "], None, Layout(("ID", "Name"), header=True)),
        (["name", "id", "op"], None, Layout(("name", "id", "op"), header=True)),
        (["id", "name"], False, Layout(("id", "name"), header=False)),
        (["a", "b", "c", "d"], True, Layout(("a", "b", "c", "d"), header=True)),
    ],
)
def test_the_first_record_tells_the_layout(first: list[str], header: bool | None, layout: Layout) -> None:  # noqa: FBT001
    assert csv_layout(first, ["id", "name"], "Op", header=header, where="x") == layout


@pytest.mark.parametrize(
    ("path", "load"),
    [("s/t/LOAD0000000A.csv", True), ("s/t/20240131-100000123.csv", False), ("s/t/PAYLOAD01.csv", False)],
)
def test_a_first_load_is_known_by_its_name(path: str, load: bool) -> None:  # noqa: FBT001
    assert is_load(path) == load


def test_an_operation_is_not_taken_for_a_column_that_the_source_has_dropped() -> None:
    declared = ["id", "name"]
    with pytest.raises(BatchError, match="the first record has 2 values; 2 columns are declared"):
        csv_layout(["U", "5"], declared, "Op", header=None, where="x", of_changes=True)
    assert csv_layout(["U", "5"], declared, "Op", header=None, where="x").names == ("id", "name")


def test_a_layout_that_fits_nothing_is_refused() -> None:
    with pytest.raises(BatchError, match="the first record has 4 values; 2 columns are declared"):
        csv_layout(["a", "b", "c", "d"], ["id", "name"], "Op", header=None, where="x")


EXAMPLE = Path(__file__).parents[3] / "examples" / "dms_orders"


def read_csv(spark: SparkSession, dataset: Dataset, path: Path) -> DataFrame:
    """A file as the reader would give it, all values as text and then in their types."""
    envelope, columns = dataset.source.envelope, dataset.source.columns
    assert isinstance(envelope, Dms)
    assert columns is not None
    first = first_record(Start(spark, str(path), path), {}, where=path.name)
    assert first is not None
    layout = csv_layout(
        first, [column.name for column in columns], envelope.operation, header=None, where=path.name
    )
    texts = StructType([StructField(name, StringType()) for name in layout.names])
    frame = spark.read.options(**CSV_DEFAULTS, header=layout.header, escape='"').schema(texts).csv(str(path))
    typed = frame.withColumns({column.name: F.col(column.name).cast(column.type) for column in columns})
    marked = typed.withColumns(
        {"_lb_file": F.lit(path.name), "_lb_position": F.monotonically_increasing_id()}
    )
    return one_file(marked, dataset, ARRIVED)


def test_the_example_becomes_a_history(spark: SparkSession, tmp_path: Path) -> None:
    """Sorted by path, the first load comes last: its rows sort before all changes all the same."""
    dataset = load_project(EXAMPLE).dataset("shop.orders")
    orders = lb.table(spark, str(tmp_path / "orders"), feed=dataset.declared_feed, history=dataset.history)
    paths = sorted((EXAMPLE / "landing" / "shop" / "orders").iterdir())
    assert [path.name[:4] for path in paths] == ["2024", "2024", "LOAD", "LOAD"]
    frames = [read_csv(spark, dataset, path) for path in paths]
    arrived = frames[0].unionByName(frames[1]).unionByName(frames[2]).unionByName(frames[3])
    orders.apply(unwrap(arrived, dataset), batch=1, system_time=ARRIVED)
    rows = orders.read().orderBy("id", "valid_from", "sk").collect()
    assert [(row["id"], row["customer"], row["total"]) for row in rows if row["is_current"]] == [
        (1, "Ada", Decimal("79.99")),
        (3, "Cleopatra", Decimal("120.00")),
    ]
    assert [(row["id"], row["customer"]) for row in rows if row["is_deleted"]] == [(2, "Bob, Jr.")]
    assert len(rows) == 6
    assert "transact_id" not in rows[0].asDict()


def test_a_header_is_known_by_its_names_although_the_source_has_a_new_column() -> None:
    for first in (["Op", "id", "name", "city"], ["id", "name", "city"], ["city", "ID", "Name"]):
        found = csv_layout(first, ["id", "name"], "Op", header=None, where="here")
        assert found == Layout(tuple(first), header=True)
