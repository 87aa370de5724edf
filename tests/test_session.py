"""The session that lakebed starts."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession


def test_writes_and_reads_delta(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(3).write.format("delta").save(str(tmp_path / "t"))
    assert spark.read.format("delta").load(str(tmp_path / "t")).count() == 3
