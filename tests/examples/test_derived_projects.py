"""The example projects with derived datasets: what lands reaches what depends on it, and a correction only what it concerns."""

from __future__ import annotations

import shutil
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from lakebed.manifest import load_project
from lakebed.runner import DueOutcome, run_everything_due
from lakebed.runner.templates import filled_in
from lakebed.runner.why import why

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def run(spark: SparkSession, project: Path) -> DueOutcome:
    outcome = run_everything_due(filled_in(load_project(project), lambda: spark)[0], spark=lambda: spark)
    assert outcome.failed == (), [str(one.error) for one in outcome.failed]
    return outcome


def computed(outcome: DueOutcome) -> list[str]:
    return [f"{one.run.dataset} {one.run.partition}" for one in outcome.derived.done]


def rows(spark: SparkSession, project: Path, name: str) -> list[tuple[object, ...]]:
    found = spark.read.format("delta").load(str(project / "warehouse" / Path(*name.split("."))))
    return sorted((tuple(row) for row in found.collect()), key=str)


def test_D13_a_correction_two_weeks_back_changes_one_day_and_one_week(
    spark: SparkSession, tmp_path: Path
) -> None:
    project = tmp_path / "weekly_sales"
    shutil.copytree(EXAMPLES / "weekly_sales", project)
    run(spark, project)
    by_week = [
        ("de", 2, Decimal("30.00"), "20240304"),
        ("de", 1, Decimal("60.00"), "20240318"),
        ("fr", 1, Decimal("30.00"), "20240304"),
        ("fr", 1, Decimal("50.00"), "20240311"),
    ]
    assert rows(spark, project, "shop.sales_by_week") == sorted(by_week, key=str)
    shutil.copy(project / "later" / "2024-03-20.csv", project / "landing" / "shop" / "orders")
    assert computed(run(spark, project)) == [
        "shop.sales_by_day day=20240305",
        "shop.sales_by_week week=20240304",
    ]
    assert ("de", 2, Decimal("35.00"), "20240304") in rows(spark, project, "shop.sales_by_week")
    assert ("de", 1, Decimal("25.00"), "20240305") in rows(spark, project, "shop.sales_by_day")
    link = why(load_project(project), "shop.sales_by_week", "20240304")
    assert link.causes[0].causes[0].files == ("shop/orders/2024-03-20.csv",)


def test_D7_the_walkthrough_of_the_items(spark: SparkSession, tmp_path: Path) -> None:
    """`date=20220120` lands; the Saturday before it is 20220115; the SQL has the days 1 and 5 before that."""
    project = tmp_path / "dependency_items"
    shutil.copytree(EXAMPLES / "dependency_items", project)
    (outcome,) = run(spark, project).derived.runs
    assert str(outcome.run.partition) == "new_date=20220115"
    assert outcome.run.steps[0].sql == (
        "insert into engineering_analytics_dev.destination_table "
        "( SELECT *, '20220114' AS start_date FROM TABLE_X where date = '20220110' )"
    )
    assert rows(spark, project, "engineering_analytics_dev.destination_table") == [
        ("1", "Ada", "20220110", "20220114", "20220115"),
        ("2", "Bob", "20220110", "20220114", "20220115"),
    ]
