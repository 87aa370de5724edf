"""`lakebed log` and `lakebed status`: what was applied and what waits, from the control store. No Spark."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lakebed.cli.options import DatasetName, ResultFormat
from lakebed.cli.output import COUNTERS, Format, ShortFormat, cell, print_rows, print_table, to_json
from lakebed.cli.progress import counted, files_text
from lakebed.cli.settings import settings
from lakebed.cli.show import count_rows
from lakebed.cli.spark import spark_of
from lakebed.control import Batch, open_store
from lakebed.runner import DatasetStatus
from lakebed.runner import status as status_of


def add_to(app: typer.Typer) -> None:
    app.command()(log)
    app.command()(status)


def log(
    context: typer.Context,
    name: DatasetName,
    format_: Annotated[Format, typer.Option("--format", help="How to print the batches.")] = Format.TABLE,
) -> None:
    """Show the batches of a dataset: when, from which files, what became of the rows, which Delta version.

    \b
    Example:
      lakebed --project shop log demo.cities
    """
    project = settings(context).load()
    dataset = project.dataset(name)
    with open_store(project.control, base=project.root) as store:
        batches = store.batches(dataset.name)
    if format_ is Format.TABLE:
        print_table(["batch", "state", "system time", "files", "rows", "version"], map(_line, batches))
        return
    columns = ["batch", "state", "system_time", "event_time", "finished_at", "inputs", *COUNTERS, "version"]
    print_rows(columns, [_row(batch) for batch in batches], format_)


def _row(batch: Batch) -> dict[str, Any]:
    return {
        "batch": batch.number,
        "state": batch.state,
        "system_time": batch.plan.system_time,
        "event_time": batch.plan.event_time,
        "finished_at": batch.finished_at,
        "inputs": [one.path for one in batch.plan.inputs],
        **{name: batch.report.get(name) for name in COUNTERS},
        "version": batch.report.get("version"),
    }


def _line(batch: Batch) -> list[str]:
    version = batch.report.get("version")
    files = files_text([one.path for one in batch.plan.inputs])
    return [
        cell(batch.number),
        batch.state,
        cell(batch.plan.system_time),
        cell(files),
        counted(batch.report),
        "" if version is None else cell(version),
    ]


def status(
    context: typer.Context,
    rows: Annotated[
        bool, typer.Option("--rows", help="Count the rows of the tables too. This starts Spark.")
    ] = False,
    format_: ResultFormat = ShortFormat.TABLE,
) -> None:
    """Show each dataset: its last batch, the files that wait, how its last run ended.

    \b
    Example:
      lakebed --project shop status
    """
    project = settings(context).load()
    found = [_about(one) for one in status_of(project)]
    if rows:
        spark = spark_of(project, short=True, quiet=format_ is ShortFormat.JSON)
        for one, dataset in zip(found, project.datasets, strict=True):
            one["rows"] = count_rows(project, dataset, spark)
    if format_ is ShortFormat.JSON:
        print(to_json({"project": project.name, "profile": project.profile, "datasets": found}, indent=2))  # noqa: T201
        return
    columns = ["dataset", "last batch", "at", *(["rows"] if rows else []), "waiting files", "last run"]
    print_table(columns, (_status_line(one) for one in found))


def _about(one: DatasetStatus) -> dict[str, Any]:
    """As the runner tells it, with times as everywhere else in the command line's JSON."""
    last, run = one.last_batch, one.last_run
    return {
        **one.as_dict(),
        "last_system_time": last.plan.system_time if last else None,
        "last_run": {**one.as_dict()["last_run"], "started_at": run.started_at} if run else None,
    }


def _status_line(one: dict[str, Any]) -> list[str]:
    run = one["last_run"]["state"] if one["last_run"] else None
    counted_rows = [one["rows"]] if "rows" in one else []
    values = [
        one["dataset"],
        one["last_batch"],
        one["last_system_time"],
        *counted_rows,
        one["trouble"] or len(one["waiting"]),
        run,
    ]
    return ["" if value is None else cell(value) for value in values]
