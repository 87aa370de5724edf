"""`lakebed refresh`, `lakebed backfill` and `lakebed redrive`: runs of derived datasets that somebody asks for."""

from __future__ import annotations

from typing import Annotated

import typer

from lakebed.cli.failures import FAILED, OK, as_options
from lakebed.cli.lineage import known_name
from lakebed.cli.options import DatasetName, PartitionValue, ResultFormat
from lakebed.cli.output import ShortFormat, say
from lakebed.cli.passes import end_pass
from lakebed.cli.plan import print_plan
from lakebed.cli.progress import progress
from lakebed.cli.settings import settings
from lakebed.cli.spark import spark_of
from lakebed.control import DeadLetter, open_store
from lakebed.dependencies import Graph, Range
from lakebed.errors import OptionsError
from lakebed.manifest import Project
from lakebed.runner import PassOutcome, new_cause, planned_backfill
from lakebed.runner import backfill as run_backfill
from lakebed.runner import redrive as redrive_letters


def add_to(app: typer.Typer) -> None:
    app.command()(refresh)
    app.command()(backfill)
    app.command()(redrive)


def refresh(
    context: typer.Context,
    name: DatasetName,
    partition: PartitionValue = None,
    format_: ResultFormat = ShortFormat.TABLE,
) -> None:
    """Compute one partition of a derived dataset anew, and all that depends on it.

    \b
    Example:
      lakebed --project shop refresh analytics.weekly_sales --partition 20220115
    """
    project = settings(context).load()
    known = known_derived(project, name)
    wanted = Range(known, partition, partition, new_cause("refresh"), cascade=True)
    outcome = _carried_out(project, wanted, quiet=format_ is ShortFormat.JSON)
    if not (outcome.runs or outcome.dead or outcome.waiting):
        raise OptionsError(
            f"no partition of a source leads to {partition!r}, so {known} has no such partition",
            code="no_such_partition",
        )
    end_pass(outcome, quiet=format_ is ShortFormat.JSON)


def backfill(  # noqa: PLR0913, PLR0917 - the options of a command
    context: typer.Context,
    name: DatasetName,
    first: Annotated[str | None, typer.Option("--from", help="The first partition.", metavar="VALUE")] = None,
    last: Annotated[str | None, typer.Option("--to", help="The last partition.", metavar="VALUE")] = None,
    missing_only: Annotated[
        bool, typer.Option("--missing-only", help="Only those that are not there, or failed.")
    ] = False,
    cascade: Annotated[bool, typer.Option("--cascade", help="Also what depends on them.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Run nothing: show every run with its SQL.")
    ] = False,
    format_: ResultFormat = ShortFormat.TABLE,
) -> None:
    """Compute a range of partitions of a derived dataset anew. What lacks an input is left out, and told.

    \b
    Example:
      lakebed --project shop backfill analytics.weekly_sales --from 20220101 --to 20220131 --missing-only
      lakebed --project shop backfill analytics.weekly_sales --from 20220101 --to 20220131 --dry-run
    """
    project = settings(context).load()
    known, quiet = known_derived(project, name), format_ is ShortFormat.JSON
    wanted = Range(known, first, last, new_cause("backfill"), missing=missing_only, cascade=cascade)
    if not dry_run:
        end_pass(_carried_out(project, wanted, quiet=quiet), quiet=quiet)
    with as_options():
        plan = planned_backfill(project, wanted, spark=spark_of(project, short=True, quiet=quiet))
    print_plan(plan, format_)
    raise typer.Exit(FAILED if plan.refused else OK)


def _carried_out(project: Project, wanted: Range, *, quiet: bool) -> PassOutcome:
    spark = spark_of(project, loads=True, quiet=quiet)
    with progress(quiet=quiet) as shown, as_options():
        return run_backfill(project, wanted, spark=spark, progress=shown)


def redrive(
    context: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(help="Only those of these datasets.", metavar="[NAME]...")
    ] = None,
    id_: Annotated[
        str | None, typer.Option("--id", help="Only this one: the start of its id is enough.", metavar="ID")
    ] = None,
    discard: Annotated[
        bool, typer.Option("--discard", help="Forget them instead: they will not be run.")
    ] = False,
    format_: ResultFormat = ShortFormat.TABLE,
) -> None:
    """Take up dead letters again, after what was wrong is mended: each at the step at which it failed.

    \b
    Example:
      lakebed --project shop redrive
      lakebed --project shop redrive analytics.weekly_sales
      lakebed --project shop redrive --id 1f3a --discard
    """
    project, quiet = settings(context).load(), format_ is ShortFormat.JSON
    with open_store(project.control, base=project.root) as store:
        letters = [one for one in store.derived.dead_letters() if _is_meant(one, names, id_)]
        for letter in letters if discard else ():
            store.derived.discard(letter.id)
    if not letters and (names or id_):
        raise OptionsError("no dead letter fits", code="no_dead_letter", hint="see `lakebed dead`")
    if discard or not letters:
        say(
            f"{len(letters)} dead letter{'' if len(letters) == 1 else 's'} discarded"
            if discard
            else "no dead letters"
        )
        end_pass(PassOutcome(), quiet=True) if quiet else None
        return
    with progress(quiet=quiet) as shown:
        spark = spark_of(project, loads=True, quiet=quiet)
        outcome = redrive_letters(project, [one.id for one in letters], spark=spark, progress=shown)
    end_pass(outcome, quiet=quiet)


def _is_meant(letter: DeadLetter, names: list[str] | None, id_: str | None) -> bool:
    named = not names or letter.dataset.lower() in [name.lower() for name in names]
    return named and (id_ is None or letter.id.startswith(id_))


def known_derived(project: Project, name: str) -> str:
    """The name of a derived dataset, as it is written."""
    graph = Graph.of(project.derived)
    known = known_name(project, graph, name)
    if known.lower() not in graph.derived:
        raise OptionsError(f"{known} is not a derived dataset", code="not_derived")
    return known
