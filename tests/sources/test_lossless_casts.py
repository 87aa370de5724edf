"""Declared types: a value that would lose something of itself in the cast makes its row bad (G5)."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

from pyspark.sql import SparkSession
from tests.sources.datasets import dataset, put
from tests.sources.reading import bad, data, in_order, read

from lakebed.tables.settings import setting


def test_G5_what_would_lose_something_in_the_cast_is_bad(spark: SparkSession, tmp_path: Path) -> None:
    """Spark would round, and pass over what stands behind a date."""
    of = dataset(schema="id int, day date, price decimal(6,2)")
    good = [
        "1,2024-01-31,1.5000",
        "2,2024-01-31T00:00:00,-.5",
        "3, 2024-01-31 ,1.5e2",
        "4,2024-01-31 00:00:00,7.",
    ]
    lost = [
        "9,2024-01-31 12:00:00,7.",
        "5,2024-01-31Tx,1",
        "6,2024-01-31 at noon,1",
        "7,2024-01-31,1.505",
        "8,2024-01-31,1.000000001",
    ]
    rows = read(spark, tmp_path, of, put(tmp_path, "in/a.csv", "\n".join(["id,day,price", *good, *lost])))
    assert data(rows)[:4] == [
        (n, date(2024, 1, 31), Decimal(price)) for n, price in enumerate(("1.5", "-0.5", "150", "7"), 1)
    ]
    assert [line for _, _, line in bad(rows)] == [6, 7, 8, 9, 10]


def test_G5_numbers_that_would_be_cut_are_bad(spark: SparkSession, tmp_path: Path) -> None:
    """Also where the file has types of its own."""
    columns = "id int, n double, price decimal(8,4), at timestamp"
    noon = datetime(2024, 1, 31, 12, tzinfo=UTC)
    values = [
        (1, 2.0, Decimal("1.5"), datetime(2024, 1, 31, tzinfo=UTC)),
        (2, 2.5, Decimal("1.5"), None),
        (3, 2.0, Decimal("1.555"), None),
        (4, None, None, None),
        (5, None, None, noon),
    ]
    spark.createDataFrame(values, columns).coalesce(1).write.parquet(str(tmp_path / "made"))
    part = next((tmp_path / "made").glob("part-*.parquet"))
    of = dataset(
        "in/{file}.parquet", format="parquet", schema="id int, n bigint, price decimal(6,2), at date"
    )
    rows = read(spark, tmp_path, of, put(tmp_path, "in/a.parquet", part.read_bytes()))
    assert [row["id"] for row in in_order(rows) if row["_lb_bad"] == "bad_cast"] == [2, 3, 5]
    assert data(rows)[0] == (1, 2, Decimal("1.5"), date(2024, 1, 31))


def test_G5_numbers_are_no_days_and_milliseconds_no_seconds(spark: SparkSession, tmp_path: Path) -> None:
    of = dataset(schema="d date, price decimal(6,2), x double")
    text = "d,price,x\n45292,1,\n2024-01-31,1.505e0,\n,1.5e1,12d\n,,0x1p3\n,,-Infinity\n,1,1.5E2\n"
    rows = read(spark, tmp_path, of, put(tmp_path, "in/a.csv", text))
    assert [line for _, _, line in bad(rows)] == [2, 3, 4, 5]
    spark.range(1, 2).selectExpr("1700000000000L AS t").coalesce(1).write.parquet(str(tmp_path / "made"))
    part = next((tmp_path / "made").glob("part-*.parquet"))
    of = dataset("in/{file}.parquet", format="parquet", schema="t timestamp")
    rows = read(spark, tmp_path, of, put(tmp_path, "in/a.parquet", part.read_bytes()))
    assert [why for why, _, _ in bad(rows)] == ["bad_cast"]
    of = dataset("in/{name}.json", format="ndjson", schema="price decimal(6,2)")
    rows = read(spark, tmp_path, of, put(tmp_path, "in/a.json", '{"price":1.005}\n{"price":1.50}\n'))
    assert [line for _, _, line in bad(rows)] == [1]


NESTED = "id int, a array<int>, o struct<d:decimal(5,2),n:int,at:timestamp>, m map<string,decimal(5,2)>"


def test_G5_what_does_not_fit_inside_of_a_value_makes_its_row_bad(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Spark would make NULL of it, round it, or take a time of day for one of today."""
    columns = (
        "id int, a array<string>, o struct<n:bigint,d:decimal(9,4),at:string>, m map<string,decimal(9,4)>"
    )
    whole = (5, Decimal("1.5"), "2024-01-31 12:00:00")
    values = [
        (1, ["1", None], whole, {"x": Decimal("1.5")}),
        (2, ["1", "x"], whole, {}),
        (3, [], (3_000_000_000, None, None), None),
        (4, None, (None, Decimal("1.2399"), None), None),
        (5, None, (None, None, "12:30"), None),
        (6, None, None, {"x": Decimal("1.2399")}),
    ]
    spark.createDataFrame(values, columns).coalesce(1).write.parquet(str(tmp_path / "made"))
    part = next((tmp_path / "made").glob("part-*.parquet"))
    of = dataset("in/{file}.parquet", format="parquet", schema=NESTED)
    rows = read(spark, tmp_path, of, put(tmp_path, "in/a.parquet", part.read_bytes()))
    assert [row["id"] for row in in_order(rows) if row["_lb_bad"] == "bad_cast"] == [2, 3, 4, 5, 6]
    good = in_order(rows)[0]
    assert (good["a"], good["o"]["d"], good["m"]) == ([1, None], Decimal("1.50"), {"x": Decimal("1.50")})
    lines = [
        '{"id":1,"a":[1],"o":{"d":1.5,"n":5,"at":"2024-01-31T12:00:00Z"},"m":{"x":1.5}}',
        '{"id":2,"o":{"d":1.239}}',
        '{"id":3,"o":{"at":"12:30"}}',
        '{"id":4,"o":{"at":1704164645123}}',
        '{"id":5,"m":{"x":1.239}}',
    ]
    of = dataset("in/{name}.json", format="ndjson", schema=NESTED)
    rows = read(spark, tmp_path, of, put(tmp_path, "in/a.json", "\n".join(lines)))
    assert [line for _, _, line in bad(rows)] == [2, 3, 4, 5]


