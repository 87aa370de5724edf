"""Numbers given on a staged write set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from lakebed.tables.staging import Staging, numbered

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    ("real", "told"),
    [
        pytest.param(1, 1, id="one part"),
        pytest.param(3, 3, id="counted while they are written"),
        pytest.param(9, 9, id="too many to count on the way"),
        pytest.param(5, 2, id="parted otherwise than told"),
        pytest.param(3, 1, id="in more parts than the one that was told"),
    ],
)
def test_numbers_have_no_gap_and_no_twin_however_the_rows_are_parted(
    spark: SparkSession, tmp_path: Path, real: int, told: int
) -> None:
    """40 rows: 10 go, 10 of the others have a number already; the 20 new ones lie among the 30 places from 100 on."""
    going = F.col("id") % 4 == 0
    known = F.when(F.col("id") % 4 == 1, F.col("id"))
    rows = spark.range(40).select("id", known.alias("n"), going.alias("gone"))
    parted = rows.repartition(real, "id").sortWithinPartitions("gone", "id")
    found, following, counts = numbered(
        Staging.beside(spark, str(tmp_path / "t")),
        parted,
        "rows",
        "n",
        100,
        which=~F.col("gone"),
        counts={"kept": F.count_if(F.col("n").isNotNull())},
        parts=told,
    )
    assert (following, counts) == (130, {"kept": 10})
    stay = {row["id"]: row["n"] for row in found.where(~F.col("gone")).collect()}
    assert all(n == key for key, n in stay.items() if key % 4 == 1)
    new = [n for key, n in stay.items() if key % 4 != 1]
    assert len(set(new)) == 20
    assert min(new) >= 100
    assert max(new) < 130
