"""Files of AWS DMS as a project: CSV with a header and Parquet, a first load and then changes, end in the same table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakebed.manifest import load_project
from lakebed.runner import run_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DATASET = """\
dataset: shop.{kind}
source:
  files: "{kind}/{{file}}.{kind}"
  format: {kind}
  schema: "id bigint, customer string, total decimal(10,2), seq string"
  envelope: {{kind: dms, sequence: seq}}
feed: {{kind: changes, key: [id]}}
history: {{kind: versions}}
"""
SEQUENCE = "2024030208300000{:019}"
Row = tuple[str | None, int, str | None, str | None, str | None]
LOAD: list[Row] = [(None, 1, "Ada", "19.99", None), (None, 2, "Bob, Jr.", "45.50", None)]
CHANGES: list[Row] = [
    ("U", 1, "Ada", "89.99", SEQUENCE.format(12)),
    ("I", 3, "Cleo", "120.00", SEQUENCE.format(11)),
    ("D", 2, None, None, SEQUENCE.format(13)),
]
MORE: list[Row] = [("U", 3, None, "120.00", SEQUENCE.format(20))]
FILES = {"LOAD00000001": LOAD, "20240302-083010123": CHANGES}
EXPECTED = [
    (1, "Ada", "19.99", False, False),
    (1, "Ada", "89.99", True, False),
    (2, "Bob, Jr.", "45.50", False, True),
    (3, "Cleo", "120.00", False, False),
    (3, None, "120.00", True, False),
]


def as_csv(rows: list[Row], path: Path, _spark: SparkSession) -> None:
    """With a header; a first load has no operation."""
    loads = rows[0][0] is None
    lines = ["id,customer,total,seq" if loads else "Op,id,customer,total,seq"]
    for row in rows:
        values = [
            "NULL" if value is None else f'"{value}"' if "," in str(value) else str(value) for value in row
        ]
        lines.append(",".join(values[1:] if loads else values))
    path.write_text("\n".join(lines) + "\n")


def as_parquet(rows: list[Row], path: Path, spark: SparkSession) -> None:
    frame = spark.createDataFrame(rows, "Op string, id int, customer string, total string, seq string")
    frame = frame.withColumn("total", frame["total"].cast("decimal(12,2)"))
    frame = frame.drop("Op") if rows[0][0] is None else frame
    made = path.parent.parent / f"made-{path.stem}"
    frame.coalesce(1).write.option("compression", "zstd").parquet(str(made))
    path.write_bytes(next(made.glob("part-*.parquet")).read_bytes())


@pytest.mark.parametrize(("kind", "write"), [("csv", as_csv), ("parquet", as_parquet)])
def test_F5_a_first_load_goes_on_as_changes(
    spark: SparkSession, tmp_path: Path, kind: str, write: object
) -> None:
    assert callable(write)
    landing = tmp_path / "landing" / kind
    landing.mkdir(parents=True)
    (tmp_path / "datasets").mkdir()
    (tmp_path / "lakebed.yaml").write_text("project: shop\n")
    (tmp_path / "datasets" / f"shop.{kind}.yaml").write_text(DATASET.format(kind=kind))
    for name, rows in FILES.items():
        write(rows, landing / f"{name}.{kind}", spark)
    assert run_project(load_project(tmp_path), spark=lambda: spark).failed == ()
    write(MORE, landing / f"20240302-090000000.{kind}", spark)
    outcome = run_project(load_project(tmp_path), spark=lambda: spark)
    assert outcome.failed == ()
    assert [len(one.batches) for one in outcome.datasets] == [1]
    table = spark.read.format("delta").load(str(tmp_path / "warehouse" / "shop" / kind))
    shown = table.selectExpr("id", "customer", "string(total)", "is_current", "is_deleted").orderBy(
        "id", "sk"
    )
    assert [tuple(row) for row in shown.collect()] == EXPECTED
