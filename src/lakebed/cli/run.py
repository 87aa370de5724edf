"""`lakebed run` and `lakebed replan`: apply what has landed."""

from __future__ import annotations

from typing import Annotated

import typer

from lakebed.cli.failures import FAILED, OK, exit_code, show_error
from lakebed.cli.output import ShortFormat, say, to_json
from lakebed.cli.progress import progress
from lakebed.cli.settings import settings
from lakebed.cli.spark import spark_of
from lakebed.runner import RunOutcome, run_project
from lakebed.runner import replan as replan_batch


def add_to(app: typer.Typer) -> None:
    app.command()(run)
    app.command()(replan)


def run(
    context: typer.Context,
    datasets: Annotated[
        list[str] | None, typer.Argument(help="Only these datasets.", metavar="[DATASET]...")
    ] = None,
    format_: Annotated[
        ShortFormat, typer.Option("--format", help="How to print the result.")
    ] = ShortFormat.TABLE,
) -> None:
    """Apply all files that have landed, batch by batch. Running again is always safe: nothing is applied twice.

    \b
    Example:
      lakebed --project shop run
      lakebed --project shop run demo.cities --format json
    """
    project = settings(context).load()
    quiet = format_ is ShortFormat.JSON
    with progress(quiet=quiet) as shown:
        outcome = run_project(
            project,
            datasets=datasets or None,
            progress=shown,
            spark=spark_of(project, quiet=quiet),
        )
    if quiet:
        print(to_json(outcome.as_dict(), indent=2))  # noqa: T201
    else:
        _tell(outcome)
    raise typer.Exit(_code(outcome))


def _tell(outcome: RunOutcome) -> None:
    for one in outcome.failed:
        assert one.error is not None
        one.error.where = one.error.where or one.dataset
        show_error(one.error, as_json=False)
    batches = sum(len(one.batches) for one in outcome.datasets)
    failed = f", {len(outcome.failed)} of {len(outcome.datasets)} datasets failed" if outcome.failed else ""
    say(f"{outcome.project}: {batches} batch{'' if batches == 1 else 'es'} applied{failed}")


def _code(outcome: RunOutcome) -> int:
    """That of the errors, if they agree; any mixture is a failure."""
    codes = {exit_code(one.error) for one in outcome.failed if one.error}
    if not codes:
        return OK
    return codes.pop() if len(codes) == 1 else FAILED


def replan(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The dataset, such as demo.cities.", metavar="NAME")],
) -> None:
    """Set a batch aside that was planned and could not be applied, so that the next run looks at the files anew.

    For a file that was mended, replaced or removed after its batch was planned.

    \b
    Example:
      lakebed --project shop replan demo.cities
    """
    project = settings(context).load()
    number = replan_batch(project, name, spark=spark_of(project, short=True))
    say(
        f"{name}: no batch is waiting"
        if number is None
        else f"{name}: batch {number} will be planned anew by the next run"
    )
