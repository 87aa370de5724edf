"""What the table itself tells of the batches that it holds: each commit of the truth carries its batch, inputs and report (G10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lakebed.control import Batch, BatchPlan
from lakebed.errors import TableError
from lakebed.runner.work import Work

Facts = Mapping[str, Any]  # what a commit tells of its batch


def settle(work: Work, batch: Batch, facts: Facts | None) -> dict[str, Any]:
    """The report of a batch whose number the table holds, out of its commit (`facts`; None where the log no longer goes back so far).
    Where another run has committed other inputs under this number, after a person had dropped its plan, that is what the batch is
    from now on: the inputs of this plan are new again, and come with the next one. A crash in between leaves the batch open, and the
    next run settles it."""
    number, report = batch.number, {"batch": batch.number, "already_applied": True}
    if facts is None:
        return report
    plan = _plan(work, facts)
    if plan.inputs != batch.plan.inputs:
        work.plans.drop(number)
        work.store.replace_plan(plan)
        work.plans.keep(plan)
        work.backlog = []
        paths = ", ".join(one.path for one in plan.inputs[:3])
        work.notes.append(
            f"batch {number} is in the table with other files than planned ({paths}): a run that had been given up has "
            "committed it; the planned files come next"
        )
    return {**facts.get("report", {}), **report}


def _plan(work: Work, facts: Facts) -> BatchPlan:
    """The plan that a commit was made by. Raises `TableError` for a commit that no run has made."""
    try:
        plan = BatchPlan.from_dict({**facts, "dataset": work.name, "number": facts["batch"]})
    except (KeyError, TypeError, ValueError):
        plan = None
    if plan is None or not plan.inputs:
        raise TableError(
            f"batch {facts['batch']} in the table is not of files: something else than a run has written it",
            code="unknown_batches",
            where=work.name,
            hint="only one may write a table: name another dataset for the files, or leave the table to whoever writes it now",
        )
    return plan


def restore_plans(work: Work) -> None:
    """Beside the table there is a plan of every batch that it holds and the store does not know: those that were lost, from its commits. Raises
    `TableError` where these cannot tell; what was found until then is kept."""
    last = work.store.last_batch(work.name)
    known = last.number if last else 0
    plans = {plan.number for plan in work.plans.after(known)}
    newest = max([*plans, work.table.last_batch])
    lost = [number for number in range(known + 1, newest + 1) if number not in plans]
    told = told_by_table(work) if lost else {}
    for number in lost:
        if number not in told:
            raise lost_plan(work, number)
        work.plans.keep(_plan(work, told[number]))


def lost_plan(work: Work, number: int, *more: str) -> TableError:
    hint = f"restore what was in {work.plans.place} from a backup; or load the dataset from the start (docs/control-store.md)"
    return TableError(
        f"no plan of batch {number} is known, and later ones are",
        code="unknown_batches",
        where=work.name,
        hint="; ".join([*more, hint]),
    )


def told_by_table(work: Work) -> dict[int, Facts]:
    """What its commits tell of each batch, as far back as its log goes."""
    return {int(facts["batch"]): facts for facts in work.table.batches_told()}


def told_of(work: Work, number: int) -> Facts | None:
    """The same of one batch; a new one is found without reading the whole log."""
    return next((facts for facts in work.table.batches_told() if int(facts["batch"]) == number), None)
