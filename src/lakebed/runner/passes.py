"""A pass over the derived datasets: events in, runs side by side, and what came of them kept (D10, D11).

What a pass has seen is kept at its very end, in one transaction. One that dies is begun again from the tables: runs that
were committed are found there and not repeated.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from lakebed.control import ControlStore, DeadLetter, open_store
from lakebed.dependencies import Graph, Pass, Plan, Refused, Run, State
from lakebed.errors import ManifestError
from lakebed.manifest import Derived, Project
from lakebed.runner.derive import Derivation, carry_out
from lakebed.runner.derived_report import DerivedOutcome, NobodyWatches, PassOutcome, RunProgress, RunsInTurn
from lakebed.runner.events import Found, Positions, advanced, find_events
from lakebed.runner.leases import Lease
from lakebed.runner.table_logs import TableLogs
from lakebed.runner.work import Edges, no_spark

DERIVING = "(derive)"  # no dataset can be called so
SIDE_BY_SIDE = 4
_NOTHING = Plan((), (), (), (), (), State())


def derive_project(
    project: Project,
    *,
    datasets: Sequence[str] | None = None,
    spark: Callable[[], Any],
    edges: Edges | None = None,
    progress: RunProgress | None = None,
) -> PassOutcome:
    """Bring every derived dataset up to date (or those named): one pass over all commits that were not seen yet. Where
    there is none, `spark` is not called. Where another process is at it, it is left to that one."""
    graph = Graph.of(chosen(project, datasets))
    edges = replace(edges or Edges(), spark=spark)
    if not graph.items:
        return PassOutcome()
    with open_store(project.control, base=project.root, clock=edges.now) as store:
        if not _is_due(project, graph, store, spark):
            return PassOutcome()
        with Lease.of(store, DERIVING) as lease:
            if not lease.ours:
                return PassOutcome(busy=True)
            work = Derivation(
                project,
                graph,
                store,
                edges,
                TableLogs(project, spark),
                RunsInTurn(progress or NobodyWatches()),
            )
            found = find_events(graph, work.logs, store.derived.positions())
            pass_ = Pass(graph, found.events, begin_state(work, found))
            return finished(work, pass_, found.positions)


def anything_to_derive(project: Project, *, spark: Callable[[], Any] = no_spark) -> bool:
    """Whether a pass would find a commit that was not seen yet. Quick, for looking again and again."""
    graph = Graph.of(project.derived)
    with open_store(project.control, base=project.root) as store:
        return bool(graph.items) and _is_due(project, graph, store, spark)


def _is_due(project: Project, graph: Graph, store: ControlStore, spark: Callable[[], Any]) -> bool:
    """Where nothing is, it is remembered how far was looked: maintenance need not be looked at again."""
    known = store.derived.positions()
    found = find_events(graph, TableLogs(project, spark), known)
    moved = {key: position for key, position in found.positions.items() if known.get(key) != position}
    if moved and not found.events:
        store.derived.finish_pass(moved, (), _NOTHING)
    return bool(found.events)


def chosen(project: Project, names: Sequence[str] | None) -> list[Derived]:
    """All derived datasets, or those of these names; a name that is unknown is a ManifestError."""
    if names is None:
        return list(project.derived)
    known = {one.name.lower(): one for one in project.derived}
    for name in names:
        if name.lower() not in known:
            raise ManifestError(
                f"there is no derived dataset {name!r}", code="unknown_dataset", where=str(project.root)
            )
    return [known[name.lower()] for name in names]


@contextmanager
def by_hand(
    project: Project, *, spark: Callable[[], Any], edges: Edges | None, progress: RunProgress | None
) -> Iterator[Derivation]:
    """What a pass that somebody asks for needs, while nobody else is at it; else ConflictError."""
    edges = replace(edges or Edges(), spark=spark)
    with (
        open_store(project.control, base=project.root, clock=edges.now) as store,
        Lease.of(store, DERIVING) as lease,
    ):
        lease.demand("derived datasets")
        graph = Graph.of(project.derived)
        yield Derivation(
            project, graph, store, edges, TableLogs(project, spark), RunsInTurn(progress or NobodyWatches())
        )


def begin_state(work: Derivation, found: Found) -> State:
    """What is there of all tables that the events can reach, and what waits."""
    waiting = work.store.derived.pending()
    reached = {name for event in found.events for name in work.graph.downstream(event.table)}
    return State(present=present_around(work, reached), waiting=waiting)


def present_around(work: Derivation, datasets: set[str]) -> dict[str, Any]:
    """The partitions of these derived datasets, of what they read, and of what reads them."""
    all_ = datasets | {name for one in datasets for name in work.graph.downstream(one)}
    sources = {source for name in all_ for source in work.graph.sources_of(name)}
    return work.logs.present(all_ | sources)


def finished(work: Derivation, pass_: Pass, positions: Positions) -> PassOutcome:
    """Carry a pass out to its end, and keep what came of it."""
    outcomes = _side_by_side(work, pass_)
    plan = pass_.result()
    letters = [dead_letter(one, work) for one in plan.refused]
    for letter in letters:
        work.store.derived.bury(letter)
    runs = frozenset(one.run.id for one in outcomes if one.state == "done")
    if not work.edges.stopping():
        kept = work.store.derived.positions()
        after = advanced(work.graph, work.logs, {**kept, **positions}, runs)
        moved = {key: position for key, position in after.items() if kept.get(key) != position}
        work.store.derived.finish_pass(moved, work.graph.derived, plan)
    dead = {one.id: one for one in work.store.derived.dead_letters()}
    mine = [one.run.id for one in outcomes if one.state == "failed"] + [one.id for one in letters]
    return PassOutcome(
        tuple(
            sorted(outcomes, key=lambda one: (one.run.rank, one.run.dataset.lower(), str(one.run.partition)))
        ),
        plan.waiting,
        tuple(dead[id_] for id_ in dict.fromkeys(mine) if id_ in dead),
        plan.reported,
    )


def _side_by_side(work: Derivation, pass_: Pass) -> list[DerivedOutcome]:
    """Runs that do not depend on each other at the same time; each outcome leads to what comes next."""
    outcomes: list[DerivedOutcome] = []
    going: dict[Future[DerivedOutcome], Run] = {}
    pool = ThreadPoolExecutor(SIDE_BY_SIDE)
    try:
        while True:
            if work.edges.stopping():  # what has not begun need not
                going = {future: run for future, run in going.items() if not future.cancel()}
            else:
                going.update({pool.submit(carry_out, work, run): run for run in pass_.ready()})
            if not going:
                return outcomes
            for future in wait(going, return_when=FIRST_COMPLETED).done:
                run, outcome = going.pop(future), future.result()
                outcomes.append(outcome)
                if outcome.state == "held":
                    pass_.skip(run)
                else:
                    pass_.finish(run, outcome.failed_step, rewrote=outcome.rewrote)
    except BaseException:
        work.abandoned.set()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def dead_letter(refused: Refused, work: Derivation) -> DeadLetter:
    """An arrival of which no run can be made. The same arrival, refused again, is the same letter."""
    value = refused.partition.values[0][1] if refused.partition else None
    known = [refused.dataset.lower(), value, refused.code, sorted(cause.event for cause in refused.causes)]
    id_ = hashlib.sha256(json.dumps(known).encode()).hexdigest()[:32]
    error = {"code": refused.code, "what": refused.what, "hint": refused.hint, "where": refused.dataset}
    return DeadLetter(id_, refused.dataset, value, refused.causes, None, error, work.edges.now())
