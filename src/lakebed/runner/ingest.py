"""The way of a batch, from its source to a table. `ingest_batch` is the whole of it; each step is one call.

Why this order is the only right one: the plan is on the disk, twice, before anything is read, so a run that dies at any
point leaves either the batch not applied and its plan open, or the batch in the table. The table tells which (G1): the
next run takes the open plan, asks the table, and applies it or only marks it done.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from lakebed.control import RunState, open_store
from lakebed.errors import BatchError, LakebedError, SetupError, TransientError
from lakebed.manifest import Dataset, Project
from lakebed.runner.held import settle, told_of
from lakebed.runner.leases import Lease
from lakebed.runner.planning import check_plan, plan_next, renew_plan, take_over_plans
from lakebed.runner.report import BatchOutcome, DatasetOutcome, InTurn, Progress, RunOutcome, Silent
from lakebed.runner.work import Clock, Edges, Work, system_clock
from lakebed.sources.spark_errors import first_sentence, is_gone, is_spark_error

TRIES = 4
SIDE_BY_SIDE = 4
Result = TypeVar("Result")
PASSING = ("disk", "spark")  # codes of trouble that is not the batch's own


def ingest_batch(work: Work, lease: Lease) -> BatchOutcome | None:
    """Take the next batch of a dataset all the way, once; None if there is nothing to do."""
    left = work.store.open_batch(work.name)
    batch = left or plan_next(work)  # 1. what a run before left, else what is new
    if batch is None:
        return None
    plan, inputs = batch.plan, work.inputs_of(batch.plan)
    paths, notes = tuple(one.path for one in inputs), tuple[str, ...]()
    work.edges.progress.batch_started(work.name, plan.number, paths, len(work.backlog))
    work.plans.keep(plan)  # 2. the plan, beside the table
    if work.table.last_batch >= plan.number:  # 3. the table tells what is applied, not the store
        report, notes = settle(work, batch, told_of(work, plan.number)), work.told()
    else:
        if left is not None:
            check_plan(work, plan)
        lease.check()
        with work.source.errors():
            rows = work.read(inputs)  # 4. inputs → rows
            with _of_batch(f"{work.name}, batch {plan.number}", paths):
                done = work.table.apply(  # 5. rows → changes → write set → one commit
                    rows.frame,
                    batch=plan.number,
                    system_time=plan.system_time,
                    event_time=plan.event_time,
                    inputs=[one.as_dict() for one in plan.inputs],
                    immutable=work.source.immutable,
                    before_commit=lease.check,
                )
        report = done.as_dict()
        notes = (*rows.notes, *work.told(), *_lost_keys(work.name, report))
    version = report.get("version")
    work.store.finish_batch(
        work.name, plan.number, report=report, table_version=version
    )  # 6. done, and its event
    return BatchOutcome(work.name, plan.number, paths, report, bool(report.get("already_applied")), notes)


def ingest_dataset(work: Work) -> DatasetOutcome:
    """All that is new of one dataset, batch by batch. What fails stops this dataset and nothing else; what no further
    try would mend waits for a person. Where another run is at work already, it is left to that one."""
    work.edges.progress.dataset_started(work.name)
    with Lease.of(work.store, work.name) as lease:
        result = _ingest_all(work, lease) if lease.ours else DatasetOutcome(work.name, busy=True)
    work.edges.progress.dataset_finished(result)
    return result


def _ingest_all(work: Work, lease: Lease) -> DatasetOutcome:
    run, batches = work.store.start_run(work.name), list[BatchOutcome]()
    state: RunState = "failed"
    error: LakebedError | None = None
    once = partial(ingest_batch, work, lease)
    try:
        with ours(work.name):
            take_over_plans(work)
            refuse_waiting(work)
            renew_plan(work)
            while not work.edges.stopping() and (outcome := patiently(work, once)) is not None:
                batches.append(outcome)
                work.edges.progress.batch_finished(outcome)
        state = "done"
    except SetupError as failure:  # nobody else's batch would fare better
        error = failure
        raise
    except LakebedError as failure:
        error = failure
        _note_failure(work, failure)
    finally:  # also when the user has had enough
        work.store.finish_run(run, state, batches=len(batches), error=error.as_dict() if error else None)
    return DatasetOutcome(work.name, tuple(batches), error, notes=(*work.told(), *work.source.remarks()))


def refuse_waiting(work: Work) -> None:
    """A batch that failed for a reason of its own is not tried again and again: a person decides."""
    failed = work.store.failure(work.name)
    batch = work.store.open_batch(work.name)
    if failed is None or batch is None or batch.number != failed.number:
        return
    raise BatchError(
        f"batch {failed.number} waits since {failed.at:%Y-%m-%d %H:%M:%S}: {failed.error.get('what')}",
        code="waiting",
        where=work.name,
        hint=f"mend the source, then `lakebed retry {work.name}`; or leave its files out: `lakebed skip {work.name}`",
    )


def _note_failure(work: Work, failure: LakebedError) -> None:
    batch = work.store.open_batch(work.name)
    if isinstance(failure, BatchError) and batch is not None and failure.code not in (*PASSING, "waiting"):
        work.store.note_failure(work.name, batch.number, failure.as_dict())


def patiently(work: Work, do: Callable[[], Result]) -> Result:
    """One batch; after a passing trouble once more, from the start: the plan holds, and the table is opened anew. A file that
    turns out to be unreadable is such a trouble where it is set aside: the source knows it the next time."""
    for attempt in range(1, TRIES):
        try:
            return do()
        except TransientError:
            work.edges.pause(0.5 * 2**attempt)
            work.reopen()
    return do()


def _lost_keys(dataset: str, report: Mapping[str, Any]) -> Iterator[str]:
    """F3, G5: of a snapshot whose bad rows are set aside, some may be rows of the keys that it seems to lack."""
    rejected, deleted = report.get("rejected"), report.get("deleted")
    if rejected and deleted:
        yield (
            f"{rejected} bad rows were set aside, and {deleted} keys are gone: a key that cannot be read in its row counts as gone. "
            f"See `lakebed rejected {dataset}`; max_delete_fraction guards against too many"
        )


@contextmanager
def _of_batch(name: str, paths: Sequence[str]) -> Iterator[None]:
    """A batch that the table refuses is told by the names that a person knows: the dataset's, and those of its files."""
    try:
        yield
    except BatchError as error:
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        error.where = f"{name} from {paths[0]}{more}" if paths else name
        raise


