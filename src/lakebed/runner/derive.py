"""The way of a run, from its SQL to one commit of its target. `derive` is the whole of it; each step is one call.

Nothing but the commit counts: a run that dies before it leaves the target as it was and is found again by its causes, one
that dies after it is found in the target's log. So what the store knows of runs is for people only.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from lakebed.control import ControlStore, DeadLetter
from lakebed.dependencies import Graph, Run
from lakebed.errors import DependencyError, LakebedError, SetupError, TransientError
from lakebed.manifest import Project
from lakebed.runner.derived_report import DerivedOutcome, NobodyWatches, RunProgress
from lakebed.runner.table_logs import TableLogs, note
from lakebed.runner.work import Edges
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
        for number in range(
            1, len(run.steps) + 1
        ):  # 2. the steps, in order; those that wrote before are not repeated
            if number < failed_before and steps.is_committed(number):
                continue
            given = _patiently(work, run, number, lambda number=number: steps.take(number))  # type: ignore[misc]
            if given is not None:
                rows.append((number, given))
        if not rows:
            raise StepError(len(run.steps), _no_rows(run))
        write = Write(run.id, work.facts(run), run.write, derived.files)  # 3. one commit
        commit = _patiently(
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


def _patiently(work: Derivation, run: Run, number: int, do: Callable[[], Result]) -> Result:
    """D11. Once more after a failure, with growing pauses; what is wrong with the SQL itself stays wrong."""
    attempt = 1
    while True:
        try:
            return do()
        except SetupError:
            raise
        except Exception as error:
            if work.abandoned.is_set() or _is_gone(error):
                raise _spark_is_gone(run) from error
            why = _explained(error, run, number)
            if attempt >= TRIES or isinstance(error, DependencyError) or type(error).__name__ in _HOPELESS:
                raise StepError(number, why) from error
            work.edges.pause(0.5 * 2**attempt)
            attempt += 1


def _is_gone(error: Exception) -> bool:
    return isinstance(error, ConnectionError) or type(error).__name__ == "Py4JNetworkError"


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
        outcome = derive(work, run)
    except StepError as failure:
        letter = DeadLetter(
            run.id,
            run.dataset,
            run.target.value,
            run.causes,
            failure.step,
            failure.why.as_dict(),
            work.edges.now(),
        )
        store.bury(letter)
        store.finish_run(
            number,
            state="failed",
            failed_step=failure.step,
            error=failure.why.as_dict(),
            version_before=before,
        )
        outcome = DerivedOutcome(
            run, "failed", time.monotonic() - began, failed_step=failure.step, error=failure.why
        )
    else:
        store.finish_run(
            number,
            state="done",
            version_before=before,
            version=outcome.version,
            rows=outcome.rows,
            files=outcome.files,
        )
        _resolve(work, run)
    work.progress.run_finished(outcome)
    return outcome


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
