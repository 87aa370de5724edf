"""Which partitions of a derived dataset are missing in a range, and why. No Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from lakebed.control import open_store
from lakebed.dependencies import Graph, Partition, Target
from lakebed.dependencies.backfill import sources
from lakebed.dependencies.dates import parse_date
from lakebed.dependencies.mapping import target_of
from lakebed.dependencies.presence import Presence
from lakebed.errors import DependencyError
from lakebed.manifest import Derived, Project
from lakebed.runner.table_logs import TableLogs
from lakebed.runner.work import no_spark


@dataclass(frozen=True)
class Gap:
    """A partition that is not there: its run failed, waits, or never was. `lacks` are the inputs that are not there."""

    dataset: str
    partition: str | None
    state: Literal["failed", "waiting", "missing"]
    lacks: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "partition": self.partition,
            "state": self.state,
            "lacks": list(self.lacks),
        }


def gaps(project: Project, name: str, first: str | None, last: str | None) -> list[Gap]:
    """By date, all targets between `first` and `last` that are not there; without a range, from the first to the last
    that is there or that a source leads to."""
    graph, logs = Graph.of(project.derived), TableLogs(project, no_spark)
    derived = graph.derived.get(name.lower())
    if derived is None:
        raise DependencyError(f"there is no derived dataset {name!r}", code="unknown_dataset")
    around = {derived.name.lower(), *graph.sources_of(derived.name)}
    present = logs.present(around)
    if derived.partition_column is not None:
        low, high = _range(graph, derived, present)
        first, last = first or low, last or high
        if first is None or last is None:
            return []
    there = Presence(graph, present)
    with open_store(project.control, base=project.root) as store:
        failed = {_target(one.dataset, one.partition) for one in store.derived.dead_letters()}
        waiting = {_target(one.dataset, one.partition) for one in store.derived.waiting()}
    return [
        Gap(
            derived.name,
            target.value,
            "failed" if target in failed else "waiting" if target in waiting else "missing",
            tuple(there.arrived_and_missing(derived, target)[1]),
        )
        for target in sources(graph, derived, first, last)
        if not there.has(target)
    ]


def _target(dataset: str, partition: str | None) -> Target:
    return Target(dataset.lower(), partition)


def _range(
    graph: Graph, derived: Derived, present: Mapping[str, frozenset[Partition]]
) -> tuple[str | None, str | None]:
    """The first and the last partition that is there, or could be."""
    mask, column = derived.partition_python_mask, derived.partition_column
    assert mask is not None
    assert column is not None
    values = {one.value(column) for one in present[derived.name.lower()]}
    for edge in graph.edges_into(derived.name):
        for partition in present[edge.source] if edge.dependency.triggers else ():
            try:
                values.add(target_of(derived, edge.dependency, partition).value)
            except DependencyError:
                continue
    dates = {value: parse_date(value, mask) for value in values if value is not None}
    ordered = sorted(dates, key=lambda value: dates[value])
    return (ordered[0], ordered[-1]) if ordered else (None, None)