def test_G5_keys_of_maps_are_judged_as_their_values_are(spark: SparkSession, tmp_path: Path) -> None:
    """Spark would make NULL of a key, or one of two."""
    of = dataset("in/{name}.json", format="ndjson", schema="m map<date,int>, p map<decimal(5,2),int>")
    lines = [
        '{"m":{"2024-01-31":1},"p":{"1.50":1,"1.51":2}}',
        '{"m":{"soon":1}}',
        '{"p":{"1.501":1}}',
        '{"p":{"1.5":1,"1.50":2}}',
    ]
    rows = read(spark, tmp_path, of, put(tmp_path, "in/a.json", "\n".join(lines)))
    assert [line for _, _, line in bad(rows)] == [2, 3, 4]
    assert data(rows)[0] == ({date(2024, 1, 31): 1}, {Decimal("1.50"): 1, Decimal("1.51"): 2})


def test_a_wide_object_is_judged_field_by_field(spark: SparkSession, tmp_path: Path) -> None:
    """The plan grows with the fields, not with their square: what is said of one is not said again for each other one."""

    def size_of_plan(fields: int) -> int:
        wanted = ",".join(f"f{number}:decimal(10,2)" for number in range(fields))
        of = dataset("in/{name}.json", format="ndjson", schema=f"o struct<{wanted}>")
        text = json.dumps({"o": {f"f{number}": 1.5 for number in range(fields)}})
        frame = read(spark, tmp_path, of, put(tmp_path, f"in/{fields}.json", text)).frame
        return len(frame._jdf.queryExecution().analyzed().toString())

    with (
        setting(spark, "spark.sql.maxPlanStringLength", "100000000"),
        setting(spark, "spark.sql.debug.maxToStringFields", "1000"),
    ):
        assert size_of_plan(40) < 3 * size_of_plan(20)


def test_fields_of_objects_are_taken_by_name(spark: SparkSession, tmp_path: Path) -> None:
    """As columns are, in whatever order a file has them; Spark casts by place."""
    columns = "id int, a struct<zip:string,City:string>, l array<struct<y:int,x:int>>, m map<string,struct<y:int,x:int>>"
    values = [(1, ("01234", "Bern"), [(2, 1)], {"k": (2, 1)}), (2, None, None, None)]
    spark.createDataFrame(values, columns).coalesce(1).write.parquet(str(tmp_path / "made"))
    part = next((tmp_path / "made").glob("part-*.parquet"))
    of = dataset(
        "in/{file}.parquet",
        format="parquet",
        schema="id int, a struct<city:string,zip:string,street:string>, l array<struct<x:bigint,y:int>>, m map<string,struct<x:int,y:int>>",
    )
    rows = read(spark, tmp_path, of, put(tmp_path, "in/a.parquet", part.read_bytes()))
    assert data(rows) == [(1, ("Bern", "01234", None), [(1, 2)], {"k": (1, 2)}), (2, None, None, None)]
    assert bad(rows) == []
