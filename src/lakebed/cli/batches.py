"""`lakebed log` and `lakebed status`: what was applied and what waits, from the control store. No Spark."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lakebed.cli.output import Format, ShortFormat, cell, print_rows, print_table, to_json
from lakebed.cli.settings import settings
from lakebed.control import Batch, ControlStore, Input, Run, open_store
from lakebed.manifest import Dataset, Project
from lakebed.sources import find_files, local_folder

COUNTERS = (
    "read",
    "applied",
    "unchanged",
    "duplicate",
    "late",
    "rejected",
    "conflicts",
    "modified",
    "deleted",
)


def add_to(app: typer.Typer) -> None:
    app.command()(log)
    app.command()(status)


def log(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The dataset, such as demo.cities.", metavar="NAME")],
    format_: Annotated[Format, typer.Option("--format", help="How to print the batches.")] = Format.TABLE,
) -> None:
    """Show the batches of a dataset: when, from which files, what became of the rows, which Delta version.

    \b
    Example:
      lakebed --project shop log demo.cities
    """
    project = settings(context).load()
    dataset = project.dataset(name)
    with store_of(project) as store:
        batches = store.batches(dataset.name)
    if format_ is Format.TABLE:
        print_table(["batch", "state", "system time", "files", "rows", "version"], map(_line, batches))
        return
    rows = [_row(batch) for batch in batches]
    columns = ["batch", "state", "system_time", "event_time", "finished_at", "inputs", *COUNTERS, "version"]
    print_rows(columns, rows, format_)


def store_of(project: Project) -> ControlStore:
    return open_store(project.control, base=project.root)


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
    row = _row(batch)
    files = ", ".join(row["inputs"][:2]) + (
        f" and {len(row['inputs']) - 2} more" if len(row["inputs"]) > 2 else ""
    )
    counted = ", ".join(f"{row[name]} {name}" for name in COUNTERS if row[name])
    version = cell(row["version"]) if row["version"] is not None else ""
    return [cell(batch.number), batch.state, cell(row["system_time"]), cell(files), counted, version]


def status(
    context: typer.Context,
    rows: Annotated[
        bool, typer.Option("--rows", help="Count the rows of the tables too. This starts Spark.")
    ] = False,
    format_: Annotated[
        ShortFormat, typer.Option("--format", help="How to print the result.")
    ] = ShortFormat.TABLE,
) -> None:
    """Show each dataset: its last batch, the files that wait, how its last run ended.

    \b
    Example:
      lakebed --project shop status
    """
    project = settings(context).load()
    with store_of(project) as store:
        found = [_status(project, dataset, store) for dataset in project.datasets]
    if rows:
        from lakebed.cli.show import count_rows  # noqa: PLC0415 - only this needs Spark

        for one, dataset in zip(found, project.datasets, strict=True):
            one["rows"] = count_rows(project, dataset)
    if format_ is ShortFormat.JSON:
        print(to_json({"project": project.name, "profile": project.profile, "datasets": found}, indent=2))  # noqa: T201
        return
    columns = ["dataset", "last_batch", "at", *(["rows"] if rows else []), "pending_files", "last_run"]
    print_table(
        [name.replace("_", " ") for name in columns],
        ([_shown(one[name]) for name in columns] for one in found),
    )


def _shown(value: Any) -> str:
    return "" if value is None else cell(value["state"] if isinstance(value, dict) else value)


def _status(project: Project, dataset: Dataset, store: ControlStore) -> dict[str, Any]:
    done = [batch for batch in store.batches(dataset.name) if batch.state == "done"]
    last = done[-1] if done else None
    return {
        "dataset": dataset.name,
        "last_batch": last.number if last else None,
        "at": last.plan.system_time if last else None,
        "pending_files": len(pending_files(project, dataset, store)),
        "last_run": _run(store.last_run(dataset.name)),
    }


def pending_files(project: Project, dataset: Dataset, store: ControlStore) -> list[str]:
    """Files that have landed and that no batch has taken yet."""
    found = find_files(local_folder(project.landing, setting="landing"), dataset)
    inputs = [Input(path=one.path, size=one.size, modified_ns=one.modified_ns) for one in found]
    return [one.path for one in store.not_taken(dataset.name, inputs)]


def _run(run: Run | None) -> dict[str, Any] | None:
    if run is None:
        return None
    return {
        "state": run.state,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "batches": run.batches,
        "error": dict(run.error) if run.error else None,
    }
