"""Runs of derived datasets on real Delta tables: what a step may be, what its one commit holds (D9, D11, D15, D16)."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lakebed.manifest import load_project
from lakebed.runner import Edges, PassOutcome, derive_project, redrive, run_everything_due
from lakebed.tables.data_commits import TableLog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MON, TUE = "20220117", "20220118"
DERIVED = """\
dataset: {name}
dependencies:
  - {{table_name: {source}, usage: {usage}, field_column: day, date_expression: "%Y%m%d"}}
partition_column: day
partition_python_mask: "%Y%m%d"
steps: [{steps}]
date_substitutions: [{{token: $day, format: "%Y%m%d"}}]
{more}
"""


@dataclass
class Shop:
    """A project over `db.sales(amount, country, day)`, a table that lakebed does not write."""

    spark: SparkSession
    root: Path
    db: str

    def derive(self, name: str, *steps: str, usage: str = "overwrite", more: str = "") -> None:
        told = ", ".join(f'{{sql: "{step.replace("@", self.db)}"}}' for step in steps)
        text = DERIVED.format(
            name=f"{self.db}.{name}",
            source=f"{self.db}.sales",
            usage=usage,
            steps=told,
            more=more.replace("@", self.db),
        )
        (self.root / "datasets" / f"{name}.yaml").write_text(text)

    def sell(self, *rows: tuple[int, str, str]) -> None:
        frame = self.spark.createDataFrame(list(rows), "amount int, country string, day string")
        frame.write.format("delta").mode("append").partitionBy("day").save(self.path("sales"))

    def path(self, table: str) -> str:
        return str(self.root / "warehouse" / self.db / table)

    def run(self) -> PassOutcome:
        return derive_project(
            load_project(self.root), spark=lambda: self.spark, edges=Edges(pause=lambda _: None)
        )

    def redrive(self, outcome: PassOutcome) -> PassOutcome:
        letters = [letter.id for letter in outcome.dead]
        edges = Edges(pause=lambda _: None)
        return redrive(load_project(self.root), letters, spark=lambda: self.spark, edges=edges)

    def lose_the_store(self) -> None:
        shutil.rmtree(self.root / ".lakebed")

    def rows(self, table: str, *columns: str) -> list[tuple[Any, ...]]:
        found = self.spark.read.format("delta").load(self.path(table))
        return sorted((tuple(row) for row in found.select(*columns or found.columns).collect()), key=str)

    def log(self, table: str) -> TableLog:
        log = TableLog.of(Path(self.path(table)))
        assert log is not None
        return log


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> Shop:
    """Each test has a database of its own: the catalog is the session's."""
    (tmp_path / "datasets").mkdir()
    (tmp_path / "landing").mkdir()
    (tmp_path / "lakebed.yaml").write_text("project: shop\n")
    name = request.node.name.lower().replace("[", "_").replace("]", "")
    return Shop(spark, tmp_path, f"shop_{abs(hash(name)) % 10**8}")


def test_D9_a_partition_is_replaced_alone_in_one_commit(shop: Shop) -> None:
    shop.derive("daily", "SELECT sum(amount) AS total FROM @.sales WHERE day = '$day'")
    shop.sell((1, "de", MON), (2, "fr", MON), (5, "de", TUE))
    first = shop.run()
    assert [(one.state, one.rows, one.files) for one in first.runs] == [("done", 1, 1)] * 2
    assert shop.rows("daily") == [(3, MON), (5, TUE)]
    shop.sell((10, "de", MON))
    (again,) = shop.run().runs
    assert shop.rows("daily") == [(13, MON), (5, TUE)]
    commit = shop.log("daily").commit(again.version or 0)
    assert [str(one) for one in commit.partitions] == [f"day={MON}"]
    assert commit.facts["roots"] == [again.run.causes[0].event]
    assert shop.run().runs == ()
    shop.lose_the_store()
    assert {one.state for one in shop.run().runs} == {"held"}
    assert shop.log("daily").newest == again.version


def test_D9_columns_go_by_position_and_rows_stay_in_their_partition(shop: Shop) -> None:
    shop.derive("all_columns", "SELECT amount, country AS land, day FROM @.sales WHERE day = '$day'")
    shop.derive(
        "named", "INSERT INTO @.named (total, land) SELECT amount, country FROM @.sales WHERE day = '$day'"
    )
    shop.derive("outside", "SELECT amount, day FROM @.sales")
    shop.derive("unnamed", "SELECT amount, 'x' || country FROM @.sales")
    shop.sell((1, "de", MON), (2, "fr", TUE))
    done = shop.run()
    assert shop.rows("all_columns") == [(1, "de", MON), (2, "fr", TUE)]
    assert shop.rows("named", "total", "land", "day") == [(1, "de", MON), (2, "fr", TUE)]
    assert {(one.dataset.partition(".")[2], one.error["code"]) for one in done.dead} == {
        ("outside", "outside_partition"),
        ("unnamed", "columns"),
    }
    shop.derive("named", "SELECT 1 AS a")
    shop.sell((3, "de", MON))
    (letter,) = [one for one in shop.run().dead if one.dataset.endswith(".named")]
    assert "gives 1 columns; the table has 3: total, land, day" in letter.error["what"]


