"""The example projects from their landing files to the right tables: daily dumps, Debezium, AWS DMS."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakebed.manifest import load_project
from lakebed.runner import run_project

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
NOTE = "gift wrap, please"
ROUND = "Table, round"
Rows = list[tuple[object, ...]]
VERSIONS: dict[str, tuple[str, list[str], Rows]] = {
    "daily_products": (
        "products",
        ["id", "name", "price", "date(valid_from)", "is_current", "is_deleted"],
        [
            (1, "Lamp", "10.00", "2024-03-01", False, False),
            (1, "Lamp", "12.00", "2024-03-02", True, False),
            (2, "Chair", "45.50", "2024-03-01", False, True),
            (2, "Chair", "39.90", "2024-03-03", True, False),
            (3, ROUND, "120.00", "2024-03-01", True, False),
            (4, "Mug", "7.50", "2024-03-03", True, False),
        ],
    ),
    "debezium_orders": (
        "orders",
        ["id", "customer", "total", "note", "is_current", "is_deleted"],
        [
            (1, "Ada", "19.99", NOTE, False, False),
            (1, "Ada", "89.99", NOTE, True, False),  # the note was not in the message, and stays
            (2, "Bob", "45.50", None, False, True),
            (3, "Cleo", "120.00", "ring twice", False, False),
            (3, "Cleopatra", "120.00", "ring twice", True, False),
        ],
    ),
    "dms_orders": (
        "orders",
        ["id", "customer", "total", "is_current", "is_deleted"],
        [
            (1, "Ada", "19.99", False, False),
            (1, "Ada", "89.99", False, False),
            (1, "Ada", "79.99", True, False),
            (2, "Bob, Jr.", "45.50", False, True),
            (3, "Cleo", "120.00", False, False),
            (3, "Cleopatra", "120.00", True, False),
        ],
    ),
}


@pytest.mark.parametrize("name", VERSIONS)
def test_the_example_ends_in_the_right_tables(spark: SparkSession, tmp_path: Path, name: str) -> None:
    project = tmp_path / name
    shutil.copytree(EXAMPLES / name, project)
    outcome = run_project(load_project(project), spark=lambda: spark)
    assert outcome.failed == (), [str(one.error) for one in outcome.failed]
    table, columns, expected = VERSIONS[name]
    assert not [one for one in outcome.datasets for batch in one.batches if batch.report["rejected"]]
    found = spark.read.format("delta").load(str(project / "warehouse" / "shop" / table)).orderBy("sk")
    shown = [column if "(" not in column else f"cast({column} as string)" for column in columns]
    rows = [_plain(row) for row in found.selectExpr(*shown).collect()]
    assert sorted(rows, key=str) == sorted(expected, key=str)
    now = spark.read.format("delta").load(str(project / "warehouse" / "shop" / f"{table}_now"))
    data = [column for column in columns if column not in ("is_current", "is_deleted") and "(" not in column]
    live = [
        tuple(value for value, column in zip(row, columns, strict=True) if column in data)
        for row in expected
        if row[-2]
    ]
    assert sorted((_plain(row) for row in now.select(*data).collect()), key=str) == sorted(live, key=str)


def _plain(row: Row) -> tuple[object, ...]:
    return tuple(str(value) if type(value).__name__ == "Decimal" else value for value in row)
