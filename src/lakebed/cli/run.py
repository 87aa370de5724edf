"""`lakebed run`, `lakebed retry` and `lakebed skip`: apply what has landed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from lakebed.cli.failures import FAILED, OK, exit_code, show_error
from lakebed.cli.options import DatasetName, ResultFormat
from lakebed.cli.output import ShortFormat, harmless, say, to_json
from lakebed.cli.passes import pass_summary, tell_pass
from lakebed.cli.progress import counted, files_text, progress
from lakebed.cli.settings import settings
from lakebed.cli.spark import spark_of
from lakebed.errors import LakebedError
from lakebed.manifest import Project
from lakebed.runner import DueOutcome, preview_project, run_everything_due, sound
from lakebed.runner import recover as recover_store
from lakebed.runner import retry as retry_batch
from lakebed.runner import skip as skip_batch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def add_to(app: typer.Typer) -> None:
    app.command()(run)
    app.command()(retry)
    app.command()(skip)
    app.command()(recover)


def run(
    context: typer.Context,
    datasets: Annotated[
        list[str] | None, typer.Argument(help="Only these datasets.", metavar="[DATASET]...")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write nothing: show what the next batches would do.")
    ] = False,
    format_: ResultFormat = ShortFormat.TABLE,
) -> None:
    """Apply all files that have landed, batch by batch, then compute the derived datasets that depend on what has changed,
    over all hops. Running again is always safe: nothing is applied twice.

    \b
    Example:
      lakebed --project shop run
      lakebed --project shop run demo.cities --format json
      lakebed --project shop run --dry-run
    """
    project = settings(context).load()
    quiet = format_ is ShortFormat.JSON
    if dry_run:
        _preview(project, datasets or None, spark_of(project, loads=True, quiet=quiet), quiet=quiet)
    _run(project, datasets or None, spark_of(project, loads=True, quiet=quiet), quiet=quiet)


def _run(
    project: Project, datasets: list[str] | None, spark: Callable[[], SparkSession], *, quiet: bool
) -> None:
    try:
        with progress(quiet=quiet) as shown:
            outcome = run_everything_due(project, datasets=datasets, progress=shown, spark=spark)
    except LakebedError as error:
        for said in sound(project, error):
            say(said)
        raise
    for said in (*sound(project, outcome), *(sound(project, outcome.trouble) if outcome.trouble else ())):
        say(said)
    if quiet:
        print(to_json(outcome.as_dict(), indent=2))  # noqa: T201
    else:
        _tell(outcome)
    if outcome.trouble:
        raise outcome.trouble
    raise typer.Exit(_code(outcome))


def _preview(
    project: Project, datasets: list[str] | None, spark: Callable[[], SparkSession], *, quiet: bool
) -> None:
    found = preview_project(project, datasets=datasets, spark=spark)
    if quiet:
        print(to_json({"project": project.name, "datasets": [one.as_dict() for one in found]}, indent=2))  # noqa: T201
    for one in found if not quiet else ():
        if one.number is None and one.error is None:
            say(f"{one.dataset}: nothing new")
            continue
        told = f"{one.dataset}: batch {one.number} from {files_text(one.files)} would be"
        if one.number is None:
            told = f"{one.dataset}: the next batch would be"
        if one.error is not None:
            say(f"{told} refused")
            show_error(one.error, as_json=False)
            continue
        say(f"{told}: {counted(one.report or {}) or 'no rows'}")
        for text in one.sample:
            print(harmless(text))  # noqa: T201
    raise typer.Exit(FAILED if any(one.error for one in found) else OK)


def _tell(outcome: DueOutcome) -> None:
    loaded = outcome.loaded
    for one in loaded.failed:
        assert one.error is not None
        one.error.where = one.error.where or one.dataset
        show_error(one.error, as_json=False)
    tell_pass(outcome.derived)
    batches = sum(len(one.batches) for one in loaded.datasets)
    failed = f", {len(loaded.failed)} of {len(loaded.datasets)} datasets failed" if loaded.failed else ""
    say(
        f"{loaded.project}: {batches} batch{'' if batches == 1 else 'es'} applied{failed}{pass_summary(outcome.derived)}"
    )


def _code(outcome: DueOutcome) -> int:
    """That of the errors, if they agree; any mixture is a failure."""
    codes = {exit_code(one.error) for one in outcome.failed if one.error}
    if not codes:
        return OK
    return codes.pop() if len(codes) == 1 else FAILED


def retry(
    context: typer.Context,
    name: DatasetName,
    format_: ResultFormat = ShortFormat.TABLE,
) -> None:
    """Try a batch again that failed and waits; then all that is new of its dataset.

    If its files were mended, replaced or removed, the batch is planned anew.

    \b
    Example:
      lakebed --project shop retry demo.cities
    """
    project = settings(context).load()
    quiet = format_ is ShortFormat.JSON
    spark = spark_of(project, loads=True, quiet=quiet)
    if retry_batch(project, name, spark=spark) is None and not quiet:
        say(f"{name}: no batch is waiting")
    _run(project, [name], spark, quiet=quiet)


def skip(
    context: typer.Context,
    name: DatasetName,
    format_: ResultFormat = ShortFormat.TABLE,
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


def recover(
    context: typer.Context,
    format_: ResultFormat = ShortFormat.TABLE,
) -> None:
    """Make a control store again that was lost, from the plans beside the tables and from the tables. A run does it by itself;
    this tells what was found, and applies nothing.

    \b
    Example:
      lakebed --project shop recover
    """
    project = settings(context).load()
    quiet = format_ is ShortFormat.JSON
    found = recover_store(project, spark=spark_of(project, short=True, quiet=quiet))
    if quiet:
        print(to_json({"project": project.name, "datasets": [one.as_dict() for one in found]}, indent=2))  # noqa: T201
    for one in found if not quiet else ():
        if one.error is not None:
            show_error(one.error, as_json=False)
            continue
        say(
            f"{one.dataset}: {one.batches} batches known, {one.applied} of them applied, {one.marked} newly marked as done"
        )
    raise typer.Exit(FAILED if any(one.error for one in found) else OK)
