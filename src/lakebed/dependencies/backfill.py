"""A range of target partitions, asked for by hand (D14)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from lakebed.dependencies.dates import parse_date
from lakebed.dependencies.events import Cause, Partition, Target, Write, partition_of
from lakebed.dependencies.graph import Edge, Graph
from lakebed.dependencies.mapping import target_of
from lakebed.dependencies.planner import Pass, played
from lakebed.dependencies.presence import Presence
from lakebed.dependencies.results import Plan, Refused, Waiting
from lakebed.dependencies.state import Pending, State
from lakebed.errors import DependencyError
from lakebed.manifest import Derived, Shift
from lakebed.manifest.shifts import parse_weekday

MOST_VALUES = 200_000
_CALENDAR = (dt.datetime.min, dt.datetime.max)  # noqa: DTZ901 - partitions have no zone
# The smallest step between two values of a format, by its directives.
_GRAINS = (
    (("%S", "%T", "%X", "%c", "%r", "%s"), dt.timedelta(seconds=1)),
    (("%M", "%R"), dt.timedelta(minutes=1)),
    (("%H", "%I"), dt.timedelta(hours=1)),
)
# How many days a partition can span at most, by the directives of its format.
_LENGTHS = (
    (("%d", "%j", "%u", "%w", "%D", "%F", "%x", "%c"), 1),
    (("%V", "%U", "%W"), 7),
    (("%m", "%b", "%B"), 31),
)


@dataclass(frozen=True)
class Range:
    """The partitions of a dataset from `first` to `last`, both included, written as the target's are. A dataset without
    partitions has neither.

    `cause` names this backfill: a new one is a new cause. `missing` leaves out what is there, unless it is in `failed`.
    """

    dataset: str
    first: str | None
    last: str | None
    cause: str
    missing: bool = False
    failed: Collection[str | None] = ()
    cascade: bool = False


def plan_backfill(
    graph: Graph, wanted: Range, present: Mapping[str, frozenset[Partition]] | None = None
) -> Plan:
    """Every run of a backfill, with what follows from it if it cascades; nothing is run.

    `present` tells what is there: a target whose inputs are not there waits instead. Without it, all inputs count as there
    and no target does.
    """
    pass_, waiting, refused = begin_backfill(graph, wanted, present)
    done = played(pass_)
    return Plan(
        done.outcomes,
        (*waiting, *done.waiting),
        (*refused, *done.refused),
        done.reported,
        done.already_handled,
        done.state,
    )


def begin_backfill(
    graph: Graph,
    wanted: Range,
    present: Mapping[str, frozenset[Partition]] | None = None,
    pending: Mapping[Target, Pending] | None = None,
) -> tuple[Pass, list[Waiting], list[Refused]]:
    """A pass that has the backfill's runs lined up, and those of its targets that cannot run. `pending` is what waited
    before."""
    derived = _derived(graph, wanted.dataset)
    needed = sources(graph, derived, wanted.first, wanted.last)
    there = Presence(graph, present if present is not None else _all_of(needed))
    pass_ = Pass(graph, (), State(present=there.frozen(), waiting=pending or {}), cascade=wanted.cascade)
    waiting: list[Waiting] = []
    refused: list[Refused] = []
    write: Write = "overwrite" if any(one.usage == "overwrite" for one in derived.dependencies) else "append"
    for target, by_edge in needed.items():
        if wanted.missing and there.has(target) and target.value not in wanted.failed:
            continue
        causes = tuple(
            Cause(wanted.cause, edge.dependency.table_name, partitions, (wanted.cause,), write)
            for edge, partitions in by_edge.items()
        )
        partition = partition_of(derived, target.value)
        arrived, lacking = there.arrived_and_missing(derived, target)
        if lacking and present is not None:
            waiting.append(Waiting(derived.name, partition, tuple(arrived), tuple(lacking), causes))
        elif write == "append" and there.has(target):
            what = f"{derived.name} only appends, and its partition is there already: its rows would be there twice"
            refused.append(Refused(derived.name, partition, "append_holds_rows", what, causes))
        else:
            pass_.ask(derived, target.value, causes)
    return pass_, waiting, refused


def sources(
    graph: Graph, derived: Derived, first: str | None, last: str | None
) -> dict[Target, dict[Edge, tuple[Partition, ...]]]:
    """Every target in the range that some source value leads to, by date, and all source values that lead to it."""
    edges = [edge for edge in graph.edges_into(derived.name) if edge.dependency.triggers]
    mask = derived.partition_python_mask
    if derived.partition_column is None:
        return {Target(derived.name.lower(), None): dict.fromkeys(edges, (Partition(),))}
    if first is None or last is None or mask is None:
        raise DependencyError(
            f"{derived.name} has partitions, so a backfill needs the first and the last",
            code="range_missing",
        )
    low, high = parse_date(first, mask), parse_date(last, mask)
    if low > high:
        raise DependencyError(f"the range ends before it starts: {first} to {last}", code="range_empty")
    found: dict[Target, dict[Edge, list[Partition]]] = {}
    for edge in edges:
        for target, partition in _values(edge, low, high):
            if low <= parse_date(str(target.value), mask) <= high:
                found.setdefault(target, {}).setdefault(edge, []).append(partition)
    by_date = sorted(found, key=lambda target: parse_date(str(target.value), mask))
    return {target: {edge: tuple(some) for edge, some in found[target].items()} for target in by_date}


def _derived(graph: Graph, name: str) -> Derived:
    derived = graph.derived.get(name.lower())
    if derived is None:
        known = ", ".join(item.name for item in graph.items) or "none"
        raise DependencyError(
            f"there is no derived dataset {name!r}; known are {known}", code="unknown_dataset"
        )
    return derived


def _all_of(needed: Mapping[Target, Mapping[Edge, tuple[Partition, ...]]]) -> dict[str, set[Partition]]:
    """As if every source value were there."""
    there: dict[str, set[Partition]] = {}
    for by_edge in needed.values():
        for edge, partitions in by_edge.items():
            there.setdefault(edge.source, set()).update(partitions)
    return there


def _values(edge: Edge, low: dt.datetime, high: dt.datetime) -> Iterator[tuple[Target, Partition]]:
    """The values that a source can have around a range of targets, each with the target it leads to."""
    format_, column = edge.dependency.date_expression, edge.dependency.field_column
    if format_ is None or column is None:
        return
    seen: set[str] = set()
    for date in _dates(edge, low, high, _grain(format_)):
        value = date.strftime(format_)
        if value in seen:
            continue
        seen.add(value)
        partition = Partition(((column, value),))
        try:
            yield target_of(edge.derived, edge.dependency, partition), partition
        except DependencyError:
            continue


def _dates(edge: Edge, low: dt.datetime, high: dt.datetime, grain: dt.timedelta) -> Iterator[dt.datetime]:
    reach = _reach(edge.dependency.relativedelta_attributes, edge.derived.partition_python_mask or "")
    low, high = low.replace(tzinfo=None), high.replace(tzinfo=None)
    start = low - min(reach, low - _CALENDAR[0])
    end = high + min(reach, _CALENDAR[1] - high)
    count = (end - start) // grain + 1
    if count > MOST_VALUES:
        raise DependencyError(
            f"{count} values of {edge.dependency.table_name} would have to be looked at",
            code="range_too_large",
            hint="ask for a smaller range",
        )
    return (start + grain * step for step in range(count))


def _grain(format_: str) -> dt.timedelta:
    if "%f" in format_:
        raise DependencyError(f"the values of {format_!r} are too many to be listed", code="range_too_large")
    return next((grain for names, grain in _GRAINS if _has(format_, names)), dt.timedelta(days=1))


def _reach(shift: Shift, mask: str) -> dt.timedelta:
    """How far a source's date can lie from its target's, at most: the shift itself, what its absolute parts may hide, and
    the length of a target partition."""
    if shift.year is not None:
        raise DependencyError("a shift to a fixed year has no range of sources", code="range_too_large")
    days = 366 * abs(shift.years) + 31 * abs(shift.months) + 7 * abs(shift.weeks) + abs(shift.days)
    days += abs(shift.leapdays) + next((length for names, length in _LENGTHS if _has(mask, names)), 366)
    if shift.weekday is not None:
        days += 7 * (abs(parse_weekday(shift.weekday)[1]) + 1)
    if {shift.month, shift.yearday, shift.nlyearday} != {None}:
        days += 366
    elif shift.day is not None:
        days += 31
    hours = abs(shift.hours) + abs(shift.minutes) / 60 + abs(shift.seconds) / 3600 + 24
    return dt.timedelta(days=days, hours=hours)


def _has(format_: str, directives: tuple[str, ...]) -> bool:
    return any(directive in format_ for directive in directives)
