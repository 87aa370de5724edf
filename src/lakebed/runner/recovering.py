"""A control store that was lost, made again from the plans beside the tables, and from the tables themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from lakebed.control import open_store
from lakebed.errors import LakebedError, SetupError
from lakebed.manifest import Project
from lakebed.runner.held import restore_plans, settle, told_by_table
from lakebed.runner.ingest import ours
from lakebed.runner.planning import take_over_plans
from lakebed.runner.work import Edges, Work


@dataclass(frozen=True)
class Recovered:
    """What is known of a dataset again."""

    dataset: str
    batches: int  # planned, in all
    applied: int  # of them in the table
    marked: int  # of those not known as done before
    error: LakebedError | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "batches": self.batches,
            "applied": self.applied,
            "marked": self.marked,
            "error": self.error.as_dict() if self.error else None,
        }


def recover(project: Project, *, spark: Callable[[], Any], edges: Edges | None = None) -> list[Recovered]:
    """Every plan that is beside a table is in the store again, and those that the table holds are done. A plan that was not
    carried out stays open: the next run takes it. Doing it twice changes nothing."""
    edges = replace(edges or Edges(), spark=spark)
    with open_store(project.control, base=project.root) as store:
        return [_tried(Work.of(project, dataset, store, edges)) for dataset in project.datasets]


def _tried(work: Work) -> Recovered:
    """A dataset that cannot be recovered says why, and the others are."""
    try:
        with ours(work.name):
            return _recover(work)
    except SetupError:
        raise
    except LakebedError as error:
        return Recovered(work.name, len(work.store.batches(work.name)), 0, 0, error)


def _recover(work: Work) -> Recovered:
    restore_plans(work)
    take_over_plans(work)
    batches, held = work.store.batches(work.name), work.table.last_batch
    open_ones = [batch for batch in batches if batch.state == "planned" and batch.number <= held]
    told = told_by_table(work) if open_ones else {}
    for batch in open_ones:
        work.store.finish_batch(work.name, batch.number, report=settle(work, batch, told.get(batch.number)))
    applied = sum(batch.number <= held for batch in batches)
    return Recovered(work.name, len(batches), applied, len(open_ones))
