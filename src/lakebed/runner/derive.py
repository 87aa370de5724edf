"""The way of a run, from its SQL to one commit of its target. `derive` is the whole of it; each step is one call.

Nothing but the commit counts: a run that dies before it leaves the target as it was and is found again by its causes, one
that dies after it is found in the target's log. So what the store knows of runs is for people only.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, partial
from typing import Any, TypeVar

from lakebed.control import ControlStore, DeadLetter
from lakebed.dependencies import Graph, Run
from lakebed.errors import DependencyError, LakebedError, SetupError, TransientError
from lakebed.manifest import Project
from lakebed.runner.derived_report import DerivedOutcome, NobodyWatches, RunProgress
from lakebed.runner.table_logs import TableLogs, note
from lakebed.runner.work import Edges
from lakebed.sources.spark_errors import is_gone
from lakebed.tables.data_commits import TableLog

TRIES = 3
_HOPELESS = ("AnalysisException", "ParseException")
Result = TypeVar("Result")


class StepError(Exception):
    """A step that failed for good: which (from 1), and why."""

    def __init__(self, step: int, why: LakebedError) -> None:
        super().__init__(why.what)
        self.step, self.why = step, why


@dataclass
class Derivation:
    """All that the runs of one pass share. `resume` tells for some runs at which step they failed before; `cascade`
    whether what they commit shall reach further."""

    project: Project
    graph: Graph
    store: ControlStore
    edges: Edges
    logs: TableLogs
    progress: RunProgress = field(default_factory=NobodyWatches)
    resume: dict[str, int] = field(default_factory=dict)
    cascade: bool = True
    abandoned: threading.Event = field(default_factory=threading.Event)
    """Set when the pass ends before its runs: what fails then says nothing about them."""

    @cached_property
    def spark(self) -> Any:
        """Started at the first need."""
        return self.edges.spark()

    def facts(self, run: Run) -> dict[str, Any]:
        """What a run's commit tells of itself: enough to know, from the table alone, what was handled."""
        return {
            "dataset": run.dataset,
            "partition": dict(run.partition.values) if run.partition else None,
            "write": run.write,
            "causes": [cause.as_dict() for cause in run.causes],
            "roots": list(run.roots),
            "cascade": self.cascade,
        }


def derive(work: Derivation, run: Run) -> DerivedOutcome:
    """One run, all the way, once. StepError tells the step at which it failed for good; the target is then as it was."""
    from lakebed.runner.steps import StepRunner  # noqa: PLC0415 - without a run, Spark is not even imported
    from lakebed.tables.catalog import Catalog  # noqa: PLC0415
    from lakebed.tables.derived import DerivedTable, Rows, Write  # noqa: PLC0415
    from lakebed.tables.staging import Staging  # noqa: PLC0415

    derived = work.graph.derived[run.dataset.lower()]
    table = DerivedTable(
        work.logs.folder(run.dataset), run.dataset, derived.partition_column, run.target.value
    )
    spark = work.edges.session(work.spark)  # 1. a session of its own: views and settings are this run's
    staging = Staging(spark, f"{table.path}__staging/{run.id}")
    steps = StepRunner(spark, Catalog(work.logs.warehouse, work.logs.versions), run, staging)
    failed_before, rows = work.resume.get(run.id, 1), list[tuple[int, Rows]]()
    try:
        for number, _ in enumerate(run.steps, start=1):  # 2. the steps, in order
            if number < failed_before and steps.is_committed(number):
                continue  # what it wrote to another table is there
            given = patiently(work, run, number, partial(steps.take, number))
            if given is not None:
                rows.append((number, given))
        if not rows:
            raise StepError(len(run.steps), _no_rows(run))
        write = Write(run.id, work.facts(run), run.write, derived.files)  # 3. one commit
        commit = patiently(
            work, run, rows[-1][0], lambda: table.write(spark, [one for _, one in rows], write)
        )
    finally:
        staging.clear()
    counts = {name: int(commit.metrics.get(name, 0)) for name in ("numOutputRows", "numFiles")}
    return DerivedOutcome(
        run,
        "done",
        version=commit.version,
        rows=counts["numOutputRows"],
        files=counts["numFiles"],
        rewrote=commit.rewrote,
    )


