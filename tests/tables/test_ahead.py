"""What is read while something else is planned or computed."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from lakebed.errors import BatchError
from lakebed.tables.ahead import fetching_ahead, reading_ahead
from lakebed.tables.delta import DeltaTable
from lakebed.tables.place import Place
from lakebed.tables.staging import Staging

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Told(DeltaTable):
    """Says when its log has been read."""

    def __init__(self, spark: SparkSession, path: Path) -> None:
        super().__init__(spark, Place(str(path)))
        self.was_read = threading.Event()

    def read_log(self) -> None:
        super().read_log()
        self.was_read.set()


def test_a_table_that_is_not_there_keeps_none_from_being_read_meanwhile(
    spark: SparkSession, tmp_path: Path
) -> None:
    spark.range(3).write.format("delta").save(str(tmp_path / "t"))
    missing, there = Told(spark, tmp_path / "none"), Told(spark, tmp_path / "t")
    with reading_ahead(spark, [missing, there]):
        assert there.was_read.wait(timeout=300)
    assert not missing.was_read.is_set()


def test_what_fails_meanwhile_is_told_when_the_log_is_read(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(3).write.format("delta").save(str(tmp_path / "t"))
    there = Told(spark, tmp_path / "t")
    with pytest.raises(BatchError), reading_ahead(spark, [there]):
        raise BatchError("the batch is refused", code="invalid_options")
    assert there.was_read.is_set()


def test_a_spark_that_is_gone_meanwhile_is_told_elsewhere(spark: SparkSession, tmp_path: Path) -> None:
    class Gone(Told):
        def read_log(self) -> None:
            self.was_read.set()
            raise ConnectionRefusedError(111, "Connection refused")

    gone = Gone(spark, tmp_path / "t")
    with reading_ahead(spark, [gone]):
        assert gone.was_read.wait(timeout=300)


def test_a_frame_is_kept_while_it_is_needed_and_no_longer(spark: SparkSession) -> None:
    frame = spark.range(5).withColumn("square", F.col("id") * F.col("id"))
    with fetching_ahead(frame) as begun:
        begun()
        assert frame.storageLevel.useMemory
        assert frame.where("square > 3").count() == 3
    assert not frame.storageLevel.useMemory


def test_a_frame_that_cannot_be_computed_is_told_by_the_query_that_needs_it(spark: SparkSession) -> None:
    broken = spark.range(1).select(F.raise_error(F.lit("no such row")).alias("x"))
    with fetching_ahead(broken) as begun:
        begun()
        with pytest.raises(PySparkException, match="no such row"):
            broken.where(F.col("x").isNull()).take(1)


def test_what_is_staged_is_taken_from_what_was_fetched(spark: SparkSession, tmp_path: Path) -> None:
    staging = Staging.beside(spark, str(tmp_path / "t"))
    frame = spark.range(5).withColumn("dice", F.rand())
    with staging.fetching(frame):
        once, _ = staging.write(frame, "once")
        again, _ = staging.write(frame, "again")
        assert once.exceptAll(again).isEmpty()
    staging.clear()
