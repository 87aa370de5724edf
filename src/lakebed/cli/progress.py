"""How far a run is: a bar for each dataset on a terminal, plain lines anywhere else. All on standard error."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lakebed.cli.output import COUNTERS, harmless, say
from lakebed.dependencies import Cause, Run
from lakebed.dependencies.events import WHOLE_TABLE
from lakebed.runner import BatchOutcome, BothProgress, DatasetOutcome, DerivedOutcome, NobodyWatches, Silent

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID


class Lines:
    """One line per batch, and one per dataset without any."""

    def dataset_started(self, dataset: str) -> None: ...

    def batch_started(self, dataset: str, number: int, files: Sequence[str], left: int) -> None: ...

    def batch_finished(self, outcome: BatchOutcome) -> None:
        say(batch_line(outcome))
        for note in outcome.notes:
            say(f"  note: {note}")

    def dataset_finished(self, outcome: DatasetOutcome) -> None:
        if outcome.state == "idle":
            say(f"{outcome.dataset}: nothing new")
        elif outcome.state == "busy":
            say(f"{outcome.dataset}: another run is at work on it; left to that one")
        for note in outcome.notes:
            say(f"  note: {note}")

    def run_started(self, run: Run) -> None: ...

    def run_finished(self, outcome: DerivedOutcome) -> None:
        say(run_line(outcome))


class Quiet(Silent, NobodyWatches):
    """Nothing at all."""


class Moving(Lines):
    """The same, and below the lines what is being done right now: of each dataset its files and rows so far."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}
        self._rows: Counter[str] = Counter()

    def dataset_started(self, dataset: str) -> None:
        self._begin(dataset, "looking for new files")

    def batch_started(self, dataset: str, number: int, files: Sequence[str], left: int) -> None:
        task = self._tasks[dataset]
        done = next(one.completed for one in self._bars.tasks if one.id == task)
        now = f"{self._rows[dataset]:,} rows; batch {number}, {files_text(files)}"
        self._bars.update(task, total=done + len(files) + left, now=harmless(now))

    def batch_finished(self, outcome: BatchOutcome) -> None:
        super().batch_finished(outcome)
        self._rows[outcome.dataset] += int(outcome.report.get("read") or 0)
        now = f"{self._rows[outcome.dataset]:,} rows"
        self._bars.update(self._tasks[outcome.dataset], advance=len(outcome.files), now=now)

    def dataset_finished(self, outcome: DatasetOutcome) -> None:
        self._end(outcome.dataset)
        super().dataset_finished(outcome)

    def run_started(self, run: Run) -> None:
        self._begin(_of_run(run), "computing")

    def run_finished(self, outcome: DerivedOutcome) -> None:
        self._end(_of_run(outcome.run))
        super().run_finished(outcome)

    def _begin(self, what: str, now: str) -> None:
        self._tasks[what] = self._bars.add_task(harmless(what), total=None, now=now)

    def _end(self, what: str) -> None:
        if (task := self._tasks.pop(what, None)) is not None:
            self._bars.remove_task(task)


def _of_run(run: Run) -> str:
    return f"{run.dataset} {run.partition or '(whole table)'}"


@contextmanager
def progress(*, quiet: bool) -> Iterator[BothProgress]:
    """The progress that suits where standard error goes."""
    if quiet:
        yield Quiet()
    elif not sys.stderr.isatty():
        yield Lines()
    else:
        with _bars() as bars:
            yield Moving(bars)


def _bars() -> Bars:
    """A line for each thing that is under way: its name, a bar, how many files of how many, and what it is at."""
    from rich.console import Console  # noqa: PLC0415 - scripts need no rich
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[now]}", markup=False),
        console=Console(stderr=True),
        transient=True,
    )


def batch_line(outcome: BatchOutcome) -> str:
    """`demo.cities: batch 2 from 2024-01-02.csv: 2 read, 1 applied, 1 unchanged`."""
    start = f"{outcome.dataset}: batch {outcome.number} from {files_text(outcome.files)}"
    if outcome.already_applied:
        return f"{start}: was in the table already"
    return f"{start}: {counted(outcome.report) or 'no rows'}"


def run_line(outcome: DerivedOutcome) -> str:
    """`shop.weekly week=20220115: 7 rows in 1 file, version 3, because of shop.orders date=20220120`."""
    run = outcome.run
    start = _of_run(run)
    if outcome.state == "failed":
        return f"{start}: failed at step {outcome.failed_step}"
    files = f"{outcome.files} file{'' if outcome.files == 1 else 's'}"
    rows = f"{outcome.rows} row{'' if outcome.rows == 1 else 's'}"
    return f"{start}: {rows} in {files}, version {outcome.version}, because of {causes_text(run.causes)}"


def causes_text(causes: Sequence[Cause]) -> str:
    """The tables and partitions that made a run necessary, the first few of them."""
    told = [
        f"{cause.table} {partition}" if partition.values else cause.table
        for cause in causes
        for partition in cause.partitions or (WHOLE_TABLE,)
    ]
    told = list(dict.fromkeys(told))
    more = f" and {len(told) - 2} more" if len(told) > 2 else ""
    return ", ".join(told[:2]) + more


def counted(report: Mapping[str, Any]) -> str:
    """The counters of a report that are not zero."""
    return ", ".join(f"{report[name]} {name}" for name in COUNTERS if report.get(name))


def files_text(files: Sequence[str]) -> str:
    more = f" and {len(files) - 2} more" if len(files) > 2 else ""
    return ", ".join(files[:2]) + more
