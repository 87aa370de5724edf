"""Columns that all rows of a batch share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from lakebed.history.columns import constant
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


def _steady() -> Column:
    return constant(F.lit(NUMBER).cast("bigint"), "x")
