"""`lakebed plan`: what would run, without running it. No Spark."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lakebed.cli.failures import FAILED, as_options
from lakebed.cli.lineage import known_name
from lakebed.cli.output import ShortFormat, harmless, to_json
from lakebed.cli.settings import settings
from lakebed.dependencies import Event, Graph, Partition, Plan, Range, Run, plan_backfill
from lakebed.dependencies import plan as plan_events
from lakebed.errors import OptionsError

HOW = "--event TABLE:COLUMN=VALUE, or --backfill NAME --from VALUE --to VALUE"


def add_to(app: typer.Typer) -> None:
    app.command()(plan)


def plan(  # noqa: PLR0913, PLR0917 - the options of a command
    context: typer.Context,
    event: Annotated[
        list[str] | None,
        typer.Option(
            help="A partition that a commit touched; may be given several times.",
            metavar="TABLE[:COLUMN=VALUE[/COLUMN=VALUE]...]",
        ),
    ] = None,
    backfill: Annotated[
        str | None, typer.Option(help="A derived dataset to compute anew.", metavar="NAME")
    ] = None,
    first: Annotated[str | None, typer.Option("--from", help="Its first partition.", metavar="VALUE")] = None,
    last: Annotated[str | None, typer.Option("--to", help="Its last partition.", metavar="VALUE")] = None,
    cascade: Annotated[
        bool, typer.Option("--cascade", help="With the backfill, also what depends on it.")
    ] = False,
    format_: Annotated[
        ShortFormat, typer.Option("--format", help="How to print the plan.")
    ] = ShortFormat.TABLE,
) -> None:
    """Show every run that events or a backfill would lead to, with its SQL and the reason for it. Nothing is run, and no
    table is looked at: only the given events have arrived.

    \b
    Example:
      lakebed --project shop plan --event shop.orders:date=20220120
      lakebed --project shop plan --backfill analytics.weekly_sales --from 20220101 --to 20220131
    """
    project = settings(context).load()
    graph = Graph.of(project.derived)
    if bool(event) == (backfill is not None):
        raise OptionsError("expected events or a backfill", code="usage", hint=f"give {HOW}")
    if backfill is not None:
        wanted = Range(known_name(project, graph, backfill), first, last, "backfill", cascade=cascade)
        found = _backfill(graph, wanted)
    else:
        events = [_event(text) for text in event or ()]
        for one in events:
            known_name(project, graph, one.table)
        found = plan_events(graph, events)
    print_plan(found, format_)
    if found.refused:
        raise typer.Exit(FAILED)


def print_plan(found: Plan, format_: ShortFormat) -> None:
    """Every run of a plan, what waits, and what cannot be."""
    if format_ is ShortFormat.JSON:
        print(to_json(_data(found), indent=2))  # noqa: T201
    else:
        print(harmless("\n".join(_lines(found))))  # noqa: T201


def _backfill(graph: Graph, wanted: Range) -> Plan:
    with as_options(hint=f"give {HOW}"):
        return plan_backfill(graph, wanted)


def _event(text: str) -> Event:
    table, _, where = text.partition(":")
    parts = [part.partition("=") for part in where.split("/")] if where else []
    if not table or any(not (column and equals) for column, equals, _ in parts):
        raise OptionsError(
            f"expected TABLE:COLUMN=VALUE, found {text!r}",
            code="usage",
            hint="as in shop.orders:date=20220120",
        )
    return Event(text, table, (Partition(tuple((column, value) for column, _, value in parts)),))


def _data(found: Plan) -> dict[str, Any]:
    return {
        "runs": [
            {
                "dataset": run.dataset,
                "partition": _object(run.partition),
                "write": run.write,
                "steps": [{"db": step.db, "info": step.info, "sql": step.sql} for step in run.steps],
                "causes": [
                    {"table": cause.table, "partitions": [_object(one) for one in cause.partitions]}
                    for cause in run.causes
                ],
            }
            for run in found.runs
        ],
        "waiting": [
            {
                "dataset": one.dataset,
                "partition": _object(one.partition),
                "arrived": one.arrived,
                "missing": one.missing,
            }
            for one in found.waiting
        ],
        "errors": [
            {
                "dataset": one.dataset,
                "partition": _object(one.partition),
                "code": one.code,
                "what": one.what,
                "hint": one.hint,
            }
            for one in found.refused
        ],
    }


def _object(partition: Partition | None) -> dict[str, str | None] | None:
    return dict(partition.values) if partition else None


def _lines(found: Plan) -> list[str]:
    lines: list[str] = []
    for number, run in enumerate(found.runs, start=1):
        lines += [*_run_lines(number, run), ""]
    for waiting in found.waiting:
        lines.append(
            f"waits: {waiting.dataset} {waiting.partition or '(whole table)'} for {', '.join(waiting.missing)}"
        )
    for refused in found.refused:
        lines.append(f"error: {refused.dataset}: {refused.what} [{refused.code}]")
    count = len(found.runs)
    return [*lines, f"{count} run{'' if count == 1 else 's'}; nothing was run"]


def _run_lines(number: int, run: Run) -> list[str]:
    lines = [f"{number}. {run.dataset} {run.partition or '(whole table)'}, {run.write}"]
    for cause in run.causes:
        some = ", ".join(str(one) for one in cause.partitions[:3])
        more = f" and {len(cause.partitions) - 3} more" if len(cause.partitions) > 3 else ""
        lines.append(f"   because of {cause.table} {some}{more}")
    for place, step in enumerate(run.steps, start=1):
        lines.append(f"   step {place} in {step.db}{f': {step.info}' if step.info else ''}")
        lines += [f"     {line}" for line in step.sql.splitlines()]
    return lines
