"""Where every dataset stands: from the control store and the landing folder. No Spark."""

from __future__ import annotations

from lakebed.control import ControlStore, Input, open_store
from lakebed.manifest import Dataset, Project
from lakebed.runner.report import DatasetStatus
from lakebed.sources import find_files, local_folder


def pending_files(project: Project, dataset: Dataset, store: ControlStore) -> list[str]:
    """Files that have landed and are in no finished batch: those of an open plan, then the new ones."""
    open_batch = store.open_batch(dataset.name)
    planned = [one.path for one in open_batch.plan.inputs] if open_batch else []
    landed = find_files(local_folder(project.landing, setting="landing"), dataset)
    new = store.not_taken(dataset.name, [Input(one.path, one.size, one.modified_ns) for one in landed])
    return planned + [one.path for one in new if one.path not in planned]


def anything_new(project: Project) -> list[str]:
    """The datasets that a run would find something to do for: files wait, and no failed batch stands before them."""
    with open_store(project.control, base=project.root) as store:
        return [
            dataset.name
            for dataset in project.datasets
            if store.failure(dataset.name) is None and pending_files(project, dataset, store)
        ]


def status(project: Project) -> list[DatasetStatus]:
    with open_store(project.control, base=project.root) as store:
        return [_status(project, dataset, store) for dataset in project.datasets]


def _status(project: Project, dataset: Dataset, store: ControlStore) -> DatasetStatus:
    return DatasetStatus(
        dataset=dataset.name,
        last_batch=store.last_done(dataset.name),
        open_batch=store.open_batch(dataset.name),
        waiting=tuple(pending_files(project, dataset, store)),
        last_run=store.last_run(dataset.name),
    )
