"""Tables by name: a name without a database is one of the session's current database, for every commit of a batch."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import lakebed as lb

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOW = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


def test_G1_rows_are_removed_from_the_table_of_the_current_database(spark: SparkSession) -> None:
    spark.sql("CREATE DATABASE shop")
    spark.sql("CREATE TABLE default.customers USING delta AS SELECT 1 AS id")
    spark.sql("USE shop")
    try:
        table = lb.table(spark, "customers", feed=lb.Snapshot(key=["id"]), history=lb.Current())
        table.apply(spark.range(1, 4), batch=1, system_time=NOW)
        table.apply(spark.range(2, 4), batch=2, system_time=NOW)  # nothing but a removal
        assert [row.id for row in table.state().orderBy("id").collect()] == [2, 3]
        assert spark.table("default.customers").count() == 1
    finally:
        spark.sql("USE default")
        spark.sql("DROP DATABASE shop CASCADE")
        spark.sql("DROP TABLE default.customers")
