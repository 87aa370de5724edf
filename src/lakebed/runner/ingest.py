"""The way of a batch, from landing files to a table. `ingest_batch` is the whole of it; each step is one call.

Why this order is the only right one: the plan is on the disk, twice, before anything is read, so a run that dies at any
point leaves either the batch not applied and its plan open, or the batch in the table. The table tells which (G1): the
next run takes the open plan, asks the table, and applies it or only marks it done.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lakebed.control import Batch, BatchPlan, ControlStore, Input, RunState, open_store
from lakebed.errors import BatchError, ConflictError, LakebedError, SetupError, TableError, TransientError
from lakebed.manifest import Dataset, Project
from lakebed.runner.plan_files import PlanFiles
from lakebed.runner.report import BatchOutcome, DatasetOutcome, Progress, RunOutcome, Silent
from lakebed.sources import FoundFile, event_time, find_files, local_folder, next_files, unchanged

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakebed.sources.formats import Rows

TRIES = 4
Clock = Callable[[], datetime]


class Table(Protocol):
    """What the runner needs of a table; `lakebed.table` has it."""

    @property
    def last_batch(self) -> int: ...
    @property
    def apply(self) -> Callable[..., Any]: ...


def open_table(spark: SparkSession, dataset: Dataset, path: Path) -> Table:
    """The dataset's table, as the library opens it."""
    from lakebed.table import table  # noqa: PLC0415  without anything new, Spark is not even imported

    partition_by = dataset.partition_by or ()
    return table(
        spark, str(path), feed=dataset.declared_feed, history=dataset.history, partition_by=partition_by
    )


def read_rows(spark: SparkSession, dataset: Dataset, root: Path, files: Sequence[FoundFile]) -> Rows:
    from lakebed.sources.formats import read_files  # noqa: PLC0415

    return read_files(spark, dataset, root, files)


def system_clock() -> datetime:
    return datetime.now(UTC)


def no_spark() -> Any:
    raise SetupError("this needs Spark, and the caller gave none")


@dataclass(frozen=True)
class Edges:
    """Where the runner meets the world; a test puts its own here. `spark` is called only when there is work."""

    spark: Callable[[], Any] = no_spark
    now: Clock = system_clock
    progress: Progress = field(default_factory=Silent)
    open_table: Callable[[Any, Dataset, Path], Table] = open_table
    read: Callable[[Any, Dataset, Path, Sequence[FoundFile]], Rows] = read_rows
    pause: Callable[[float], None] = time.sleep


@dataclass(frozen=True)
class Work:
    """One dataset in one run: all that its batches need."""

    dataset: Dataset
    store: ControlStore
    landing: Path
    path: Path
    edges: Edges

    @classmethod
    def of(cls, project: Project, dataset: Dataset, store: ControlStore, edges: Edges) -> Work:
        """The table lies at `<warehouse>/<database>/<table>`."""
        landing = local_folder(project.landing, setting="landing")
        warehouse = local_folder(project.warehouse, setting="warehouse")
        return cls(dataset, store, landing, warehouse.joinpath(*dataset.name.split(".")), edges)

    @property
    def name(self) -> str:
        return self.dataset.name

    @property
    def plans(self) -> PlanFiles:
        return PlanFiles.beside(self.path)

    @cached_property
    def table(self) -> Table:
        """Opened at the first need, for all batches: it notices by itself what others have committed since."""
        return self.edges.open_table(self.edges.spark(), self.dataset, self.path)


def ingest_batch(work: Work) -> BatchOutcome | None:
    """Take the next batch of a dataset all the way, once; None if there is nothing to do."""
    batch = work.store.open_batch(work.name) or plan_next(work)  # 1. what a run before left, else what is new
    if batch is None:
        return None
    plan, files = batch.plan, tuple(FoundFile(**one.as_dict()) for one in batch.plan.inputs)
    paths, notes = tuple(file.path for file in files), tuple[str, ...]()
    work.edges.progress.batch_started(work.name, plan.number, paths)
    work.plans.keep(plan)  # 2. the plan, beside the table
    if work.table.last_batch >= plan.number:  # 3. the table tells what is applied, not the store
        report: dict[str, Any] = {"batch": plan.number, "already_applied": True}
    else:
        unchanged(work.landing, files, dataset=work.name)
        rows = work.edges.read(work.edges.spark(), work.dataset, work.landing, files)  # 4. files → rows
        done = work.table.apply(  # 5. rows → changes → write set → one commit
            rows.frame,
            batch=plan.number,
            system_time=plan.system_time,
            event_time=plan.event_time,
            inputs=[one.as_dict() for one in plan.inputs],
            immutable=True,
        )
        report, notes = done.as_dict(), rows.notes
    version = report.get("version")
    work.store.finish_batch(
        work.name, plan.number, report=report, table_version=version
    )  # 6. done, and its event
    return BatchOutcome(work.name, plan.number, paths, report, bool(report.get("already_applied")), notes)


