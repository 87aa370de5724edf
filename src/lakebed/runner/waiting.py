"""A dataset that waits for a person: its batch tried again, or left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from lakebed.control import Batch, open_store
from lakebed.errors import BatchError, TableError
from lakebed.manifest import Project
from lakebed.runner.ingest import ours
from lakebed.runner.leases import Lease
from lakebed.runner.planning import check_plan
from lakebed.runner.work import Edges, Work

Start = Callable[[], Any]


def retry(project: Project, name: str, *, spark: Start, edges: Edges | None = None) -> int | None:
    """Let the next run try the open batch of a dataset again; gives its number, None if no batch waits.

    As it was planned; or, where its files have changed, are gone or have become more, or the manifest would make another batch of
    them, planned anew, its number free again (G1). Refused
    where the table holds the batch, and while another run is at work on the dataset.
    """
    with _alone(project, name, spark, edges) as (work, batch):
        store = work.store
        if batch is None:
            return None
        if not _as_planned(work, batch):
            _refuse_applied(work, batch)
            work.plans.drop(batch.number)
            store.drop_plan(work.name, batch.number)
        store.clear_failure(work.name)
        return batch.number


def skip(project: Project, name: str, *, spark: Start, edges: Edges | None = None) -> tuple[str, ...] | None:
    """Leave the files of the open batch out for good; gives their paths, None if no batch waits. Its number is free again.
    Refused where the table holds the batch, and while another run is at work on the dataset. A crash between the two writes
    leaves the plan open: skip again."""
    with _alone(project, name, spark, edges) as (work, batch):
        if batch is None:
            return None
        _refuse_applied(work, batch)
        work.plans.skip(batch.number)
        return tuple(one.path for one in work.store.skip_batch(work.name, batch.number))


@contextmanager
def _alone(
    project: Project, name: str, spark: Start, edges: Edges | None
) -> Iterator[tuple[Work, Batch | None]]:
    """The dataset and its open batch, while nobody else works on it."""
    with open_store(project.control, base=project.root) as store:
        work = Work.of(project, project.dataset(name), store, replace(edges or Edges(), spark=spark))
        with Lease.of(store, work.name) as lease:
            lease.demand(work.name)
            yield work, store.open_batch(work.name)


def _as_planned(work: Work, batch: Batch) -> bool:
    try:
        check_plan(work, batch.plan)
    except BatchError:
        return False
    return True


def _refuse_applied(work: Work, batch: Batch) -> None:
    """Whoever was given up has committed it after all: nobody need wait for it any longer."""
    with ours(work.name):
        if work.table.last_batch >= batch.number:
            work.store.clear_failure(work.name)
            hint = "run again: the batch will be marked done"
            raise TableError(f"batch {batch.number} is in the table already", where=work.name, hint=hint)
