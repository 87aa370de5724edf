"""Columns that all rows of a batch share, and rows as texts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from lakebed.history.columns import as_json, constant
from lakebed.tables.settings import setting

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

NUMBER = 987_654_321


def test_a_constant_is_the_same_in_all_rows(spark: SparkSession) -> None:
    rows = spark.sql("SELECT * FROM VALUES (1), (NULL) AS t(x)")
    shown = rows.select(constant(F.lit(NUMBER).cast("bigint"), "x").alias("batch"))
    assert [row.batch for row in shown.take(3)] == [NUMBER, NUMBER]


def test_a_constant_is_no_part_of_generated_code(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = spark.range(3).select(F.when(F.col("id") > 0, F.col("id")).alias("x"))
    for value, written in ((F.lit(NUMBER).cast("bigint"), True), (_steady(), False)):
        with (
            setting(spark, "spark.sql.codegen.wholeStage", "true"),
            setting(spark, "spark.sql.codegen.factoryMode", "FALLBACK"),
        ):
            rows.select((F.col("x") + value).alias("y")).explain("codegen")
        assert (f"{NUMBER}L" in capsys.readouterr().out) is written


def test_G5_a_row_as_text_keeps_every_digit_of_its_times(spark: SparkSession) -> None:
    at, on = "TIMESTAMP '2024-01-01 00:00:00.123456Z'", "TIMESTAMP_NTZ '2024-01-01 00:00:00.000001'"
    frame = spark.sql(f"SELECT named_struct('at', {at}, 'on', {on}, 'v', NULL) AS row")
    ((whole, short),) = frame.select(as_json("row"), as_json("row", nulls=False)).take(2)
    times = {"at": "2024-01-01T00:00:00.123456Z", "on": "2024-01-01T00:00:00.000001"}
    assert json.loads(whole) == {**times, "v": None}
    assert json.loads(short) == times


def _steady() -> Column:
    return constant(F.lit(NUMBER).cast("bigint"), "x")
