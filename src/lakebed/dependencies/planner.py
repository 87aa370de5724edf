"""From events to runs (D4-D10): what must be computed, in which order, and what has to wait.

A `Pass` takes events and gives out runs; the outcome of a run is told to it, and leads to further runs. `plan` does a
whole pass at once, without running anything.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator

from lakebed.dependencies.dates import parse_date
from lakebed.dependencies.events import (
    Cause,
    Event,
    Partition,
    Run,
    RunStep,
    Target,
    partition_of,
    run_id,
)
from lakebed.dependencies.graph import Edge, Graph
from lakebed.dependencies.mapping import is_mapped, target_of
from lakebed.dependencies.presence import Presence
from lakebed.dependencies.results import Outcome, Plan, Refused, Reported, Waiting
from lakebed.dependencies.sql import rendered_steps
from lakebed.dependencies.state import Pending, State
from lakebed.errors import DependencyError
from lakebed.manifest import Derived


def plan(
    graph: Graph,
    events: Iterable[Event],
    state: State | None = None,
    failing: Callable[[Run], int | None] = lambda _run: None,
) -> Plan:
    """All that follows from the events, over all hops, if every run succeeds but those for which `failing` names a step."""
    return played(Pass(graph, events, state or State()), failing)


def played(pass_: Pass, failing: Callable[[Run], int | None] = lambda _run: None) -> Plan:
    """A pass to its end."""
    while runs := pass_.ready():
        for run in runs:
            pass_.finish(run, failing(run))
    return pass_.result()


class Pass:
    """One pass over the graph.

    A dataset is decided when nothing upstream of it is left to decide or to run, so that all arrivals of the pass are
    known and the bottom of a diamond runs once. Runs of one target are given out one after the other.
    """

    def __init__(self, graph: Graph, events: Iterable[Event], state: State, *, cascade: bool = True) -> None:
        self._graph, self._cascade = graph, cascade
        self._handled = set(state.handled)
        self._presence = Presence(graph, state.present)
        self._pending = dict(state.waiting)
        self._touched: dict[str, set[Target]] = {}
        """Datasets to decide, with the targets for which something has come."""
        self._stopped: dict[Target, list[str]] = {}
        """Targets that are downstream of a failure, and the tables that failed."""
        self._stopped_whole: dict[str, list[str]] = {}
        """The same for datasets of which it cannot be told which partitions are."""
        self._lined_up: dict[Target, deque[Run]] = {}
        self._running: dict[Target, Run] = {}
        self._outcomes: list[Outcome] = []
        self._refused: list[Refused] = []
        self._reported: list[Reported] = []
        self._already: list[str] = []
        for event in events:
            self._take(event)

    def ready(self) -> list[Run]:
        """Runs that can start now, side by side; none if the pass is at its end or everything is running."""
        self._decide_what_can_be()
        begun = []
        for target, line in list(self._lined_up.items()):
            if target not in self._running:
                self._running[target] = line.popleft()
                begun.append(self._running[target])
                if not line:
                    del self._lined_up[target]
        return sorted(begun, key=self._order)

    def finish(self, run: Run, failed_step: int | None = None, *, rewrote: bool = False) -> None:
        """A run has ended: committed, or failed for good at a step. `rewrote`: its commit changed or removed rows."""
        del self._running[run.target]
        self._outcomes.append(Outcome(run, failed_step))
        if failed_step is not None:
            self._stop_downstream(run.dataset, run.partition)
        elif self._cascade:
            self._take(run.event(rewrote=rewrote))
        else:
            self._handled.add(run.id)
            self._presence.add(run.dataset, run.event().partitions)

    def skip(self, run: Run) -> None:
        """A run need not be: its target holds what came of its causes. What depends on it learns of that from the table's
        own commits, which are events as well."""
        del self._running[run.target]
        self._presence.add(run.dataset, run.event().partitions)

    def ask(self, derived: Derived, value: str | None, causes: tuple[Cause, ...]) -> None:
        """A run that somebody wants, whatever its dependencies say (D14)."""
        target = Target(derived.name.lower(), value)
        try:
            steps = rendered_steps(derived, value)
        except DependencyError as error:
            self._refuse(derived, value, error, causes)
            return
        self._line_up(derived, target, steps, [causes])

    def result(self) -> Plan:
        """What came of the pass."""
        return Plan(
            outcomes=tuple(sorted(self._outcomes, key=lambda outcome: self._order(outcome.run))),
            waiting=tuple(self._waiting()),
            refused=tuple(self._refused),
            reported=tuple(self._reported),
            already_handled=tuple(self._already),
            state=State(frozenset(self._handled), self._presence.frozen(), dict(self._pending)),
        )

    def _take(self, event: Event) -> None:
        """Note what an event means for the datasets that depend on its table."""
        if event.id in self._handled:
            self._already.append(event.id)
            return
        self._handled.add(event.id)
        self._presence.add(event.table, event.partitions)
        parked: set[str] = set()
        for edge in self._graph.edges_from(event.table):
            if event.only is not None and edge.target not in event.only:
                continue
            touched = self._touched.setdefault(edge.target, set())
            if not edge.dependency.triggers:
                touched.update(self._released(edge, event))
            elif not self._is_kept_from(edge, event, parked):
                touched.update(self._arrivals(edge, event))
                if event.everything:
                    self._report(
                        edge, event, "it is not known what changed, so every partition counts as touched"
                    )

    def _arrivals(self, edge: Edge, event: Event) -> Iterator[Target]:
        """The targets of a triggering dependency; the event is noted as a cause of each."""
        for partition in event.partitions:
            usage = edge.dependency.usage
            assert usage != "validate"
            cause = Cause(event.id, edge.dependency.table_name, (partition,), event.came_from, usage)
            try:
                target = target_of(edge.derived, edge.dependency, partition)
            except DependencyError as error:
                self._refuse(edge.derived, None, error, (cause,), stop=False)
                continue
            known = self._pending.get(target, Pending(()))
            self._pending[target] = Pending(_with_cause(known.causes, cause), known.behind)
            yield target

    def _released(self, edge: Edge, event: Event) -> Iterator[Target]:
        """The waiting targets for which a table that never triggers may have been missing."""
        mapped = is_mapped(edge.derived, edge.dependency)
        values = {_value(edge, partition) for partition in event.partitions} if mapped else set()
        for target in self._pending:
            if target.dataset == edge.target and (not mapped or target.value in values):
                yield target

    def _is_kept_from(self, edge: Edge, event: Event, parked: set[str]) -> bool:
        """D2, D9. Appending is not what an event asks for that may have been applied, or that took rows away."""
        derived, table = edge.derived, edge.dependency.table_name
        if edge.dependency.usage != "append":
            return False
        if event.everything and self._presence.has_rows(derived.name):
            if edge.target not in parked:
                what = f"it is not known which commits of {table} were appended to {derived.name}, which has rows"
                cause = Cause(event.id, table, event.partitions, event.came_from, "append")
                unknown = DependencyError(
                    what, code="append_unknown", hint="redrive it to append all, or discard it"
                )
                self._refuse(derived, None, unknown, (cause,), stop=False)
            parked.add(edge.target)
            return True
        if event.rewrote:
            self._report(edge, event, "rows were changed or removed; it only appends, so it stays as it is")
        return event.rewrote

    def _report(self, edge: Edge, event: Event, what: str) -> None:
        self._reported.append(Reported(edge.derived.name, edge.dependency.table_name, event.id, what))

    def _decide_what_can_be(self) -> None:
        """Decide, upstream first, every dataset above which nothing is left to do."""
        progress = True
        while progress:
            busy = {*self._touched, *(target.dataset for target in (*self._lined_up, *self._running))}
            progress = False
            for name in self._graph.in_order(self._touched):
                if not self._graph.upstream(name) & busy:
                    self._decide(self._graph.derived[name])
                    progress = True
                    break

    def _decide(self, derived: Derived) -> None:
        """Line up the runs of a dataset; what lacks something stays pending."""
        name = derived.name.lower()
        touched, failed_for_all = self._touched.pop(name), self._stopped_whole.get(name, [])
        stopped = {target for target in self._stopped if target.dataset == name}
        for target in sorted(touched | stopped, key=lambda target: _when(derived, target)):
            failed = [*failed_for_all, *self._stopped.get(target, [])]
            pending = self._pending.get(target)
            if failed:
                if pending:
                    self._pending[target] = Pending(pending.causes, tuple(dict.fromkeys(failed)))
                self._stop_downstream(derived.name, partition_of(derived, target.value))
            elif pending and not self._presence.arrived_and_missing(derived, target)[1]:
                del self._pending[target]
                self._run(derived, target, pending.causes)
            elif pending:
                self._pending[target] = Pending(pending.causes)

    def _run(self, derived: Derived, target: Target, causes: tuple[Cause, ...]) -> None:
        try:
            steps = rendered_steps(derived, target.value)
        except DependencyError as error:
            self._refuse(derived, target.value, error, causes)
            return
        self._line_up(derived, target, steps, _groups(causes))

    def _line_up(
        self,
        derived: Derived,
        target: Target,
        steps: tuple[RunStep, ...],
        groups: Iterable[tuple[Cause, ...]],
    ) -> None:
        for causes in groups:
            write = causes[0].write
            run = Run(
                id=run_id(target, write, causes),
                dataset=derived.name,
                partition=partition_of(derived, target.value),
                write=write,
                steps=steps,
                causes=causes,
                rank=self._graph.rank(derived.name),
            )
            self._lined_up.setdefault(target, deque()).append(run)

    def _refuse(
        self,
        derived: Derived,
        value: str | None,
        error: DependencyError,
        causes: tuple[Cause, ...],
        *,
        stop: bool = True,
    ) -> None:
        partition = partition_of(derived, value)
        self._refused.append(Refused(derived.name, partition, error.code, error.what, causes, error.hint))
        if stop:
            self._stop_downstream(derived.name, partition)

    def _stop_downstream(self, table: str, partition: Partition | None) -> None:
        """D11. Whatever would follow from a commit that does not come shall not run in this pass."""
        if not self._cascade:
            return
        for edge in self._graph.edges_from(table):
            name, table_name = edge.target, edge.dependency.table_name
            self._touched.setdefault(name, set())
            if is_mapped(edge.derived, edge.dependency):
                value = _value(edge, partition or Partition())
                if value is not None:
                    self._stopped.setdefault(Target(name, value), []).append(table_name)
            elif edge.derived.partition_column is None:
                self._stopped.setdefault(Target(name, None), []).append(table_name)
            else:
                self._stopped_whole.setdefault(name, []).append(table_name)

    def _waiting(self) -> Iterator[Waiting]:
        for target in sorted(self._pending, key=lambda one: (self._graph.rank(one.dataset), one.dataset)):
            derived = self._graph.derived.get(target.dataset)
            if derived is None:  # the dataset is gone, and nothing waits for it any more
                continue
            pending = self._pending[target]
            arrived, missing = self._presence.arrived_and_missing(derived, target)
            yield Waiting(
                derived.name,
                partition_of(derived, target.value),
                tuple(name for name in arrived if name not in pending.behind),
                (*pending.behind, *(name for name in missing if name not in pending.behind)),
                pending.causes,
            )

    def _order(self, run: Run) -> tuple[int, str, str]:
        derived = self._graph.derived[run.dataset.lower()]
        return run.rank, run.dataset.lower(), _when(derived, run.target)


def _value(edge: Edge, partition: Partition) -> str | None:
    try:
        return target_of(edge.derived, edge.dependency, partition).value
    except DependencyError:
        return None


def _when(derived: Derived, target: Target) -> str:
    """By date, where the partition's text tells one."""
    mask, value = derived.partition_python_mask, target.value
    if value is None or mask is None:
        return ""
    try:
        return parse_date(value, mask).isoformat()
    except DependencyError:
        return value


def _with_cause(causes: tuple[Cause, ...], cause: Cause) -> tuple[Cause, ...]:
    """One event is one cause, by however many of its partitions."""
    for index, known in enumerate(causes):
        if (known.event, known.write) == (cause.event, cause.write):
            partitions = tuple(dict.fromkeys((*known.partitions, *cause.partitions)))
            both = Cause(known.event, known.table, partitions, known.roots, known.write)
            return (*causes[:index], both, *causes[index + 1 :])
    return (*causes, cause)


def _groups(causes: tuple[Cause, ...]) -> Iterator[tuple[Cause, ...]]:
    """The causes of each run, in order: overwriting ones are one run, in the place of the last; appending never merges."""
    overwriting = tuple(cause for cause in causes if cause.write == "overwrite")
    for cause in causes:
        if cause.write == "append":
            yield (cause,)
        elif cause is overwriting[-1]:
            yield overwriting