def test_D9_appends_once_per_event_and_reports_what_took_rows_away(shop: Shop) -> None:
    shop.derive("events", "SELECT count(*) AS n FROM @.sales WHERE day = '$day'", usage="append")
    shop.sell((1, "de", MON))
    shop.sell((2, "de", MON))
    shop.run()
    assert shop.rows("events") == [(2, MON), (2, MON)]
    shop.spark.sql(f"DELETE FROM delta.`{shop.path('sales')}` WHERE amount = 1")  # noqa: S608
    done = shop.run()
    assert (done.runs, len(done.reported)) == ((), 1)
    assert {str(one) for one in shop.log("sales").present() or ()} == {f"day={MON}"}
    shop.lose_the_store()
    shop.run()
    assert shop.rows("events") == [(2, MON), (2, MON)]


def test_D11_redrive_resumes_at_the_failed_step(shop: Shop) -> None:
    """What a step wrote to another table stays; views, and rows for the target, are made again; all is one commit."""
    shop.derive(
        "report",
        "INSERT INTO @.seen SELECT '$day'",
        "CREATE TEMP VIEW mine AS SELECT amount FROM @.sales WHERE day = '$day'",
        "INSERT INTO @.report SELECT amount, 'sale' AS kind FROM mine",
        "INSERT INTO @.report SELECT rate, 'rate' FROM rates",
        more="helpers: [@.seen]",
    )
    shop.derive("sibling", "SELECT amount FROM @.sales WHERE day = '$day'")
    shop.spark.sql(f"CREATE TABLE delta.`{shop.path('seen')}` (day string) USING delta")
    shop.sell((7, "de", MON))
    failed = shop.run()
    (letter,) = failed.dead
    assert (letter.step, letter.error["code"]) == (4, "sql")
    assert "rates" in letter.error["what"]
    assert [one.run.dataset for one in failed.done] == [f"{shop.db}.sibling"]
    assert not Path(shop.path("report")).exists()
    shop.spark.range(1).selectExpr("99 AS rate").write.format("delta").save(shop.path("rates"))
    (mended,) = shop.redrive(failed).runs
    assert (mended.state, mended.rows) == ("done", 2)
    assert shop.rows("report") == [(7, "sale", MON), (99, "rate", MON)]
    assert [commit.run for commit in shop.log("report").commits() if commit.partitions] == [mended.run.id]
    assert shop.rows("seen") == [(MON,)]


def test_D15_the_number_of_files_is_as_declared(shop: Shop) -> None:
    shop.derive("bucketed", "SELECT amount, country FROM @.sales", more="files: {count: 3, by: [country]}")
    shop.derive("spread", "SELECT amount, country FROM @.sales", more="files: {count: 4}")
    shop.derive("sized", "SELECT /*+ REPARTITION(7) */ amount, country FROM @.sales")
    shop.sell(*[(n, f"c{n % 5}", MON) for n in range(40)])
    files = {one.run.dataset.partition(".")[2]: one.files for one in shop.run().runs}
    assert (files["spread"], files["sized"]) == (4, 1)
    assert 1 <= (files["bucketed"] or 0) <= 3
    name = "_metadata.file_name"
    bucketed = shop.spark.read.format("delta").load(shop.path("bucketed")).selectExpr("country", name)
    assert bucketed.distinct().count() == 5


def test_D16_a_step_runs_in_its_database_and_reads_its_own_table(shop: Shop) -> None:
    shop.spark.sql(
        f"CREATE TABLE delta.`{shop.path('running')}` (total bigint, day string) USING delta PARTITIONED BY (day)"
    )
    shop.derive(
        "running",
        "SELECT sum(amount) + (SELECT coalesce(max(total), 0) FROM running WHERE day < '$day') AS total FROM sales WHERE day = '$day'",
    )
    shop.sell((1, "de", MON))
    shop.run()
    shop.sell((10, "de", TUE))
    shop.run()
    assert shop.rows("running") == [(1, MON), (11, TUE)]


CUSTOMERS = """\
dataset: {db}.customers
source: {{files: "customers/{{n}}.csv", format: csv, schema: "id bigint, name string, op string"}}
feed: {{kind: changes, key: [id], delete_when: "op = 'D'", except_columns: [op]}}
history: {{kind: versions}}
"""
NAMES = """\
dataset: {db}.names
dependencies: [{{table_name: {db}.customers, usage: overwrite}}]
steps: [{{sql: "SELECT * FROM customers_current"}}]
"""


def test_R2_a_versions_table_has_a_view_of_what_is_current(shop: Shop) -> None:
    """Nothing internal comes along with `SELECT *`."""
    (shop.root / "datasets" / "customers.yaml").write_text(CUSTOMERS.format(db=shop.db))
    (shop.root / "datasets" / "names.yaml").write_text(NAMES.format(db=shop.db))
    (shop.root / "landing" / "customers").mkdir()
    (shop.root / "landing" / "customers" / "1.csv").write_text(
        "id,name,op\n1,Ada,I\n2,Bob,I\n1,Eve,U\n2,Bob,D\n"
    )
    outcome = run_everything_due(load_project(shop.root), spark=lambda: shop.spark)
    assert outcome.failed == ()
    assert shop.rows("names", "id", "name", "is_current") == [(1, "Eve", True)]
    found = shop.spark.read.format("delta").load(shop.path("names"))
    assert [name for name in found.columns if name.startswith("_lb_")] == []