def patiently(work: Derivation, run: Run, number: int, do: Callable[[], Result]) -> Result:
    """D11. Once more after a failure, with growing pauses; what is wrong with the SQL itself stays wrong."""
    attempt = 1
    while True:
        try:
            return do()
        except SetupError:
            raise
        except Exception as error:
            if work.abandoned.is_set() or is_gone(error):
                raise _spark_is_gone(run) from error
            why = _explained(error, run, number)
            if attempt >= TRIES or isinstance(error, DependencyError) or type(error).__name__ in _HOPELESS:
                raise StepError(number, why) from error
            work.edges.pause(0.5 * 2**attempt)
            attempt += 1


def _spark_is_gone(run: Run) -> TransientError:
    """Not this run's trouble: the pass ends, and the next one begins with the same events."""
    what = "Spark's process does not answer"
    return TransientError(what, code="spark", where=run.dataset, hint="run again: nothing is lost")


def _explained(error: Exception, run: Run, number: int) -> LakebedError:
    step = run.steps[number - 1]
    where = f"{run.dataset} {run.partition or '(whole table)'}, step {number}"
    where += f" ({step.info})" if step.info else ""
    if isinstance(error, LakebedError):
        error.where = where
        return error
    said = (str(error).strip().splitlines() or ["no reason given"])[0]
    code = "sql" if type(error).__name__ in _HOPELESS else "spark"
    hint = "mend it, then `lakebed redrive`"
    return DependencyError(f"Spark refuses the step: {said}", code=code, where=where, hint=hint)


def _no_rows(run: Run) -> DependencyError:
    what = "no step gives rows to the table: none is a SELECT or an INSERT into it"
    return DependencyError(what, code="no_rows", where=run.dataset)


def carry_out(work: Derivation, run: Run) -> DerivedOutcome:
    """A run with all that is noted of it: when it begins, how it ends, and its dead letter if it fails for good."""
    if work.logs.done(run.dataset).holds(run):
        _resolve(work, run)
        return DerivedOutcome(run, "held")
    work.progress.run_started(run)
    log = TableLog.of(work.logs.folder(run.dataset))
    store, before = work.store.derived, log.newest if log else None
    steps = [{"db": step.db, "info": step.info, "sql": step.sql} for step in run.steps]
    number, began = store.start_run(run, steps), time.monotonic()
    try:
        outcome = replace(derive(work, run), seconds=time.monotonic() - began)
        _resolve(work, run)
    except StepError as failure:
        seconds = time.monotonic() - began
        outcome = DerivedOutcome(run, "failed", seconds, failed_step=failure.step, error=failure.why)
        store.bury(_letter(run, failure, work.edges.now()))
    store.finish_run(number, version_before=before, **_noted(outcome))
    work.progress.run_finished(outcome)
    return outcome


def _letter(run: Run, failure: StepError, now: datetime) -> DeadLetter:
    value, error = run.target.value, failure.why.as_dict()
    return DeadLetter(run.id, run.dataset, value, run.causes, failure.step, error, now)


def _noted(outcome: DerivedOutcome) -> dict[str, Any]:
    return {
        "state": outcome.state,
        "version": outcome.version,
        "rows": outcome.rows,
        "files": outcome.files,
        "failed_step": outcome.failed_step,
        "error": outcome.error.as_dict() if outcome.error else None,
    }


def _resolve(work: Derivation, run: Run) -> None:
    """What has been computed is no dead letter any more."""
    note(work.logs.done(run.dataset), {"run": run.id, **work.facts(run)})
    mine = {cause.event for cause in run.causes}
    for letter in work.store.derived.dead_letters():
        same = (letter.dataset.lower(), letter.partition) == (run.target.dataset, run.target.value)
        if letter.id == run.id or (
            same and letter.step is not None and {cause.event for cause in letter.causes} <= mine
        ):
            work.store.derived.discard(letter.id)
