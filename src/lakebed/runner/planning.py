"""Which batch a dataset takes next: decided once, kept in the store and beside the table, then carried out."""

from __future__ import annotations

from collections.abc import Sequence

from lakebed.control import Batch, BatchPlan, Input
from lakebed.errors import BatchError, ConflictError, TableError
from lakebed.runner.work import Work
from lakebed.sources import FoundFile, batch_time, find_files, near_misses, next_files

SETTLED_SECONDS = 1.0


def plan_next(work: Work) -> Batch | None:
    """Decide the next batch and keep the decision. Of two runs that plan at once one plan wins, and both carry it out."""
    plan = next_plan(work)
    return None if plan is None else work.store.plan_batch(plan)


def next_plan(work: Work) -> BatchPlan | None:
    """The plan of the next batch, kept nowhere yet; None if nothing is new."""
    files = next_files(work.dataset, work.backlog) or next_files(work.dataset, _look_again(work))
    if not files:
        return None
    work.backlog = [one for one in work.backlog if one not in files]
    last = work.store.last_batch(work.name)
    number = last.number + 1 if last else 1
    _refuse_unknown_batches(work, number)
    now = work.edges.now()
    return BatchPlan(
        dataset=work.name,
        number=number,
        inputs=tuple(_input(one) for one in files),
        system_time=max(now, last.plan.system_time) if last else now,  # G2: it never goes back
        event_time=batch_time(work.dataset, files),
    )


def _look_again(work: Work) -> list[FoundFile]:
    """What is new in the landing folder; kept for the batches to come, so that a run lists the folder only now and then."""
    new = _new(work, find_files(work.landing, work.dataset))
    young = [one for one in new if _age(work, one) < SETTLED_SECONDS]
    if young:  # somebody may still be writing: look twice, and leave what has changed in between for later
        work.edges.pause(SETTLED_SECONDS)
        now = {one.path: one for one in find_files(work.landing, work.dataset)}
        new = [one for one in new if now.get(one.path) == one]
    work.backlog = _without_changed(work, new)
    return work.backlog


def _new(work: Work, landed: Sequence[FoundFile]) -> list[FoundFile]:
    new = work.store.not_taken(work.name, [_input(one) for one in landed])
    return [FoundFile(**one.as_dict()) for one in new]


def _age(work: Work, file: FoundFile) -> float:
    return work.edges.now().timestamp() - file.modified_ns / 1e9


def _without_changed(work: Work, new: list[FoundFile]) -> list[FoundFile]:
    """A file that was taken before and is another one now: as `on_changed_file` says."""
    taken = work.store.taken_paths(work.name, [one.path for one in new])
    changed, rule = [one for one in new if one.path in taken], work.dataset.source.on_changed_file
    if not changed or rule == "reload":
        return new
    if rule == "ignore":
        work.notes += [
            f"{one.path} has changed since batch {taken[one.path]} took it: left out" for one in changed
        ]
        return [one for one in new if one.path not in taken]
    first = changed[0].path
    raise BatchError(
        f"{len(changed)} files have changed since they were taken: {first} is in batch {taken[first]}",
        code="changed_file",
        where=work.name,
        hint="put the old files back; or set source.on_changed_file to reload (take them again) or ignore",
        sample=[one.path for one in changed[:3]],
    )


def misnamed(work: Work) -> list[str]:
    """Notes on files that nearly have the dataset's pattern."""
    return [f"not taken: {text}" for text in near_misses(work.landing, work.dataset)]


def _input(file: FoundFile) -> Input:
    return Input(file.path, file.size, file.modified_ns)


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
    for inputs in work.plans.skipped():
        work.store.skip_inputs(work.name, inputs)
