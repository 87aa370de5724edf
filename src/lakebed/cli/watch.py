"""`lakebed watch`: a run whenever something lands."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from lakebed.cli.failures import FAILED, OK, show_error
from lakebed.cli.output import say
from lakebed.cli.passes import tell_pass
from lakebed.cli.progress import progress
from lakebed.cli.settings import settings
from lakebed.cli.spark import end_spark, spark_of
from lakebed.control import open_store
from lakebed.errors import LakebedError
from lakebed.runner import (
    DueOutcome,
    Edges,
    RunOutcome,
    anything_new,
    anything_to_derive,
    derive_project,
    run_project,
    sound,
)
from lakebed.runner.leases import Lease
from lakebed.runner.templates import filled_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from lakebed.manifest import Project

WATCHING = "(watch)"  # no dataset can be called so


def add_to(app: typer.Typer) -> None:
    app.command()(watch)


def watch(
    context: typer.Context,
    every: Annotated[
        float, typer.Option(help="How many seconds to wait between two looks.", min=0.1, metavar="SECONDS")
    ] = 2.0,
) -> None:
    """Keep running: apply files as they land, and compute what depends on a table whenever it has changed. Ends after the
    batch or run that is under way on Ctrl-C or SIGTERM.

    \b
    Example:
      lakebed --project shop watch
    """
    project = settings(context).as_written()
    stop = threading.Event()
    told: set[str] = set()

    def ask_to_stop(_signal: int, _frame: FrameType | None) -> None:
        stop.set()

    with open_store(project.control, base=project.root) as store, Lease.of(store, WATCHING) as lease:
        if not lease.ours:
            say("another `lakebed watch` is at work on this project")
            raise typer.Exit(FAILED)
        spark = spark_of(project, loads=True)
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, ask_to_stop)
        say(f"{project.name}: watching {project.landing}, every {every:g} seconds")
        while not stop.is_set():
            _look(project, spark, stop, told)
            for name in (signal.SIGTERM, signal.SIGINT):  # starting Spark takes them away
                signal.signal(name, ask_to_stop)
            stop.wait(every)
    say(f"{project.name}: stopped")
    end_spark()
    raise typer.Exit(OK)


def _look(written: Project, spark: Callable[[], SparkSession], stop: threading.Event, told: set[str]) -> None:
    """One look at the landing folder and at the tables' commits. Whatever goes wrong is said, and looked at again the next time;
    `told` keeps the notes on paths that were said before."""
    try:
        project, notes = filled_in(written, spark)
        for note in notes:
            if note not in told:
                say(note)
        told.update(notes)
        names = anything_new(project, spark=spark)
        if not names and not anything_to_derive(project, spark=spark):
            return
        edges = Edges(stopping=stop.is_set)
        with progress(quiet=False) as shown:
            loaded = RunOutcome(project.name, ())
            if names:
                loaded = run_project(project, datasets=names, progress=shown, spark=spark, edges=edges)
            derived = derive_project(project, progress=shown, spark=spark, edges=edges)
        outcome = DueOutcome(loaded, derived)
        for one in loaded.failed:
            assert one.error is not None
            show_error(one.error, as_json=False)
        tell_pass(derived)
        for said in sound(project, outcome):
            say(said)
    except LakebedError as error:
        show_error(error, as_json=False)
