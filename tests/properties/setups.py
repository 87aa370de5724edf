"""The tables that random histories run through: every feed with every history it goes with, under many options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

COLUMNS = (
    "h bigint, k bigint, a string, b string, n bigint, seq bigint, op string, t timestamp, cols array<string>"
)
DATA = ("a", "b", "n")
_CHANGES: dict[str, Any] = {
    "delete_when": "op = 'D'",
    "ignore_when": "op = 'B'",
    "upsert_when": "op IN ('I', 'U')",
}
_HIDDEN = ["seq", "op", "t", "cols"]


@dataclass(frozen=True)
class Circumstances:
    """What holds for a whole batch: all histories that share a table share it."""

    first: tuple[Mapping[str, Any], ...] = ()  # truncates before all other rows
    last: tuple[Mapping[str, Any], ...] = ()  # and after them
    lacks: frozenset[str] = frozenset()  # columns that the batch does not have
    kinds: tuple[tuple[str, str], ...] = ()  # columns that have another type in it
    event_time: str | None = None

    @property
    def columns(self) -> str:
        kinds = dict(self.kinds)
        parts = (part.split(" ") for part in COLUMNS.split(", "))
        return ", ".join(f"{name} {kinds.get(name, kind)}" for name, kind in parts if name not in self.lacks)


@dataclass(frozen=True)
class Setup:
    """A feed, a history, and what the batches and rows generated for it may hold."""

    name: str
    feed: Mapping[str, Any]
    history: Mapping[str, Any]
    ties: bool = True  # several contents at one order
    bad: bool = True  # rows without key or order
    truncates: bool = False
    in_order: bool = False  # no event comes after a batch with newer ones
    batches: tuple[Circumstances, ...] = (Circumstances(),) * 3

    @property
    def ordered(self) -> bool:
        return bool(self.feed.get("order_by"))

    @property
    def converges(self) -> bool:
        """Whether G6 promises one table for every delivery."""
        return self.ordered and self.history["kind"] != "log" and not self.history.get("initial_valid_from")

    @property
    def times_declared(self) -> bool:
        """Whether the batches have an event time of their own (V3)."""
        return any(batch.event_time is not None for batch in self.batches)

    @property
    def pair(self) -> tuple[str, str]:
        return self.feed["kind"], self.history["kind"]


def _feed(kind: str, hidden: list[str] | None = None, **options: Any) -> dict[str, Any]:
    keyed = {} if kind == "append" else {"key": ["h", "k"]}
    return {"kind": kind, **keyed, "except_columns": _HIDDEN if hidden is None else hidden, **options}


def _feeds() -> dict[str, list[tuple[str, dict[str, Any], dict[str, Any]]]]:
    """For each kind: a name, the options, and what the rows may hold."""
    by_time = ["seq", "op", "cols"]
    changes = _feed("changes", order_by=["seq"], **_CHANGES)
    return {
        "append": [
            ("arrival", _feed("append"), {"bad": False}),
            ("event time", _feed("append", by_time, event_time="t"), {}),
        ],
        "ledger": [
            ("arrival", _feed("ledger"), {}),
            ("event time", _feed("ledger", by_time, event_time="t"), {}),
            ("correcting", _feed("ledger", on_modified="correct"), {}),
            ("correcting, event time", _feed("ledger", by_time, on_modified="correct", event_time="t"), {}),
        ],
        "snapshot": [
            ("plain", _feed("snapshot", allow_empty=True), {"bad": False}),
            ("compare a", _feed("snapshot", allow_empty=True, compare=["a"]), {"bad": False}),
            ("scope n", _feed("snapshot", allow_empty=True, scope=["h", "n"]), {"bad": False}),
        ],
        "updates": [
            ("order", _feed("updates", order_by=["seq"]), {}),
            ("order, no ties", _feed("updates", order_by=["seq"]), {"ties": False}),
            ("stored order", _feed("updates", ["op", "t", "cols"], order_by=["seq"]), {}),
            ("arrival", _feed("updates"), {}),
            ("ignore nulls", _feed("updates", order_by=["seq"], ignore_nulls=True), {}),
            ("in order", _feed("updates", order_by=["seq"]), {"in_order": True}),
            ("event time", _feed("updates", by_time, order_by=["seq"], event_time="t"), {}),
        ],
        "changes": [
            ("order", changes, {}),
            ("order, no ties", changes, {"ties": False}),
            ("arrival", _feed("changes", **_CHANGES), {}),
            ("ignore nulls in a", changes | {"ignore_nulls": ["a"]}, {}),
            ("present columns", changes | {"present_columns": "cols"}, {}),
            ("ignore nulls, no ties", changes | {"ignore_nulls": True}, {"ties": False}),
            ("in order", changes, {"in_order": True}),
            ("event time", changes | {"event_time": "t"}, {}),
            ("order of two columns", changes | {"order_by": ["t", "seq"]}, {}),
            ("in order, present columns", changes | {"present_columns": "cols"}, {"in_order": True}),
        ],
    }


_HISTORIES: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "log": [("", {})],
    "current": [("", {}), ("flag", {"deletes": "flag"})],
    "versions": [
        ("", {}),
        ("track a", {"track": ["a"]}),
        ("track no n, flag", {"track_except": ["n"], "deletes": "flag"}),
        ("one per life, mark", {"track": [], "deletes": "mark"}),
        ("mark", {"deletes": "mark"}),
        ("ignore", {"deletes": "ignore"}),
        ("valid from t", {"valid_from": "t"}),
        ("valid from t, by day, flag", {"valid_from": "t", "end": "inclusive_day", "deletes": "flag"}),
        ("initial", {"valid_from": "t", "initial_valid_from": "1900-01-01", "flag": ["Y", "N"]}),
        (
            "initial of all",
            {"valid_from": "t", "initial_valid_from": {"at": "1900-01-01", "keys": "all"}, "open_end": None},
        ),
        ("renamed", {"rename": {"valid_from": "since", "is_current": "now"}}),
    ],
}
_GO_TOGETHER = {
    "append": ("log",),
    "ledger": ("log", "current"),
    "snapshot": ("log", "current", "versions"),
    "updates": ("log", "current", "versions"),
    "changes": ("log", "current", "versions"),
}


def setups() -> Iterator[Setup]:
    """All of them, pair by pair."""
    for feed_kind, feeds in _feeds().items():
        for kind in _GO_TOGETHER[feed_kind]:
            for feed_name, feed, holds in feeds:
                for name, options in _HISTORIES[kind]:
                    title = f"{feed_kind} ({feed_name}) as {kind}" + (f" ({name})" if name else "")
                    yield Setup(title, feed, {"kind": kind, **options}, **holds)


def by_pair() -> dict[tuple[str, str], list[Setup]]:
    """The setups of each pair of feed and history."""
    found: dict[tuple[str, str], list[Setup]] = {}
    for setup in setups():
        found.setdefault(setup.pair, []).append(setup)
    return found
