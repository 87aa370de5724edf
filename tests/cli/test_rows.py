"""Rows as they leave Spark."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pytest

from lakebed.cli.output import Format
from lakebed.cli.rows import Rows, first_rows, print_frame_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NONE = Rows(("a",), frozenset(), [])
EXACT = "12345678901234567890.123456789"


def test_values_of_every_kind(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    frame = spark.sql(
        f"""SELECT 9007199254740993 AS big, CAST('{EXACT}' AS DECIMAL(38, 9)) AS exact, TRUE AS yes,
        CAST(NULL AS STRING) AS nothing, '' AS empty, DATE'2024-01-31' AS day,
        TIMESTAMP'2024-01-31 12:00:00.000001 UTC' AS at, TIMESTAMP'9999-12-31 00:00:00 UTC' AS far,
        TIMESTAMP_NTZ'2024-01-31 12:00:00.000002' AS wall, TIMESTAMP_NTZ'2024-01-31 13:00:00' AS whole,
        ARRAY(1, NULL) AS list, NAMED_STRUCT('a', 1) AS inside, CAST('NaN' AS DOUBLE) AS nan, 1.5D AS half,
        'x' AS `odd.na``me`"""
    )
    rows = first_rows(frame, 10)
    print_frame_rows(rows, Format.NDJSON)
    line = capsys.readouterr().out
    assert f'"exact":{EXACT}' in line
    expected = {
        "big": 9007199254740993,
        "exact": EXACT,
        "yes": True,
        "nothing": None,
        "empty": "",
        "day": "2024-01-31",
        "at": "2024-01-31T12:00:00.000001Z",
        "far": "9999-12-31T00:00:00.000000Z",
        "wall": "2024-01-31T12:00:00.000002",
        "whole": "2024-01-31T13:00:00.000000",
        "list": [1, None],
        "inside": {"a": 1},
        "nan": "NaN",
        "half": "1.5",
        "odd.na`me": "x",
    }
    assert json.loads(line, parse_float=str) == expected
    print_frame_rows(rows, Format.JSON)
    assert json.loads(capsys.readouterr().out, parse_float=str) == [expected]
    print_frame_rows(rows, Format.CSV)
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    print_frame_rows(rows, Format.TABLE)
    table = capsys.readouterr().out
    assert " 2024-01-31 12:00:00.000001 " in table
    assert " 9999-12-31 00:00:00 " in table
    assert " 2024-01-31 12:00:00.000002 " in table
    assert " 2024-01-31 13:00:00 " in table
    assert (row["exact"], row["list"], row["yes"], row["nothing"]) == (EXACT, "[1, null]", "true", "")


def test_the_limit_and_the_order_are_kept(spark: SparkSession) -> None:
    assert first_rows(spark.range(100).orderBy("id", ascending=False), 2).lines == ['{"id":99}', '{"id":98}']


def test_no_rows(capsys: pytest.CaptureFixture[str]) -> None:
    print_frame_rows(NONE, Format.JSON)
    print_frame_rows(NONE, Format.NDJSON)
    print_frame_rows(NONE, Format.CSV)
    assert capsys.readouterr().out == "[]\na\n"
