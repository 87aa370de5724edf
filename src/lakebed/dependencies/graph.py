"""Who depends on whom: the index by source table, ranks, ways through the graph. Names are in lower case (D12)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from lakebed.errors import ManifestError
from lakebed.manifest import Dependency, Derived
from lakebed.manifest.cycles import find_cycle


@dataclass(frozen=True, eq=False)
class Edge:
    """One dependency of one derived dataset. A graph has each edge once, so edges are compared by identity."""

    derived: Derived
    index: int

    @property
    def dependency(self) -> Dependency:
        return self.derived.dependencies[self.index]

    @property
    def source(self) -> str:
        return self.dependency.table_name.lower()

    @property
    def target(self) -> str:
        return self.derived.name.lower()


@dataclass(frozen=True)
class Graph:
    """All derived datasets. Made by `Graph.of`, which refuses two of one name, and cycles."""

    items: tuple[Derived, ...]

    @staticmethod
    def of(items: Iterable[Derived]) -> Graph:
        graph = Graph(tuple(sorted(items, key=lambda item: item.name.lower())))
        if len(graph.derived) < len(graph.items):
            raise ManifestError("two derived datasets have the same name", code="duplicate_dataset")
        cycle = graph.cycle()
        if cycle:
            raise ManifestError(
                f"the datasets depend on each other in a circle: {' → '.join(cycle)} (D12)",
                code="dependency_cycle",
                sample=[cycle],
            )
        return graph

    @cached_property
    def derived(self) -> dict[str, Derived]:
        return {item.name.lower(): item for item in self.items}

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        return tuple(Edge(item, index) for item in self.items for index in range(len(item.dependencies)))

    @cached_property
    def by_source(self) -> dict[str, tuple[Edge, ...]]:
        """The edges that leave each table."""
        found: dict[str, list[Edge]] = {}
        for edge in self.edges:
            found.setdefault(edge.source, []).append(edge)
        return {table: tuple(edges) for table, edges in found.items()}

    @cached_property
    def by_target(self) -> dict[str, tuple[Edge, ...]]:
        """The edges that lead into each derived dataset, in the order they are declared."""
        found: dict[str, list[Edge]] = {}
        for edge in self.edges:
            found.setdefault(edge.target, []).append(edge)
        return {name: tuple(edges) for name, edges in found.items()}

    @cached_property
    def spelling(self) -> dict[str, str]:
        """Every table's name as it was written: by the dataset itself, else by the first that depends on it."""
        names = {edge.source: edge.dependency.table_name for edge in reversed(self.edges)}
        return {**names, **{name: item.name for name, item in self.derived.items()}}

    def edges_from(self, table: str) -> tuple[Edge, ...]:
        return self.by_source.get(table.lower(), ())

    def edges_into(self, table: str) -> tuple[Edge, ...]:
        return self.by_target.get(table.lower(), ())

    def sources_of(self, table: str) -> list[str]:
        """The tables that a dataset reads, each once, in the order they are declared."""
        return list(dict.fromkeys(edge.source for edge in self.edges_into(table)))

    def dependents_of(self, table: str) -> list[str]:
        return list(dict.fromkeys(edge.target for edge in self.edges_from(table)))

    @cached_property
    def ranks(self) -> dict[str, int]:
        """How many hops lie at most between a dataset and the tables that nothing here computes (0)."""
        ranks: dict[str, int] = {}
        for name in self._upstream_first():
            ranks[name] = max((ranks.get(source, 0) for source in self.sources_of(name)), default=0) + 1
        return ranks

    def rank(self, table: str) -> int:
        return self.ranks.get(table.lower(), 0)

    def in_order(self, names: Iterable[str]) -> list[str]:
        """Upstream first; equal rank by name (D10)."""
        return sorted(names, key=lambda name: (self.rank(name), name))

    def upstream(self, table: str) -> frozenset[str]:
        """Everything that feeds a table, over any number of hops."""
        return self._ancestors.get(table.lower(), frozenset())

    def downstream(self, table: str) -> dict[str, int]:
        """Everything that a table feeds, with the number of hops on the shortest way, nearest first."""
        found: dict[str, int] = {}
        here, hops = [table.lower()], 0
        while here:
            hops += 1
            here = [name for one in here for name in self.dependents_of(one) if name not in found]
            found.update(dict.fromkeys(here, hops))
        return dict(sorted(found.items(), key=lambda entry: (entry[1], entry[0])))

    @cached_property
    def roots(self) -> list[str]:
        """The tables that are read and that nothing here computes, by name."""
        return sorted(table for table in self.by_source if table not in self.derived)

    def cycle(self) -> list[str] | None:
        """A cycle in the direction of the data, as its names are written; None if there is none."""
        found = find_cycle({table: self.dependents_of(table) for table in self.by_source})
        return [self.spelling[name] for name in found] if found else None

    @cached_property
    def _ancestors(self) -> dict[str, frozenset[str]]:
        ancestors: dict[str, frozenset[str]] = {}
        for name in self._upstream_first():
            sources = self.sources_of(name)
            ancestors[name] = frozenset(sources).union(*(ancestors.get(one, ()) for one in sources))
        return ancestors

    def _upstream_first(self) -> Iterator[str]:
        """Every derived dataset after all that it reads."""
        left = {name: self._derived_sources(name) for name in self.derived}
        ready = sorted(name for name, sources in left.items() if not sources)
        while ready:
            name = ready.pop()
            yield name
            for dependent in self.dependents_of(name):
                left[dependent].discard(name)
                if not left[dependent]:
                    ready.append(dependent)

    def _derived_sources(self, name: str) -> set[str]:
        return {source for source in self.sources_of(name) if source in self.derived}
