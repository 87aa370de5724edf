"""How many files a write makes (D15)."""

from __future__ import annotations

from pyspark.sql import DataFrame, DataFrameWriter
from pyspark.sql import functions as F

from lakebed.history.columns import quote_ident
from lakebed.manifest.dataset import TARGET_SIZE, Files

_BIN_SIZE = "spark.databricks.delta.optimizeWrite.binSize"


def writer_in_files(rows: DataFrame, files: Files | None) -> DataFrameWriter:
    """A writer that makes so many files per partition, equal values of `by` in one of them; or files of about the size asked
    for, which is the session's from then on; without `files`, as many as `rows` has parts."""
    if files is None:
        return rows.write
    if files.count is not None:
        return rows.repartition(files.count, *[F.col(quote_ident(name)) for name in files.by]).write
    rows.sparkSession.conf.set(_BIN_SIZE, f"{files.target_size or TARGET_SIZE}b")
    return rows.write.option("optimizeWrite", "true")
