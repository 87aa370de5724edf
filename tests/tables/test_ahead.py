"""Logs that are read while something else is computed."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakebed.errors import BatchError
from lakebed.tables.ahead import reading_ahead
from lakebed.tables.delta import DeltaTable
from lakebed.tables.place import Place

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
    with reading_ahead([missing, there]):
        assert there.was_read.wait(timeout=300)
    assert not missing.was_read.is_set()


def test_what_fails_meanwhile_is_told_when_the_log_is_read(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(3).write.format("delta").save(str(tmp_path / "t"))
    there = Told(spark, tmp_path / "t")
    with pytest.raises(BatchError), reading_ahead([there]):
        raise BatchError("the batch is refused", code="invalid_options")
    assert there.was_read.is_set()
