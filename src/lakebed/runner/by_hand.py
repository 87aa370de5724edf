"""Runs that somebody asks for: a partition, a range of them, dead letters (D11, D14). Each is its own, new cause."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from lakebed.control import DeadLetter, open_store
from lakebed.dependencies import Event, Graph, Pass, Plan, Range, Refused, State, Waiting, plan_backfill
from lakebed.dependencies.backfill import begin_backfill
from lakebed.errors import DependencyError
from lakebed.manifest import Project
from lakebed.runner.derive import Derivation
from lakebed.runner.derived_report import PassOutcome, RunProgress
from lakebed.runner.passes import by_hand, dead_letter, finished, present_around
from lakebed.runner.table_logs import TableLogs
from lakebed.runner.work import Edges, no_spark

Start = Callable[[], Any]


def new_cause(word: str) -> str:
    """`backfill:…`: no two are the same, so that a run by hand is never taken for one that was done."""
    return f"{word}:{uuid.uuid4().hex[:12]}"


def backfill(
    project: Project,
    wanted: Range,
    *,
    spark: Start,
    edges: Edges | None = None,
    progress: RunProgress | None = None,
) -> PassOutcome:
    """Compute a range of partitions anew, and, if it cascades, what depends on them. What lacks an input waits for nobody:
    it is told and left alone."""
    with by_hand(project, spark=spark, edges=edges, progress=progress) as work:
        work.cascade = wanted.cascade
        present = present_around(work, {wanted.dataset.lower()})
        wanted = replace(wanted, failed=_failed(work.store.derived.dead_letters(), wanted.dataset))
        pending = work.store.derived.pending()
        pass_, waiting, refused = begin_backfill(work.graph, wanted, present, pending)
        outcome = finished(work, pass_, {})
        return _with(outcome, work, waiting, refused)


def planned_backfill(project: Project, wanted: Range, *, spark: Start = no_spark) -> Plan:
    """The same, and nothing is run: every run with its SQL, and what could not be."""
    graph, logs = Graph.of(project.derived), TableLogs(project, spark)
    around = {wanted.dataset.lower(), *graph.downstream(wanted.dataset)}
    sources = {source for name in around for source in graph.sources_of(name)}
    with open_store(project.control, base=project.root) as store:
        wanted = replace(wanted, failed=_failed(store.derived.dead_letters(), wanted.dataset))
    return plan_backfill(graph, wanted, logs.present(around | sources))


def _failed(letters: Sequence[DeadLetter], dataset: str) -> set[str | None]:
    return {letter.partition for letter in letters if letter.dataset.lower() == dataset.lower()}


def _with(
    outcome: PassOutcome, work: Derivation, waiting: Sequence[Waiting], refused: Sequence[Refused]
) -> PassOutcome:
    """What could not even begin belongs to the outcome; it leaves nothing behind in the store."""
    letters = tuple(dead_letter(one, work) for one in refused)
    return replace(outcome, waiting=(*waiting, *outcome.waiting), dead=(*letters, *outcome.dead))


def redrive(
    project: Project,
    letters: Sequence[str],
    *,
    spark: Start,
    edges: Edges | None = None,
    progress: RunProgress | None = None,
) -> PassOutcome:
    """Take up dead letters again, with the manifests as they are now: a failed run at the step at which it failed, an
    arrival without a run from its beginning. What is downstream of them follows. A letter that fails again stays."""
    with by_hand(project, spark=spark, edges=edges, progress=progress) as work:
        known = {letter.id: letter for letter in work.store.derived.dead_letters()}
        some = [known[id_] for id_ in letters if id_ in known]
        for letter in some:
            if letter.dataset.lower() not in work.graph.derived:
                what = f"{letter.dataset} is no dataset of the project any more"
                raise DependencyError(what, code="unknown_dataset", hint="discard its dead letters")
        arrivals = [letter for letter in some if letter.step is None]
        events = [event for letter in arrivals for event in _events(letter)]
        present = present_around(work, {letter.dataset.lower() for letter in some})
        state = State(present=present, waiting=work.store.derived.pending())
        pass_ = Pass(work.graph, events, state)
        for letter in some:
            if letter.step is not None:
                _ask(work, pass_, letter)
        outcome = finished(work, pass_, {})
        again = {letter.id for letter in outcome.dead}
        for letter in arrivals:
            if letter.id not in again:
                work.store.derived.discard(letter.id)
        return outcome


def _ask(work: Derivation, pass_: Pass, letter: DeadLetter) -> None:
    derived = work.graph.derived[letter.dataset.lower()]
    pass_.ask(derived, letter.partition, letter.causes)
    assert letter.step is not None
    work.resume[letter.id] = letter.step


def _events(letter: DeadLetter) -> list[Event]:
    """The arrivals of a letter without a run, as they came, for its dataset alone."""
    only = frozenset({letter.dataset.lower()})
    return [
        Event(cause.event, cause.table, cause.partitions, roots=cause.roots, only=only)
        for cause in letter.causes
    ]
