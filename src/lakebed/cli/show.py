"""`lakebed show`: the rows of a table."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, cast

import typer

from lakebed.cli.options import DatasetName, RowFormat, RowLimit
from lakebed.cli.output import Format, say
from lakebed.cli.rows import first_rows, print_frame_rows
from lakebed.cli.settings import settings
from lakebed.cli.spark import spark_of
from lakebed.control import open_store
from lakebed.errors import TableError
from lakebed.manifest import Dataset, Derived, Log, Project, Versions
from lakebed.runner import Edges
from lakebed.runner.ingest import ours
from lakebed.runner.table_logs import TableLogs
from lakebed.runner.work import Work
from lakebed.tables.data_commits import TableLog

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from lakebed.table import Table


def add_to(app: typer.Typer) -> None:
    app.command()(show)


def show(
    context: typer.Context,
    name: DatasetName,
    all_versions: Annotated[
        bool, typer.Option("--all-versions", help="Of versions also those that are over.")
    ] = False,
    as_of: Annotated[
        str | None,
        typer.Option(help="The rows that were valid then: a day, a time, or a number.", metavar="T"),
    ] = None,
    limit: RowLimit = 20,
    format_: RowFormat = Format.TABLE,
) -> None:
    """Show the rows of a table: a log in the order of its changes, the others by key; of versions the open ones.

    \b
    Example:
      lakebed --project shop show demo.cities
      lakebed --project shop show crm.customers --all-versions --limit 0 --format csv
      lakebed --project shop show crm.customers --as-of 2024-01-31
    """
    if all_versions and as_of is not None:
        raise typer.BadParameter("--all-versions and --as-of contradict each other: give one of them")
    if as_of is not None:
        _refuse_no_moment(as_of)
    project = settings(context).load()
    spark = spark_of(project, short=True, quiet=format_ is not Format.TABLE)
    derived = next((one for one in project.derived if one.name.lower() == name.lower()), None)
    with ours(name):
        if derived is not None:
            if all_versions or as_of is not None:
                raise typer.BadParameter(f"{derived.name} is derived: it keeps no versions")
            wanted = derived_rows(project, derived, spark)
        else:
            dataset = project.dataset(name)
            wanted = ordered_rows(project, dataset, spark, as_of=as_of, all_versions=all_versions)
        rows = first_rows(wanted, limit + 1 if limit else None)
    print_frame_rows(rows.first(limit) if limit else rows, format_)
    if limit and len(rows.lines) > limit:
        say(f"only the first {limit} rows are shown; --limit {limit * 10} shows more, --limit 0 all")


def derived_rows(project: Project, derived: Derived, spark: Callable[[], SparkSession]) -> DataFrame:
    """The rows of a derived dataset, by partition."""
    from pyspark.sql import functions as F  # noqa: PLC0415

    folder = TableLogs(project, spark).folder(derived.name)
    if TableLog.of(folder) is None:
        what = f"{derived.name} was not computed yet"
        raise TableError(what, code="no_table", hint="see `lakebed waiting` and `lakebed dead`")
    rows = spark().read.format("delta").load(str(folder))
    column = derived.partition_column
    return rows if column is None else rows.orderBy(F.col(f"`{column.replace('`', '``')}`"))


def ordered_rows(
    project: Project,
    dataset: Dataset,
    spark: Callable[[], SparkSession],
    *,
    as_of: str | None = None,
    all_versions: bool = False,
) -> DataFrame:
    """The rows that were asked for, in an order that a person can follow."""
    from pyspark.sql import functions as F  # noqa: PLC0415 - the command line must start without Spark

    table = opened(project, dataset, spark)
    if as_of is not None:
        rows = table.as_of(as_of)
    elif isinstance(dataset.history, Versions) and not all_versions:
        rows = table.open_versions()
    else:
        rows = table.read()
    own, key = dataset.history.own, list(getattr(dataset.feed, "key", ()))
    if isinstance(dataset.history, Log) and own("offset") in rows.columns:
        names = [own("offset")]
    elif isinstance(dataset.history, Versions):
        names = [*key, own("valid_from"), own("sk")]
    else:
        names = key
    return rows.orderBy(*[F.col(f"`{name.replace('`', '``')}`") for name in names])


def _refuse_no_moment(text: str) -> None:
    """Before Spark is started; which of them it must be, the table tells."""
    try:
        float(text)
    except ValueError:
        try:
            datetime.fromisoformat(text)
        except ValueError:
            what = f"{text!r} is no time: give a day such as 2024-01-31, a time such as 2024-01-31T12:00:00Z, or a number"
            raise typer.BadParameter(what) from None


def count_rows(project: Project, dataset: Dataset, spark: Callable[[], SparkSession]) -> int:
    """How many rows the table has; none where no batch was applied yet."""
    try:
        return opened(project, dataset, spark).read().count()
    except TableError as error:
        if error.code == "no_table":
            return 0
        raise


def opened(project: Project, dataset: Dataset, spark: Callable[[], SparkSession]) -> Table:
    """The dataset's table, opened as a run opens it."""
    with open_store(project.control, base=project.root) as store:
        return cast("Table", Work.of(project, dataset, store, Edges(spark=spark)).table)
