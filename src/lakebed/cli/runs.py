"""`lakebed runs`, `waiting`, `dead`, `gaps` and `why`: what derived datasets did, lack, and came from. No Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from lakebed.cli.derived import known_derived
from lakebed.cli.failures import as_options
from lakebed.cli.options import DatasetName, PartitionValue, ResultFormat, RowFormat, RowLimit
from lakebed.cli.output import Format, ShortFormat, cell, harmless, print_rows, say, to_json
from lakebed.cli.progress import causes_text, files_text
from lakebed.cli.settings import settings
from lakebed.control import DerivedRun, open_store
from lakebed.runner.derived_report import causes_as_data, letter_as_data
from lakebed.runner.gaps import gaps as gaps_of
from lakebed.runner.why import Link
from lakebed.runner.why import why as why_of

ONLY = typer.Argument(help="Only those of this dataset.", metavar="[NAME]")


def add_to(app: typer.Typer) -> None:
    for command in (runs, waiting, dead, gaps, why):
        app.command()(command)


def runs(
    context: typer.Context,
    name: Annotated[str | None, ONLY] = None,
    limit: RowLimit = 20,
    sql: Annotated[bool, typer.Option("--sql", help="With the SQL as it was run.")] = False,
    format_: RowFormat = Format.TABLE,
) -> None:
    """Show the runs of derived datasets, the newest first: which partition, why, how long, what was written.

    \b
    Example:
      lakebed --project shop runs
      lakebed --project shop runs analytics.weekly_sales --sql --limit 1
    """
    project = settings(context).load()
    known = known_derived(project, name) if name is not None else None
    with open_store(project.control, base=project.root) as store:
        found = store.derived.runs(known, limit=limit or None)
    if format_ is not Format.TABLE:
        print_rows(_RUN_COLUMNS, [_run_row(run) for run in found], format_)
        return
    columns = [
        "run",
        "dataset",
        "partition",
        "state",
        "started at",
        "seconds",
        "rows",
        "files",
        "version",
        "because of",
    ]
    print_rows(columns, [_run_line(run) for run in found], format_)
    for run in found if sql else ():
        say_sql(run)


_RUN_COLUMNS = [
    "run",
    "dataset",
    "partition",
    "write",
    "state",
    "started_at",
    "finished_at",
    "seconds",
    "rows",
]
_RUN_COLUMNS += ["files", "version_before", "version", "failed_step", "error", "roots", "causes", "steps"]


def _run_row(run: DerivedRun) -> dict[str, Any]:
    roots = list(dict.fromkeys(root for cause in run.causes for root in cause.roots))
    return {
        "run": run.id,
        "dataset": run.dataset,
        "partition": run.partition,
        "write": run.write,
        "state": run.state,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "seconds": _seconds(run),
        "rows": run.rows,
        "files": run.files,
        "version_before": run.version_before,
        "version": run.version,
        "failed_step": run.failed_step,
        "error": run.error,
        "roots": roots,
        "causes": causes_as_data(run.causes),
        "steps": list(run.steps),
    }


def _run_line(run: DerivedRun) -> dict[str, Any]:
    shown = {**_run_row(run), "run": run.id[:12], "started at": run.started_at}
    shown["state"] = f"failed at step {run.failed_step}" if run.failed_step else run.state
    shown["because of"] = causes_text(run.causes)
    return {name: "" if value is None else value for name, value in shown.items()}


def _seconds(run: DerivedRun) -> float | None:
    return round((run.finished_at - run.started_at).total_seconds(), 1) if run.finished_at else None


def say_sql(run: DerivedRun) -> None:
    """The steps of a run, as they were run."""
    print(f"{run.id[:12]} {run.dataset} {run.partition or '(whole table)'}")  # noqa: T201
    for place, step in enumerate(run.steps, start=1):
        info = f": {step['info']}" if step["info"] else ""
        print(harmless(f"  step {place} in {step['db']}{info}"))  # noqa: T201
        for line in step["sql"].splitlines():
            print(harmless(f"    {line}"))  # noqa: T201


def waiting(context: typer.Context, format_: RowFormat = Format.TABLE) -> None:
    """Show the partitions that have a cause to run and lack something: what has arrived, what is missing, since when.

    \b
    Example:
      lakebed --project shop waiting
    """
    project = settings(context).load()
    known = {one.name.lower() for one in project.derived}
    with open_store(project.control, base=project.root) as store:
        found = [one for one in store.derived.waiting() if one.dataset.lower() in known]
    rows = [
        {
            "dataset": one.dataset,
            "partition": one.partition,
            "arrived": list(one.arrived),
            "missing": list(one.missing),
            "since": one.since,
            "causes": causes_as_data(one.causes),
        }
        for one in found
    ]
    if format_ is not Format.TABLE:
        print_rows(["dataset", "partition", "arrived", "missing", "since", "causes"], rows, format_)
    elif rows:
        told = [{name: _text(value) for name, value in row.items()} for row in rows]
        print_rows(["dataset", "partition", "arrived", "missing", "since"], told, format_)
    else:
        say("nothing waits")


def dead(context: typer.Context, format_: RowFormat = Format.TABLE) -> None:
    """Show the dead letters: runs that failed for good, with the step and the reason, and arrivals of which no run could be
    made. `lakebed redrive` takes them up again.

    \b
    Example:
      lakebed --project shop dead
    """
    project = settings(context).load()
    with open_store(project.control, base=project.root) as store:
        found = store.derived.dead_letters()
    rows = [letter_as_data(one) for one in found]
    if format_ is not Format.TABLE:
        print_rows(["id", "dataset", "partition", "step", "error", "causes", "at"], rows, format_)
    elif rows:
        told = [
            {
                **{name: _text(value) for name, value in row.items()},
                "id": one.id[:12],
                "reason": f"{one.error['what']} [{one.error['code']}]",
                "because of": causes_text(one.causes),
            }
            for one, row in zip(found, rows, strict=True)
        ]
        print_rows(["id", "dataset", "partition", "step", "reason", "because of", "at"], told, format_)
    else:
        say("no dead letters")


def gaps(
    context: typer.Context,
    name: DatasetName,
    first: Annotated[
        str | None, typer.Option("--from", help="The first partition to look for.", metavar="VALUE")
    ] = None,
    last: Annotated[
        str | None, typer.Option("--to", help="The last partition to look for.", metavar="VALUE")
    ] = None,
    format_: RowFormat = Format.TABLE,
) -> None:
    """Show which partitions of a derived dataset are not there: failed, waiting, or never computed, and what they lack.

    \b
    Example:
      lakebed --project shop gaps analytics.weekly_sales
      lakebed --project shop gaps analytics.weekly_sales --from 20220101 --to 20220131
    """
    project = settings(context).load()
    with as_options():
        found = gaps_of(project, known_derived(project, name), first, last)
    rows = [one.as_dict() for one in found]
    columns = ["partition", "state", "lacks"]
    if format_ is not Format.TABLE:
        print_rows(["dataset", *columns], rows, format_)
    elif rows:
        print_rows(columns, [{key: _text(value) for key, value in row.items()} for row in rows], format_)
    else:
        say("no gaps")


def why(
    context: typer.Context,
    name: DatasetName,
    partition: PartitionValue = None,
    format_: ResultFormat = ShortFormat.TABLE,
) -> None:
    """Show why a partition is as it is: its newest run, and the chain of causes back to the files that landed.

    \b
    Example:
      lakebed --project shop why analytics.weekly_sales --partition 20220115
    """
    project = settings(context).load()
    with as_options():
        found = why_of(project, known_derived(project, name), partition)
    if format_ is ShortFormat.JSON:
        print(to_json(found.as_dict(), indent=2))  # noqa: T201
        return
    for line in chain_lines(found):
        print(harmless(line))  # noqa: T201


def chain_lines(link: Link, first: str = "", rest: str = "") -> Iterator[str]:
    """A chain as a tree, the newest on top."""
    told = [f"{link.table} {', '.join(str(one) for one in link.partitions[:3])}"]
    told += [f"version {link.version}" if link.version is not None else ""]
    told += [
        f"batch {link.batch}" if link.batch is not None else "",
        f"run {link.run[:12]}" if link.run else "",
    ]
    told += [f"at {cell(link.at)}" if link.at else "", link.what or ""]
    yield first + ", ".join(one for one in told if one)
    below = len(link.causes) + bool(link.files)
    for place, cause in enumerate(link.causes, start=1):
        last = place == below
        yield from chain_lines(cause, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))
    if link.files:
        yield f"{rest}└─ {files_text(link.files)}"


def _text(value: Any) -> Any:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else value
