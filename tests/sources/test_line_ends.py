"""CSV files whose lines end in more ways than one: as Python's csv module reads them."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.sources.datasets import dataset, put
from tests.sources.reading import bad, data, names, read

from lakebed.sources.formats import read_files
from lakebed.sources.remote_folder import RemoteFolder

FILES = {
    "a line edited on another system": "id,name\n1,x\r\n2,y\r\n",
    "all lines with a return": "id,name\r\n1,x\r\n2,\r\n",
    "a header without, rows with": "id,name\n1,\r\n2,y\r\n",
    "a header with, rows without": "id,name\r\n1,x\n2,y\n",
    "a header with a line break in a name": 'id,"na\nme"\r\n1,x\r\n',
    "a return and a line feed inside quotes": 'id,name\r\n1,"x\r\ny"\r\n2,"z"\r\n',
    "returns only": "id,name\r1,x\r2,y\r",
    "blank lines": "id,name\r\n\r\n1,x\r\n\r\n",
    "one column": "id\r\n1\r\n\r\n2\r\n",
    "no line end at the end": "id,name\r\n1,x\r\n2,y",
    "blank lines before the header": "\r\n\r\nid,name\r\n1,x\r\n2,y\r\n",
}


def by_python(text: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    records = [record for record in csv.reader(io.StringIO(text, newline="")) if record]
    return records[0], [tuple(value or None for value in record) for record in records[1:]]


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in FILES.items()])
def test_records_are_those_that_python_reads(spark: SparkSession, tmp_path: Path, text: str) -> None:
    rows = read(spark, tmp_path, dataset(), put(tmp_path, "in/a.csv", text.encode()))
    assert (names(rows), data(rows)) == by_python(text)
    assert bad(rows) == []


@pytest.mark.parametrize("text", ["id,name\r1,x\r2,y\r", "id,name\r\n1,x\r\n2,y\r\n", "id,name\r\n"])
def test_lines_end_as_well_where_only_spark_can_look(spark: SparkSession, tmp_path: Path, text: str) -> None:
    file = put(tmp_path, "in/a.csv", text.encode())
    rows = read_files(spark, dataset(), RemoteFolder(tmp_path.as_uri(), lambda: spark), [file])
    assert (names(rows), data(rows)) == by_python(text)


def test_a_null_of_ones_own_is_known_before_a_return(spark: SparkSession, tmp_path: Path) -> None:
    of = dataset(options={"nullValue": "NA"})
    rows = read(spark, tmp_path, of, put(tmp_path, "in/a.csv", b"id,name\r\n1,NA\r\n2,x\r\n"))
    assert data(rows) == [("1", None), ("2", "x")]


def test_columns_without_a_name_have_their_place_as_one(spark: SparkSession, tmp_path: Path) -> None:
    index = put(tmp_path, "in/a.csv", ",id,name\n0,7,x\n")
    assert names(read(spark, tmp_path, dataset(), index)) == ["_c0", "id", "name"]
    of = dataset(schema="id int, name string")
    rows = read(spark, tmp_path, of, index, put(tmp_path, "in/b.csv", "id,name,\n8,y,\n"))
    assert data(rows) == [(7, "x"), (8, "y")]


def test_bytes_that_are_no_utf_8_are_noticed_behind_a_byte_order_mark(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = read(
        spark, tmp_path, dataset(), put(tmp_path, "in/a.csv", b"\xef\xbb\xbfid,name\n1,f\xfcr\n2,y\n")
    )
    assert names(rows) == ["id", "name"]
    assert [reason for reason, _, _ in bad(rows)] == ["unreadable"]
    assert data(rows)[1] == ("2", "y")


def test_a_file_of_json_nested_without_end_is_a_bad_record(spark: SparkSession, tmp_path: Path) -> None:
    of = dataset(format="ndjson", files="in/{name}.json", schema="id bigint")
    rows = read(spark, tmp_path, of, put(tmp_path, "in/a.json", '{"a":' * 100_000))
    assert [reason for reason, _, _ in bad(rows)] == ["unreadable"]
