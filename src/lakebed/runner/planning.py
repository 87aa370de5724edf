"""Which batch a dataset takes next: decided once, kept in the store and beside the table, then carried out."""

from __future__ import annotations

from datetime import timedelta

from lakebed.control import Batch, BatchPlan, Input
from lakebed.errors import BatchError, ConflictError, TableError
from lakebed.manifest import Snapshot
from lakebed.runner.held import lost_plan
from lakebed.runner.work import Work
from lakebed.sources import Input as Found

LOOK_AGAIN = timedelta(seconds=10)


def plan_next(work: Work) -> Batch | None:
    """Decide the next batch and keep the decision. Of two runs that plan at once one plan wins, and both carry it out."""
    plan = next_plan(work)
    return None if plan is None else work.store.plan_batch(plan)


def next_plan(work: Work) -> BatchPlan | None:
    """The plan of the next batch, kept nowhere yet; None if nothing is new."""
    batch = _from_backlog(work) or work.source.next_batch(_look_again(work))
    if not batch:
        return None
    last = work.store.last_batch(work.name)
    number = last.number + 1 if last else 1
    _refuse_unknown_batches(work, number)
    _refuse_missing_batches(work, number)
    # It may be long since the look: Spark had to start, or there was a long backlog.
    if not _is_as_found(work, batch):
        batch = work.source.next_batch(_look_again(work))
        if not batch:
            return None
    work.backlog = _without(work.backlog, batch)
    now = work.edges.now()
    return BatchPlan(
        dataset=work.name,
        number=number,
        inputs=tuple(_input(one) for one in batch),
        system_time=max(now, last.plan.system_time) if last else now,  # G2: it never goes back
        event_time=work.source.event_time(batch),
    )


def _look_again(work: Work) -> list[Found]:
    """What is new and may be taken; kept for the batches to come, so that a run looks only now and then."""
    look = work.look()
    work.looked_at = work.edges.now()
    work.backlog = work.source.ready(work.source.new(look), look)
    return work.backlog


def _from_backlog(work: Work) -> list[Found]:
    """The next batch of what the last look found; none where an earlier snapshot may have landed since, which would come before it."""
    old = work.looked_at is None or work.edges.now() - work.looked_at >= LOOK_AGAIN
    if old and isinstance(work.dataset.feed, Snapshot):
        return []
    return work.source.next_batch(work.backlog)


def _is_as_found(work: Work, batch: list[Found]) -> bool:
    """Whether the files of a batch are still those that were found, and all of their snapshot."""
    try:
        work.source.check(batch)
    except BatchError as error:
        if error.code != "input_changed":
            raise
        return False
    return True


def _without(backlog: list[Found], batch: list[Found]) -> list[Found]:
    """The backlog is long, and a batch is mostly its beginning."""
    if backlog[: len(batch)] == batch:
        return backlog[len(batch) :]
    taken = set(batch)
    return [one for one in backlog if one not in taken]


def _input(one: Found) -> Input:
    return Input(one.path, one.size, one.modified_ns)


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
        hint=f"if the control store was lost, `lakebed recover` makes it again from the plans in {work.plans.place}; if those are lost, "
        "restore them; if something else writes this table, name another dataset",
    )


def _refuse_missing_batches(work: Work, number: int) -> None:
    """The files of batches that the table lacks count as taken: they would never come into it."""
    held = work.table.last_batch
    if held + 1 >= number:
        return
    raise TableError(
        f"the control store tells of {number - 1} batches, and the table holds {held or 'none'}",
        code="missing_batches",
        where=work.name,
        hint="was the table removed, or is this the control store of another project or profile? Bring the table back, or name another "
        f"`control`; to load from the start, remove all tables of the dataset, {work.plans.place} and the control store, "
        "which the next run makes again for the other datasets",
    )


def check_plan(work: Work, plan: BatchPlan) -> None:
    """Refuse a plan that a run before left, where its inputs are no longer those, or where the manifest of now would make another
    batch of them. It is not planned anew without being asked: that run's Spark may still be committing it."""
    _refuse_missing_batches(work, plan.number)
    inputs = work.inputs_of(plan)
    work.source.check(inputs)
    if work.source.next_batch(inputs) == inputs and work.source.event_time(inputs) == plan.event_time:
        return
    raise BatchError(
        f"by the manifest of now, the files of batch {plan.number} would be another batch, or have another time, than planned",
        code="input_changed",
        where=work.name,
        hint=f"let the batch be planned anew: `lakebed retry {work.name}`; or put back what the manifest said",
    )


def renew_plan(work: Work) -> None:
    """A plan that a run before left open, where its inputs say something else by now: it is planned anew, for the moment of now.
    If another run is still carrying it out, its rows are of the same source, and nothing is lost but a moment's exactness."""
    batch = work.store.open_batch(work.name)
    if batch is None or work.source.immutable or work.table.last_batch >= batch.number:
        return
    work.plans.drop(batch.number)
    work.store.drop_plan(work.name, batch.number)


def take_over_plans(work: Work) -> None:
    """Plans that are beside the table and not in the store: it was lost, or is older. They hold, and come first."""
    last = work.store.last_batch(work.name)
    for number, plan in enumerate(
        work.plans.after(last.number if last else 0), last.number + 1 if last else 1
    ):
        if plan.number != number:
            raise lost_plan(work, number, "`lakebed recover` asks the table's own commits")
        work.store.plan_batch(plan)
    for inputs in work.plans.skipped():
        work.store.skip_inputs(work.name, inputs)
