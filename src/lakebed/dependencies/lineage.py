"""The graph as something to look at: a tree, Mermaid, DOT, or data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from lakebed.dependencies.graph import Graph

Kind = Literal["ingested", "derived", "table"]
_SHAPES = {"ingested": ("[(", ")]"), "derived": ("[", "]"), "table": ("([", "])")}


@dataclass(frozen=True)
class Lineage:
    """Tables by name in lower case, with the name as it is written and what they are; and who reads whom, and how."""

    nodes: dict[str, tuple[str, Kind]]
    edges: tuple[tuple[str, str, str], ...]

    @staticmethod
    def of(graph: Graph, ingested: Iterable[str], around: str | None = None) -> Lineage:
        """All of a graph, or only what feeds one table and what it feeds. A table that neither ingests nor derives is one
        from outside."""
        names = {**graph.spelling, **{name.lower(): name for name in ingested}}
        kinds: dict[str, Kind] = {name.lower(): "ingested" for name in ingested}
        kinds.update(dict.fromkeys(graph.derived, "derived"))
        if around is not None:
            near = {around.lower(), *graph.upstream(around), *graph.downstream(around)}
            names = {name: written for name, written in names.items() if name in near}
        nodes = {name: (names[name], kinds.get(name, "table")) for name in graph.in_order(names)}
        edges = {(edge.source, edge.target, edge.dependency.usage): None for edge in graph.edges}
        return Lineage(nodes, tuple(edge for edge in edges if edge[0] in nodes and edge[1] in nodes))

    def children(self, name: str) -> list[tuple[str, str]]:
        """What reads a table, and how."""
        return [(target, usage) for source, target, usage in self.edges if source == name]

    def tree(self) -> list[str]:
        """Lines for a terminal, from the sources down. A dataset that is reached by several ways is shown in full once."""
        targets = {target for _, target, _ in self.edges}
        shown: set[str] = set()
        lines: list[str] = []
        for name in self.nodes:
            if name not in targets:
                lines.extend(self._lines(name, "", "", shown))
        return lines

    def _lines(self, name: str, note: str, indent: str, shown: set[str]) -> Iterator[str]:
        """A table and what reads it; `indent` is what stands before its children. Without recursion: chains may be long."""
        left = [(name, note, "", indent)]
        while left:
            here, usage, before, inner = left.pop()
            again = here in shown and bool(self.children(here))
            shown.add(here)
            said = ", ".join(filter(None, [usage, "see above" if again else ""]))
            yield f"{before}{self.nodes[here][0]}{f' ({said})' if said else ''}"
            children = [] if again else self.children(here)
            for index, (child, how) in reversed(list(enumerate(children))):
                last = index == len(children) - 1
                left.append(
                    (child, how, inner + ("└─ " if last else "├─ "), inner + ("   " if last else "│  "))
                )

    def mermaid(self) -> list[str]:
        ids = {name: f"n{index}" for index, name in enumerate(self.nodes)}
        nodes = [
            f'    {ids[name]}{_SHAPES[kind][0]}"{written}"{_SHAPES[kind][1]}'
            for name, (written, kind) in self.nodes.items()
        ]
        arrows = [
            f"    {ids[source]} {'-.->' if usage == 'validate' else '-->'}|{usage}| {ids[target]}"
            for source, target, usage in self.edges
        ]
        return ["graph LR", *nodes, *arrows]

    def dot(self) -> list[str]:
        nodes = [
            f'    "{written}" [shape={"box" if kind == "derived" else "cylinder"}];'
            for written, kind in self.nodes.values()
        ]
        arrows = [
            f'    "{self.nodes[source][0]}" -> "{self.nodes[target][0]}"'
            f' [label="{usage}"{", style=dashed" if usage == "validate" else ""}];'
            for source, target, usage in self.edges
        ]
        return ["digraph lineage {", "    rankdir=LR;", *nodes, *arrows, "}"]

    def data(self) -> dict[str, Any]:
        return {
            "tables": [{"name": written, "kind": kind} for written, kind in self.nodes.values()],
            "dependencies": [
                {"source": self.nodes[source][0], "target": self.nodes[target][0], "usage": usage}
                for source, target, usage in self.edges
            ],
        }