@contextmanager
def ours(where: str) -> Iterator[None]:
    """Spark's errors and the disk's as ours: the first line names the trouble, the rest is in Spark's log. Also what nobody
    thought of, so that it stops this dataset and not the others."""
    try:
        yield
    except BrokenPipeError:  # whoever read our output has gone
        raise
    except ConnectionError as error:  # the control store's are translated where they happen
        raise _spark_failed("its process does not answer", where) from error
    except OSError as error:
        raise BatchError(
            f"{type(error).__name__}: {error.strerror or error}",
            code="disk",
            where=str(error.filename or where),
            hint="is there room, and may lakebed write there? Then run again: nothing is lost",
        ) from error
    except (UnicodeError, TypeError, ValueError, LookupError, AttributeError, RecursionError) as error:
        raise BatchError(
            f"{type(error).__name__}: {error}",
            code="unexpected",
            where=where,
            hint="this is a mistake of lakebed: please report it with the manifest; nothing was written",
        ) from error
    except Exception as error:
        if not is_spark_error(error):
            raise
        if is_gone(error):
            raise _spark_failed("its process does not answer", where) from error
        said = (str(error).strip().splitlines() or ["no reason given"])[0]
        if said.startswith("An error occurred while calling"):  # py4j's way of saying nothing
            said = first_sentence(error)
        raise _spark_failed(said, where) from error


def _spark_failed(said: str, where: str) -> BatchError:
    hint = "see Spark's log; running again is safe"
    return BatchError(f"Spark gave up: {said}", code="spark", where=where, hint=hint)


def chosen(project: Project, names: Sequence[str] | None) -> Sequence[Dataset]:
    """The datasets of these names, each once; all if none are given."""
    if names is None:
        return project.datasets
    return list({dataset.name: dataset for dataset in map(project.dataset, names)}.values())


def run_project(  # noqa: PLR0913 - the project, what of it, and the edges that a test replaces
    project: Project,
    *,
    datasets: Sequence[str] | None = None,
    now: Clock = system_clock,
    progress: Progress | None = None,
    spark: Callable[[], Any],
    edges: Edges | None = None,
    side_by_side: int = SIDE_BY_SIDE,
) -> RunOutcome:
    """Bring every dataset up to date (or those named), several at a time. Where nothing is new, `spark` is not called and
    no JVM starts."""
    told = InTurn(progress or Silent())
    edges, ended = edges or Edges(), threading.Event()
    asked = edges.stopping
    edges = replace(edges, spark=spark, now=now, progress=told, stopping=lambda: ended.is_set() or asked())
    with open_store(project.control, base=project.root, clock=now) as store:
        works = [Work.of(project, dataset, store, edges) for dataset in chosen(project, datasets)]
        if len(works) < 2 or side_by_side < 2:
            return RunOutcome(project.name, tuple(ingest_dataset(work) for work in works))
        pool = ThreadPoolExecutor(min(side_by_side, len(works)))
        try:
            return RunOutcome(project.name, tuple(pool.map(ingest_dataset, works)))
        finally:
            ended.set()  # after Ctrl-C, no dataset begins another batch
            pool.shutdown(wait=False, cancel_futures=True)
