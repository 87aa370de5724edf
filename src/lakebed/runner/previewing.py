"""What the next run would do: the next batch of each dataset, computed and not written."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from lakebed.control import BatchPlan, open_store
from lakebed.errors import LakebedError
from lakebed.manifest import Project
from lakebed.runner.ingest import chosen, ours, patiently, refuse_waiting
from lakebed.runner.planning import next_plan
from lakebed.runner.work import Clock, Edges, Work, system_clock
from lakebed.sources import Input


@dataclass(frozen=True)
class BatchPreview:
    """The next batch of a dataset: what would become of its rows, or why it would be refused. `number` is None where
    nothing is new."""

    dataset: str
    number: int | None = None
    files: tuple[str, ...] = ()
    report: dict[str, Any] | None = None
    sample: tuple[str, ...] = ()
    error: LakebedError | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "batch": self.number,
            "files": list(self.files),
            "report": self.report,
            "sample": [json.loads(text) for text in self.sample],
            "error": self.error.as_dict() if self.error else None,
        }


def preview_project(
    project: Project,
    *,
    datasets: Sequence[str] | None = None,
    spark: Callable[[], Any],
    now: Clock = system_clock,
    edges: Edges | None = None,
) -> list[BatchPreview]:
    """One preview per dataset; only of the next batch, since those after it build on it."""
    edges = replace(edges or Edges(), spark=spark, now=now)
    with open_store(project.control, base=project.root, clock=now) as store:
        return [_preview(Work.of(project, dataset, store, edges)) for dataset in chosen(project, datasets)]


def _preview(work: Work) -> BatchPreview:
    shown = BatchPreview(work.name)
    try:
        with ours(work.name):
            batch = work.store.open_batch(work.name)
            if batch is not None:
                shown = replace(
                    shown, number=batch.number, files=tuple(one.path for one in batch.plan.inputs)
                )
                refuse_waiting(work)
            plan = batch.plan if batch is not None else next_plan(work)
            if plan is None:
                return shown
            inputs = work.inputs_of(plan)
            shown = replace(shown, number=plan.number, files=tuple(one.path for one in inputs))
            found = patiently(work, partial(_computed, work, plan, inputs))
            return replace(shown, report=found.report.as_dict(), sample=found.sample)
    except LakebedError as error:
        return replace(shown, error=error)


def _computed(work: Work, plan: BatchPlan, inputs: Sequence[Input]) -> Any:
    work.source.check(inputs)
    with work.source.errors():
        rows = work.read(inputs)
        return work.table.preview(
            rows.frame, batch=plan.number, system_time=plan.system_time, event_time=plan.event_time
        )
