"""What is there, and which targets it is enough for (D3, D8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lakebed.dependencies.events import Partition, Target
from lakebed.dependencies.graph import Edge, Graph
from lakebed.dependencies.mapping import is_mapped, target_of
from lakebed.errors import DependencyError
from lakebed.manifest import AtLeast, Derived


class Presence:
    """The partitions of every table, as they become known; what they reach by each dependency is computed once."""

    def __init__(self, graph: Graph, present: Mapping[str, Iterable[Partition]]) -> None:
        self._graph = graph
        self._present = {table.lower(): set(partitions) for table, partitions in present.items()}
        self._reached: dict[Edge, set[str | None]] = {}

    def add(self, table: str, partitions: Iterable[Partition]) -> None:
        self._present.setdefault(table.lower(), set()).update(partitions)
        for edge in self._graph.edges_from(table):
            if edge in self._reached:
                self._reached[edge].update(_values(edge, partitions))

    def has_rows(self, table: str) -> bool:
        return bool(self._present.get(table.lower()))

    def has(self, target: Target) -> bool:
        """Whether the target itself was computed before."""
        return any(
            target.value is None or target.value in (value for _, value in partition.values)
            for partition in self._present.get(target.dataset, ())
        )

    def arrived_and_missing(self, derived: Derived, target: Target) -> tuple[list[str], list[str]]:
        """Of the tables that the target waits for: those that are there, and those that it lacks. It can run when it lacks
        none."""
        edges = self._graph.edges_into(derived.name)
        here = [edge for edge in edges if self._reaches(edge, target)]
        triggers = [edge for edge in edges if edge.dependency.triggers]
        needed = {"any": 1, "all": len(triggers)}
        count = derived.when.at_least if isinstance(derived.when, AtLeast) else needed[derived.when]
        enough = sum(edge in here for edge in triggers) >= count
        lacking = [
            edge
            for edge in edges
            if edge not in here and (edge.dependency.required or (edge.dependency.triggers and not enough))
        ]
        counted = [edge for edge in here if edge.dependency.required or edge.dependency.triggers]
        return _names(counted), _names(lacking)

    def frozen(self) -> dict[str, frozenset[Partition]]:
        return {table: frozenset(partitions) for table, partitions in self._present.items()}

    def _reaches(self, edge: Edge, target: Target) -> bool:
        if not is_mapped(edge.derived, edge.dependency) and target.value is not None:
            return self.has_rows(edge.source)
        if edge not in self._reached:
            self._reached[edge] = _values(edge, self._present.get(edge.source, ()))
        return target.value in self._reached[edge]


def _names(edges: Iterable[Edge]) -> list[str]:
    return [edge.dependency.table_name for edge in edges]


def _values(edge: Edge, partitions: Iterable[Partition]) -> set[str | None]:
    """The targets of these partitions; those that lead to none count for nothing here."""
    values: set[str | None] = set()
    for partition in partitions:
        try:
            values.add(target_of(edge.derived, edge.dependency, partition).value)
        except DependencyError:
            continue
    return values
