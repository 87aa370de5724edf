"""D2. Which commits are new for which derived datasets, told by the tables' logs; none is lost if a run dies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lakebed.control import Position
from lakebed.dependencies import Event, Graph
from lakebed.runner.table_logs import TableLogs
from lakebed.tables.data_commits import DataCommit, TableLog

Positions = dict[tuple[str, str], Position]
_BEGINNING = -1


@dataclass(frozen=True)
class Found:
    """The events that no pass has seen, and how far the sources were looked at to find them."""

    events: tuple[Event, ...]
    positions: Positions


def find_events(graph: Graph, logs: TableLogs, positions: Mapping[tuple[str, str], Position]) -> Found:
    """Every commit of every source that a dependent of it has not seen. A dependent that has seen none, or has forgotten,
    sees all: what came of them, its own commits tell. Where the log does not reach back so far, everything counts as
    touched."""
    events: list[Event] = []
    after: Positions = {}
    for source in graph.in_order(graph.by_source):
        log = logs.log(source)
        if log is None:
            continue
        seen = {
            name: _seen(log, positions.get((name, source)) or _from_the_beginning(logs.log(name)))
            for name in graph.dependents_of(source)
        }
        events.extend(_events(graph.spelling[source], log, seen, logs))
        for name in seen:
            after[name, source] = Position(log.newest, _table_id(log, positions.get((name, source))))
    return Found(tuple(events), after)


def _from_the_beginning(target: TableLog | None) -> Position | None:
    """How far the sources of a dataset were looked at, of which the store knows nothing: not at all, so that all commits
    are new, and the dataset's own commits tell what came of them. Where these tell nothing, and rows are there, it is not
    known (None)."""
    if target is None or not any(commit.partitions for commit in target.commits()):
        return Position(_BEGINNING, "")
    told = target.tells_all_after(_BEGINNING) and any("run" in facts for _, facts in target.told())
    return Position(_BEGINNING, "") if told else None


def _seen(log: TableLog, position: Position | None) -> int | None:
    """The newest commit that was seen; None where that, or what came after it, is not known."""
    if position is None:
        return None
    replaced = log.table_id is not None and position.table_id not in ("", log.table_id)
    return None if replaced or not log.tells_all_after(position.version) else position.version


def _events(name: str, log: TableLog, seen: Mapping[str, int | None], logs: TableLogs) -> Iterator[Event]:
    lost = frozenset(dependent for dependent, version in seen.items() if version is None)
    known = {dependent: version for dependent, version in seen.items() if version is not None}
    if lost:
        there = tuple(sorted(logs.present([name])[name.lower()], key=str))
        yield Event(f"{_event_id(name, log, log.newest)}+all", name, there, everything=True, only=lost)
    for commit in log.commits(min(known.values())) if known else ():
        only = frozenset(dependent for dependent, version in known.items() if version < commit.version)
        if is_event(commit):
            yield event_of(name, log, commit, None if len(only) == len(seen) else only)


def is_event(commit: DataCommit) -> bool:
    """Maintenance is none, nor is a run by hand that was not to reach further."""
    return bool(commit.partitions) and commit.facts.get("cascade", True)


def event_of(name: str, log: TableLog, commit: DataCommit, only: frozenset[str] | None = None) -> Event:
    id_ = commit.run or _event_id(name, log, commit.version)
    roots = tuple(commit.facts.get("roots", ()))
    return Event(id_, name, commit.partitions, rewrote=commit.rewrote, roots=roots, only=only)


def _event_id(name: str, log: TableLog, version: int) -> str:
    """The same whenever the commit is looked at, and another for a table that has taken the name of an earlier one."""
    return f"{name}@{version}#{_table_id(log)[:8]}"


def _table_id(log: TableLog, position: Position | None = None) -> str:
    return log.table_id or (position.table_id if position else "")


def advanced(graph: Graph, logs: TableLogs, positions: Positions, runs: frozenset[str]) -> Positions:
    """The positions after a pass whose own commits (`runs`) were handed on inside of it. Whatever else was committed
    meanwhile stays to be seen."""
    result = dict(positions)
    for name in graph.derived:
        logs.forget(name)
        log = logs.log(name)
        for dependent in graph.dependents_of(name) if log else ():
            assert log is not None
            here = result.get((dependent, name), Position(_BEGINNING, ""))
            seen = _seen(log, here)
            if seen is None:
                continue
            for commit in log.commits(seen):
                if is_event(commit) and commit.run not in runs:
                    break
                seen = commit.version
            result[dependent, name] = Position(seen, _table_id(log, here))
    return {key: position for key, position in result.items() if position.version > _BEGINNING}
