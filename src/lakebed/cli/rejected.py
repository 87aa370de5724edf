"""`lakebed rejected`: the rows that were set aside, and why."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from lakebed.cli.options import DatasetName, RowFormat, RowLimit
from lakebed.cli.output import Format, print_rows, say
from lakebed.cli.rows import first_rows
from lakebed.cli.settings import settings
from lakebed.cli.show import opened
from lakebed.cli.spark import spark_of
from lakebed.runner.ingest import ours

COLUMNS = ("reason", "batch", "file", "line", "raw")
GROUPS = ("reason", "rows", "first batch", "last batch")


def add_to(app: typer.Typer) -> None:
    app.command()(rejected)


def rejected(
    context: typer.Context,
    name: DatasetName,
    reason: Annotated[
        str | None, typer.Option(help="Only rows with this reason, such as bad_cast.", metavar="CODE")
    ] = None,
    limit: RowLimit = 5,
    format_: RowFormat = Format.TABLE,
) -> None:
    """Show the rows of a dataset that were set aside (G5, G7): how many for each reason, and the newest of them.

    \b
    Example:
      lakebed --project shop rejected crm.customers
      lakebed --project shop rejected crm.customers --reason bad_cast --limit 0 --format ndjson
    """
    from pyspark.sql import functions as F  # noqa: PLC0415 - the command line must start without Spark

    project = settings(context).load()
    dataset = project.dataset(name)
    with ours(dataset.name):
        rows = opened(project, dataset, spark_of(project, short=True, quiet=True)).rejected()
        if rows is not None and reason is not None:
            rows = rows.where(F.col("reason") == F.lit(reason))
        groups: list[dict[str, Any]] = []
        found: list[dict[str, Any]] = []
        if rows is not None:
            counted = rows.groupBy("reason").agg(
                F.count(F.lit(1)).alias(GROUPS[1]),
                F.min("batch").alias(GROUPS[2]),
                F.max("batch").alias(GROUPS[3]),
            )
            groups = first_rows(counted.orderBy("reason").select(*GROUPS), None).read()
            newest = rows.select(*COLUMNS).orderBy(F.col("batch").desc(), "file", "line")
            found = first_rows(newest, limit or None).read()
    if format_ is Format.TABLE:
        if not groups:
            say(f"{dataset.name}: no row was set aside")
            return
        print_rows(GROUPS, groups, format_, title="how many")
        print_rows(COLUMNS, found, format_, title="the newest")
    elif format_ is Format.JSON:
        print(json.dumps({"reasons": groups, "rows": found}, ensure_ascii=False, indent=2))  # noqa: T201
    else:
        print_rows(COLUMNS, found, format_)
