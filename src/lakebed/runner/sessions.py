"""A Spark session of its own for each dataset that is loaded, set for the size of its batch.

Spark compiles code for every query, and looks at its plan again and again. For a few rows against a small table that takes
longer than all the rest: such batches run without. Datasets are loaded side by side, so the setting must not be the whole
session's; that of the session they come from is for Delta's own queries, which are always small.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakebed.sources import is_local, local_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL_BATCH = 16 * 2**20
SMALL_TABLE = 128 * 2**20
FOR_LITTLE = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
FOR_MUCH = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.adaptive.enabled": "true",
}


def own_session(spark: SparkSession) -> SparkSession:
    """Its settings are its own; tables and the JVM are those of `spark`. Texts without a zone are times in UTC (G3), whatever the machine,
    or Spark's own settings, say."""
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    return session


def set_for_size(spark: Any, size: int | None, table: str) -> None:
    """Set the session for a batch of so many bytes, None if nobody knows; asked again for each batch, since tables grow.
    A table elsewhere is taken for a big one: to measure it would take longer than is won."""
    small = size is not None and size <= SMALL_BATCH and is_local(table)
    small = small and _is_small(local_folder(table, setting="warehouse"))
    for name, value in (FOR_LITTLE if small else FOR_MUCH).items():
        spark.conf.set(name, value)


def _is_small(table: Path) -> bool:
    """Whether the table's folder, and those of the tables beside it, hold little. Stops counting as soon as that is told."""
    total = 0
    for folder in table.parent.glob(f"{table.name}*") if table.parent.is_dir() else ():
        for place, _, names in os.walk(folder):
            for name in names:
                try:
                    total += os.stat(os.path.join(place, name)).st_size  # noqa: PTH116, PTH118 - many files
                except FileNotFoundError:  # staged, and gone again
                    continue
            if total > SMALL_TABLE:
                return False
    return True


def set_for_tables(spark: Any, tables: Sequence[Path]) -> None:
    """Set the session for a query of these tables."""
    small = all(_is_small(table) for table in tables)
    for name, value in (FOR_LITTLE if small else FOR_MUCH).items():
        spark.conf.set(name, value)
