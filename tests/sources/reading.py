"""Files read as a batch, for tests to look at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import Row, SparkSession
from pyspark.sql.types import StructField, StructType

from lakebed.manifest import Dataset
from lakebed.sources import FoundFile, LocalFolder, Rows
from lakebed.sources.formats import read_files

MARKS = ("_lb_bad", "_lb_raw", "_lb_file", "_lb_line", "_lb_position")


def read(
    spark: SparkSession, root: Path, of: Dataset, *files: FoundFile, known: Sequence[StructField] = ()
) -> Rows:
    return read_files(spark, of, LocalFolder(root), files, known=known)


def known(ddl: str) -> list[StructField]:
    """The columns that a table has, for files whose types are inferred."""
    schema = StructType.fromDDL(ddl)
    assert isinstance(schema, StructType)
    return list(schema)


def in_order(rows: Rows) -> list[Row]:
    return rows.frame.orderBy("_lb_position").collect()


def data(rows: Rows) -> list[tuple[Any, ...]]:
    """The data columns of all rows, in the order of the files."""
    columns = [place for place, name in enumerate(rows.frame.columns) if name not in MARKS]
    return [tuple(row[place] for place in columns) for row in in_order(rows)]


def names(rows: Rows) -> list[str]:
    return [name for name in rows.frame.columns if name not in MARKS]


def bad(rows: Rows) -> list[tuple[str, str, int]]:
    return [(row["_lb_bad"], row["_lb_raw"], row["_lb_line"]) for row in in_order(rows) if row["_lb_bad"]]
