"""Where every dataset stands: from the control store and a look at its source. No Spark, unless it is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lakebed.control import ControlStore, open_store
from lakebed.errors import LakebedError, SetupError
from lakebed.manifest import Dataset, Project
from lakebed.runner.ingest import ours
from lakebed.runner.report import DatasetStatus
from lakebed.runner.work import Edges, Work

Start = Callable[[], Any]


def pending_files(
    project: Project, dataset: Dataset, store: ControlStore, *, spark: Start | None = None
) -> list[str]:
    """Inputs that are in no finished batch: those of an open plan, then the new ones. Where only Spark could look, and it is
    not given, the new ones are not known."""
    edges = (
        Edges(spark=spark, session=lambda running: running) if spark else Edges()
    )  # a look needs none of its own
    work = Work.of(project, dataset, store, edges)
    open_batch = store.open_batch(dataset.name)
    planned = [one.path for one in open_batch.plan.inputs] if open_batch else []
    if work.source.needs_spark and spark is None:
        return planned
    with ours(work.name):
        new = work.source.new(work.look(asked=False))
    return planned + [one.path for one in new if one.path not in planned]


def anything_new(project: Project, *, spark: Start | None = None) -> list[str]:
    """The datasets that a run would find something to do for: inputs wait, and no failed batch stands before them."""
    with open_store(project.control, base=project.root) as store:
        return [
            dataset.name
            for dataset in project.datasets
            if store.failure(dataset.name) is None and _may_have_new(project, dataset, store, spark)
        ]


def _may_have_new(project: Project, dataset: Dataset, store: ControlStore, spark: Start | None) -> bool:
    """Also where its source cannot be looked at: a run tells why, and the other datasets go on."""
    try:
        return bool(pending_files(project, dataset, store, spark=spark))
    except SetupError:
        raise
    except LakebedError:
        return True


def status(project: Project) -> list[DatasetStatus]:
    with open_store(project.control, base=project.root) as store:
        return [_status(project, dataset, store) for dataset in project.datasets]


def _status(project: Project, dataset: Dataset, store: ControlStore) -> DatasetStatus:
    waiting, trouble = tuple[str, ...](), None
    try:
        waiting = tuple(pending_files(project, dataset, store))
    except LakebedError as error:
        trouble = error.what
    return DatasetStatus(
        dataset=dataset.name,
        last_batch=store.last_done(dataset.name),
        open_batch=store.open_batch(dataset.name),
        waiting=waiting,
        last_run=store.last_run(dataset.name),
        trouble=trouble,
    )
