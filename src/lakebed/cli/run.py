"""`lakebed run`, `lakebed retry` and `lakebed skip`: apply what has landed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from lakebed.cli.failures import FAILED, OK, exit_code, show_error
from lakebed.cli.output import ShortFormat, say, to_json
from lakebed.cli.progress import progress
from lakebed.cli.settings import settings
from lakebed.cli.spark import spark_of
from lakebed.manifest import Project
from lakebed.runner import RunOutcome, run_project, sound
from lakebed.runner import retry as retry_batch
from lakebed.runner import skip as skip_batch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def add_to(app: typer.Typer) -> None:
    app.command()(run)
    app.command()(retry)
    app.command()(skip)


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
    _run(project, datasets or None, spark_of(project, quiet=quiet), quiet=quiet)


def _run(
    project: Project, datasets: list[str] | None, spark: Callable[[], SparkSession], *, quiet: bool
) -> None:
    with progress(quiet=quiet) as shown:
        outcome = run_project(project, datasets=datasets, progress=shown, spark=spark)
    for said in sound(project, outcome):
        say(said)
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


def retry(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The dataset, such as demo.cities.", metavar="NAME")],
    format_: Annotated[
        ShortFormat, typer.Option("--format", help="How to print the result.")
    ] = ShortFormat.TABLE,
) -> None:
    """Try a batch again that failed and waits; then all that is new of its dataset.

    If its files were mended, replaced or removed, the batch is planned anew.

    \b
    Example:
      lakebed --project shop retry demo.cities
    """
    project = settings(context).load()
    quiet = format_ is ShortFormat.JSON
    spark = spark_of(project, quiet=quiet)
    if retry_batch(project, name, spark=spark) is None and not quiet:
        say(f"{name}: no batch is waiting")
    _run(project, [name], spark, quiet=quiet)


def skip(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The dataset, such as demo.cities.", metavar="NAME")],
    format_: Annotated[
        ShortFormat, typer.Option("--format", help="How to print the result.")
    ] = ShortFormat.TABLE,
) -> None:
    """Leave the files of a batch that failed and waits out for good; the next run goes on with those after it.

    \b
    Example:
      lakebed --project shop skip demo.cities
    """
    project = settings(context).load()
    skipped = skip_batch(project, name, spark=spark_of(project, short=True, quiet=True))
    if format_ is ShortFormat.JSON:
        print(to_json({"dataset": name, "skipped": list(skipped or ())}, indent=2))  # noqa: T201
    elif skipped is None:
        say(f"{name}: no batch is waiting")
    else:
        say(f"{name}: left out for good: {', '.join(skipped)}")
