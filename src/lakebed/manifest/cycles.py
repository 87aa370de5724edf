"""Cycles among names that point at names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def find_cycle(edges: Mapping[str, Iterable[str]]) -> list[str] | None:
    """A way from a name back to itself, the name at both ends; None if there is none. The same for equal edges."""
    finished: set[str] = set()
    for start in sorted(edges):
        if start not in finished and (cycle := _from(start, edges, finished)):
            return cycle
    return None


def _from(start: str, edges: Mapping[str, Iterable[str]], finished: set[str]) -> list[str] | None:
    """Depth first without recursion: chains may be long. What has no cycle below it is added to `finished`."""
    way = [start]
    left = [iter(sorted(edges.get(start, ())))]
    while way:
        following = next(left[-1], None)
        if following is None:
            finished.add(way.pop())
            left.pop()
        elif following in way:
            return [*way[way.index(following) :], following]
        elif following not in finished:
            way.append(following)
            left.append(iter(sorted(edges.get(following, ()))))
    return None