def plan_next(work: Work) -> Batch | None:
    """Decide the next batch and keep the decision. Of two runs that plan at once one plan wins, and both carry it out."""
    landed = [Input(one.path, one.size, one.modified_ns) for one in find_files(work.landing, work.dataset)]
    new = work.store.not_taken(work.name, landed)
    files = next_files(work.dataset, [FoundFile(**one.as_dict()) for one in new])
    if not files:
        return None
    last = work.store.last_batch(work.name)
    number = last.number + 1 if last else 1
    _refuse_unknown_batches(work, number)
    now = work.edges.now()
    plan = BatchPlan(
        dataset=work.name,
        number=number,
        inputs=tuple(Input(one.path, one.size, one.modified_ns) for one in files),
        system_time=max(now, last.plan.system_time) if last else now,  # G2: it never goes back
        event_time=event_time(work.dataset, files[0]),
    )
    return work.store.plan_batch(plan)


def _refuse_unknown_batches(work: Work, number: int) -> None:
    """A new plan whose number the table has already would be taken for applied, and its files for loaded."""
    held = work.table.last_batch
    if held < number:
        return
    last = work.store.last_batch(work.name)
    if last is not None and last.number >= held:
        raise ConflictError(f"another run has planned and applied batch {held} meanwhile", where=work.name)
    raise TableError(
        f"the table holds batch {held}, but no plan after batch {number - 1} is known",
        code="unknown_batches",
        where=work.name,
        hint=f"restore the plans in {work.plans.folder}; or, if something else writes this table, name another dataset",
    )


def take_over_plans(work: Work) -> None:
    """Plans that are beside the table and not in the store: it was lost, or is older. They hold, and come first."""
    last = work.store.last_batch(work.name)
    for plan in work.plans.after(last.number if last else 0):
        work.store.plan_batch(plan)


def ingest_dataset(work: Work) -> DatasetOutcome:
    """All that is new of one dataset, batch by batch. What fails stops this dataset and nothing else."""
    work.edges.progress.dataset_started(work.name)
    run, batches = work.store.start_run(work.name), list[BatchOutcome]()
    state: RunState = "failed"
    error: LakebedError | None = None
    try:
        with ours(work.name):
            take_over_plans(work)
            while (outcome := _patiently(work)) is not None:
                batches.append(outcome)
                work.edges.progress.batch_finished(outcome)
        state = "done"
    except SetupError as failure:  # nobody else's batch would fare better
        error = failure
        raise
    except LakebedError as failure:
        error = failure
    finally:  # also when the user has had enough
        work.store.finish_run(run, state, batches=len(batches), error=error.as_dict() if error else None)
    result = DatasetOutcome(work.name, tuple(batches), error)
    work.edges.progress.dataset_finished(result)
    return result


def _patiently(work: Work) -> BatchOutcome | None:
    """One batch; after a passing trouble once more, from the start: the plan holds, and the table is opened anew."""
    for attempt in range(1, TRIES):
        try:
            return ingest_batch(work)
        except TransientError:
            work.edges.pause(0.5 * 2**attempt)
            work = replace(work)
    return ingest_batch(work)


@contextmanager
def ours(where: str) -> Iterator[None]:
    """Spark's errors and the disk's as ours: the first line names the trouble, the rest is in Spark's log."""
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
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark.", "py4j.")):
            raise
        said = str(error).strip().splitlines() or ["no reason given"]
        raise _spark_failed(said[0], where) from error


def _spark_failed(said: str, where: str) -> BatchError:
    hint = "see Spark's log; running again is safe"
    return BatchError(f"Spark gave up: {said}", code="spark", where=where, hint=hint)


def run_project(
    project: Project,
    *,
    datasets: Sequence[str] | None = None,
    now: Clock = system_clock,
    progress: Progress | None = None,
    spark: Callable[[], Any],
    edges: Edges | None = None,
) -> RunOutcome:
    """Bring every dataset up to date (or those named). Where nothing is new, `spark` is not called and no JVM starts."""
    edges = replace(edges or Edges(), spark=spark, now=now, progress=progress or Silent())
    chosen = [project.dataset(name) for name in datasets] if datasets is not None else project.datasets
    with open_store(project.control, base=project.root, clock=now) as store:
        works = [Work.of(project, dataset, store, edges) for dataset in chosen]
        return RunOutcome(project.name, tuple(ingest_dataset(work) for work in works))


def replan(
    project: Project, name: str, *, spark: Callable[[], Any], edges: Edges | None = None
) -> int | None:
    """Set the open plan of a dataset aside, so that the next run looks at the files anew: for a planned file that was
    mended, or is gone. Its number is free again (G1). Refused where the table holds the batch; None if no plan is open.
    Only while nothing else runs this dataset: a run that is under way may still carry the old plan out."""
    with open_store(project.control, base=project.root) as store:
        work = Work.of(project, project.dataset(name), store, replace(edges or Edges(), spark=spark))
        batch = store.open_batch(work.name)
        if batch is None:
            return None
        with ours(work.name):
            if work.table.last_batch >= batch.number:
                hint = "run again: the batch will be marked done"
                raise TableError(f"batch {batch.number} is in the table already", where=work.name, hint=hint)
            work.plans.drop(batch.number)
        store.drop_plan(work.name, batch.number)
        return batch.number
