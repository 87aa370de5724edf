"""Types that are inferred once and then kept: the table's columns decide, and what does not fit them is a bad row."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession
from tests.sources.datasets import dataset, put
from tests.sources.reading import bad, data, known, names, read

SEEN = {"inferSchema": True}


def test_a_column_that_is_blank_today_keeps_its_type(spark: SparkSession, tmp_path: Path) -> None:
    file = put(tmp_path, "in/a.csv", "id,p\n1,\n")
    rows = read(spark, tmp_path, dataset(options=SEEN), file, known=known("id int, p int"))
    assert [f.dataType.simpleString() for f in rows.frame.select("id", "p").schema] == ["int", "int"]
    assert data(rows) == [(1, None)]


def test_a_value_of_another_type_is_a_bad_row(spark: SparkSession, tmp_path: Path) -> None:
    file = put(tmp_path, "in/a.csv", "id,p\n1,10\n2,n/a\n")
    rows = read(spark, tmp_path, dataset(options=SEEN), file, known=known("id int, p int"))
    assert bad(rows) == [("bad_cast", "2,n/a", 3)]
    assert data(rows)[0] == (1, 10)


def test_G9_a_wider_type_of_the_same_family_is_taken(spark: SparkSession, tmp_path: Path) -> None:
    file = put(tmp_path, "in/a.csv", "id,p\n1,5000000000\n")
    rows = read(spark, tmp_path, dataset(options=SEEN), file, known=known("id int, p int"))
    assert data(rows) == [(1, 5_000_000_000)]


def test_G9_a_key_never_changes_its_type(spark: SparkSession, tmp_path: Path) -> None:
    file = put(tmp_path, "in/a.csv", "id,p\n5000000000,1\n2,1\n")
    of = dataset(options=SEEN, feed={"kind": "updates", "key": ["id"]})
    rows = read(spark, tmp_path, of, file, known=known("id int, p int"))
    assert [reason for reason, _, _ in bad(rows)] == ["bad_cast"]
    assert data(rows)[1] == (2, 1)


def test_json_keeps_its_types_too_and_a_fraction_is_no_whole_number(
    spark: SparkSession, tmp_path: Path
) -> None:
    of = dataset(format="ndjson", files="in/{name}.json")
    file = put(tmp_path, "in/a.json", '{"id":1,"p":10}\n{"id":2,"p":10.5,"new":"x"}\n')
    rows = read(spark, tmp_path, of, file, known=known("id bigint, p bigint"))
    assert [reason for reason, _, _ in bad(rows)] == ["bad_cast"]
    assert names(rows) == ["id", "new", "p"]
    assert data(rows)[0] == (1, None, 10)


def test_G9_json_names_are_found_in_any_spelling_of_any_record(spark: SparkSession, tmp_path: Path) -> None:
    of = dataset(format="ndjson", files="in/{name}.json", schema="id bigint, name string")
    file = put(tmp_path, "in/a.json", '{"id":1}\n{"id":2,"Name":"x"}\n')
    assert data(read(spark, tmp_path, of, file)) == [(1, None), (2, "x")]
