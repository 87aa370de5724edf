"""`lakebed watch`: a run whenever something lands."""

from __future__ import annotations

import signal
import threading
import time
from dataclasses import dataclass, field, replace
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
    run_project,
    sound,
)
from lakebed.runner.everything_due import derived_or_trouble
from lakebed.runner.ingest import ours
from lakebed.runner.leases import Lease
from lakebed.runner.templates import filled_in

if TYPE_CHECKING:
    from lakebed.cli.spark import Spark
    from lakebed.manifest import Project

WATCHING = "(watch)"  # no dataset can be called so
SHORTEST_PAUSE, LONGEST_PAUSE = 2.0, 60.0
DEATHS = 3  # of Spark, one soon after the other and nothing done in between, after which a watch gives up
SOON = 600.0


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
    stop, told = threading.Event(), Told()

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
            if not lease.ours:
                say(
                    "another `lakebed watch` has taken over, since this one could not reach the control store"
                )
                raise typer.Exit(FAILED)
            if spark.has_died:
                _bury(project, spark, told)
            _look(project, spark, stop, told)
            stop.wait(every)
    say(f"{project.name}: stopped")
    end_spark()
    raise typer.Exit(OK)


@dataclass(frozen=True)
class Failing:
    """How a dataset failed the last time, and when it is tried again."""

    code: str
    what: str
    pause: float
    until: float


@dataclass
class Told:
    """What was said before, so that it is not said again at every look: notes on paths, how datasets fail, and what a whole look
    ended with. A dataset that fails in the same way again is tried less and less often, at least once a minute."""

    notes: set[str] = field(default_factory=set)
    failing: dict[str, Failing] = field(default_factory=dict)
    trouble: str | None = None
    deaths: list[float] = field(default_factory=list)  # when Spark died, with nothing done since

    def due(self, dataset: str, now: float) -> bool:
        return dataset not in self.failing or self.failing[dataset].until <= now

    def learns(self, outcome: RunOutcome, now: float) -> RunOutcome:
        """The same without the failures that were told."""
        fresh = []
        for one in outcome.datasets:
            before, error = self.failing.pop(one.dataset, None), one.error
            if error is None:
                fresh.append(one)
                continue
            alike = before is not None and (before.code, before.what) == (error.code, error.what)
            pause = min(LONGEST_PAUSE, 2 * before.pause) if before and alike else SHORTEST_PAUSE
            self.failing[one.dataset] = Failing(error.code, error.what, pause, now + pause)
            if not alike:
                fresh.append(one)
        return replace(outcome, datasets=tuple(fresh))

    def learns_death(self, now: float) -> int:
        """Spark has died: how often that makes in a row. What failed is due at once, since it may have failed only for that."""
        self.deaths = [*self.deaths, now] if self.deaths and now - self.deaths[-1] < SOON else [now]
        self.failing = {name: replace(one, until=now) for name, one in self.failing.items()}
        return len(self.deaths)


def _bury(project: Project, spark: Spark, told: Told) -> None:
    """Goes on with a new Spark at the next need, or gives up where that would only die again."""
    deaths = told.learns_death(time.monotonic())
    if deaths >= DEATHS:
        error = LakebedError(
            f"Spark's process has ended {deaths} times in a row with no batch done",
            code="spark_ended",
            hint="see Spark's log: most often there is too little memory, for it (spark.driver.memory) or on this machine; "
            "then start again: nothing is lost",
        )
        for said in sound(project, error):
            say(said)
        raise error
    spark.forget()
    say("Spark's process has ended: a new one is started when something is to be done")


def _look(written: Project, spark: Spark, stop: threading.Event, told: Told) -> None:
    """One look at the landing folder and at the tables' commits. Whatever goes wrong is said, and looked at again the next time."""
    try:
        with ours(written.name):
            project, notes = filled_in(written, spark)
            for note in notes:
                if note not in told.notes:
                    say(note)
            told.notes.update(notes)
            names = [name for name in anything_new(project, spark=spark) if told.due(name, time.monotonic())]
            if names or anything_to_derive(project, spark=spark):
                _work(project, names, spark, stop, told)
        told.trouble = None
    except LakebedError as error:
        if str(error) != told.trouble:
            show_error(error, as_json=False)
            for said in sound(written, error):
                say(said)
        told.trouble = str(error)


def _work(project: Project, names: list[str], spark: Spark, stop: threading.Event, told: Told) -> None:
    """Loads these datasets and computes what is due. What became of the load is told also where the computing breaks off."""
    edges, loaded = Edges(stopping=stop.is_set), RunOutcome(project.name, ())
    with progress(quiet=False) as shown:
        if names:
            loaded = run_project(project, datasets=names, progress=shown, spark=spark, edges=edges)
        derived, trouble = derived_or_trouble(project, progress=shown, spark=spark, edges=edges)
    if derived.done or any(one.batches for one in loaded.datasets):
        told.deaths = []
    loaded = told.learns(loaded, time.monotonic())
    for one in loaded.failed:
        assert one.error is not None
        show_error(one.error, as_json=False)
    tell_pass(derived)
    for said in sound(project, DueOutcome(loaded, derived, trouble)):
        say(said)
    if trouble is not None:
        raise trouble
