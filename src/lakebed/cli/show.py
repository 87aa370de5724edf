"""`lakebed show`: the rows of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from lakebed.cli.output import Format, say
from lakebed.cli.rows import first_rows, print_frame_rows
from lakebed.cli.settings import settings
from lakebed.cli.spark import spark_of
from lakebed.control import open_store
from lakebed.errors import TableError
from lakebed.manifest import Dataset, Log, Project, Versions
from lakebed.runner import Edges
from lakebed.runner.ingest import Work, ours

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from lakebed.table import Table


def add_to(app: typer.Typer) -> None:
    app.command()(show)


def show(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The dataset, such as demo.cities.", metavar="NAME")],
    limit: Annotated[int, typer.Option(help="How many rows at most.", min=1, metavar="N")] = 20,
    format_: Annotated[Format, typer.Option("--format", help="How to print the rows.")] = Format.TABLE,
) -> None:
    """Show the rows of a table: a log in the order of its changes, the others by key.

    \b
    Example:
      lakebed --project shop show demo.cities
      lakebed --project shop show demo.cities --limit 1000 --format csv
    """
    project = settings(context).load()
    dataset = project.dataset(name)
    spark = spark_of(project, short=True, quiet=format_ is not Format.TABLE)
    with ours(dataset.name):
        rows = first_rows(ordered_rows(project, dataset, spark), limit + 1)
    print_frame_rows(rows.first(limit), format_)
    if len(rows.lines) > limit:
        say(f"only the first {limit} rows are shown; --limit {limit * 10} shows more")


def ordered_rows(project: Project, dataset: Dataset, spark: Callable[[], SparkSession]) -> DataFrame:
    """The table as its history keeps it, in an order that a person can follow."""
    from pyspark.sql import functions as F  # noqa: PLC0415 - the command line must start without Spark

    rows = _table(project, dataset, spark).read()
    own, key = dataset.history.own, list(getattr(dataset.feed, "key", ()))
    if isinstance(dataset.history, Log):
        names = [own("offset")]
    elif isinstance(dataset.history, Versions):
        names = [*key, own("valid_from"), own("sk")]
    else:
        names = key
    return rows.orderBy(*[F.col(f"`{name.replace('`', '``')}`") for name in names])


def count_rows(project: Project, dataset: Dataset, spark: Callable[[], SparkSession]) -> int:
    """How many rows the table has; none where no batch was applied yet."""
    try:
        return _table(project, dataset, spark).read().count()
    except TableError as error:
        if error.code == "no_table":
            return 0
        raise


def _table(project: Project, dataset: Dataset, spark: Callable[[], SparkSession]) -> Table:
    """The dataset's table, opened as a run opens it."""
    with open_store(project.control, base=project.root) as store:
        return cast("Table", Work.of(project, dataset, store, Edges(spark=spark)).table)
