"""Logs that are read while something else is computed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakebed.errors import BatchError
from lakebed.tables.ahead import reading_ahead
from lakebed.tables.delta import DeltaTable
from lakebed.tables.place import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_table_that_is_not_there_is_no_trouble_here(spark: SparkSession, tmp_path: Path) -> None:
    with reading_ahead([DeltaTable(spark, Place(str(tmp_path / "none")))]):
        pass


def test_what_fails_meanwhile_is_told(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    spark.range(3).write.format("delta").save(path)
    with pytest.raises(BatchError), reading_ahead([DeltaTable(spark, Place(path))]):
        raise BatchError("the batch is refused", code="invalid_options")
