"""The steps of a run, each a statement of Spark SQL in its own database (D16, decision 10 of docs/architecture.md).

A SELECT, and the SELECT of an INSERT into the target, gives rows and writes nothing. Everything else is run as it stands:
temporary views live as long as the run's session; what is written to other tables carries the run's id and the step's
number, so that Delta takes it once however often the step is tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakebed.dependencies import Run, RunStep
from lakebed.errors import DependencyError
from lakebed.manifest.statements import Statement, names_in, read_statement, without_end
from lakebed.runner.sessions import set_for_tables
from lakebed.tables.catalog import Catalog
from lakebed.tables.derived import Rows
from lakebed.tables.staging import Staging

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TXN = "spark.databricks.delta.write.txn"


@dataclass(frozen=True)
class StepRunner:
    """Runs the steps of one run in its session. `staging` is a folder of the run's own."""

    spark: SparkSession
    catalog: Catalog
    run: Run
    staging: Staging

    def take(self, number: int) -> Rows | None:
        """Run a step (from 1); gives its rows, if it has some for the target. Rows of a step before the last are written
        aside: what comes after may change what they were computed from."""
        step = self.run.steps[number - 1]
        statement = read_statement(step.sql)
        folders = self.catalog.enter(self.spark, step.db, names_in(step.sql))
        set_for_tables(self.spark, folders)
        if not self._gives_rows(step, statement):
            self._execute(number, step)
            return None
        self._check_partition(statement)
        assert statement.rows is not None
        rows = Rows(self.spark.sql(statement.rows), statement.columns)
        return rows if number == len(self.run.steps) else self._aside(rows, number)

    def is_committed(self, number: int) -> bool:
        """Whether what the step did before a failure of a later one is there for good: it wrote another table."""
        step = self.run.steps[number - 1]
        statement = read_statement(step.sql)
        is_write = statement.kind in ("insert", "write", "unknown")
        return is_write and not self._gives_rows(step, statement)

    def _gives_rows(self, step: RunStep, statement: Statement) -> bool:
        mine = statement.writes(step.db) == self.run.dataset.lower()
        if mine and statement.kind != "insert":
            raise DependencyError(
                f"only INSERT and SELECT give rows to {self.run.dataset}: they are committed together, once (D9)",
                code="writes_target",
                hint="give the rows by a SELECT, and let lakebed write them",
            )
        return statement.kind == "rows" or mine

    def _check_partition(self, statement: Statement) -> None:
        target = dict(self.run.partition.values) if self.run.partition else {}
        mine = {name.lower(): value for name, value in target.items()}
        for name, value in statement.partition:
            if name not in mine or value not in (None, mine[name]):
                what = f"the INSERT is for the partition {name}={value}, and the run for {self.run.partition}"
                raise DependencyError(what, code="outside_partition", hint="leave the PARTITION clause out")

    def _execute(self, number: int, step: RunStep) -> None:
        self.spark.conf.set(f"{_TXN}AppId", f"{self.run.id}/{number}")
        self.spark.conf.set(f"{_TXN}Version", "1")
        try:
            self.spark.sql(without_end(step.sql))
        finally:
            self.spark.conf.unset(f"{_TXN}AppId")
            self.spark.conf.unset(f"{_TXN}Version")

    def _aside(self, rows: Rows, number: int) -> Rows:
        names = rows.frame.columns
        places = [f"_{place}" for place in range(len(names))]  # two columns may have one name
        written, _ = self.staging.write(rows.frame.toDF(*places), f"step-{number}")
        return Rows(written.toDF(*names), rows.columns)
