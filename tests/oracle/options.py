"""Feed and history options: what goes together (refused when built), and what a table remembers (G9)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

Options = Mapping[str, Any]

PAIRS = {
    "append": ("log",),
    "ledger": ("log", "current"),
    "snapshot": ("log", "current", "versions"),
    "updates": ("log", "current", "versions"),
    "changes": ("log", "current", "versions"),
}
_EVERY_FEED = {"kind", "event_time", "except_columns", "on_bad_rows", "on_missing_column"}
_PARTIAL = {"ignore_nulls", "present_columns"}
_FEEDS = {
    "append": _EVERY_FEED,
    "ledger": _EVERY_FEED | {"key", "on_modified"},
    "snapshot": _EVERY_FEED | {"key", "compare", "scope", "allow_empty", "max_delete_fraction", "on_stale"},
    "updates": _EVERY_FEED | _PARTIAL | {"key", "order_by"},
    "changes": _EVERY_FEED
    | _PARTIAL
    | {"key", "order_by", "delete_when", "truncate_when", "ignore_when", "upsert_when"},
}
_EVERY_HISTORY = {"kind", "rename", "partition_by"}
_HISTORIES = {
    "log": _EVERY_HISTORY,
    "current": _EVERY_HISTORY | {"deletes"},
    "versions": _EVERY_HISTORY
    | {"track", "track_except", "deletes", "valid_from", "initial_valid_from", "open_end", "end", "flag"},
}
_CHOICES = {
    "on_bad_rows": ("quarantine", "fail"),
    "on_missing_column": ("null", "keep", "fail"),
    "on_modified": ("ignore", "fail", "correct"),
    "on_stale": ("fail", "skip"),
    "end": ("exclusive", "inclusive_day"),
}
_DELETES = {"current": ("flag",), "versions": ("close", "flag", "mark", "ignore")}
_FREE = {"allow_empty", "max_delete_fraction", "on_bad_rows", "on_missing_column", "on_modified", "on_stale"}
_DEFAULTS = {"deletes": "close", "end": "exclusive", "open_end": "9999-12-31"}
_NAMES = {
    *(
        f"feed.{name}"
        for name in ("key", "order_by", "except_columns", "compare", "scope", "event_time", "present_columns")
    ),
    *(f"history.{name}" for name in ("track", "track_except", "valid_from")),
    "feed.ignore_nulls",
}

OWN_COLUMNS = {
    "log": ("offset", "op", "system_time", "event_time"),
    "current": (),
    "versions": ("sk", "row_hash", "valid_from", "valid_to", "is_current", "is_deleted"),
}


def refusal(feed: Options, history: Options) -> str | None:
    """The code with which this pair is refused when it is built; None if it is fine."""
    kind, kept = feed.get("kind"), history.get("kind")
    if kind not in PAIRS or kept not in _HISTORIES:
        return "invalid_options"
    if kept not in PAIRS[kind]:
        return "unsupported_combination"
    own = [name.lower() for name in OWN_COLUMNS[kept] or ("is_deleted",)]
    rename = {name.lower(): other for name, other in (history.get("rename") or {}).items()}
    names = lower(rename.get(name, name) for name in own)
    flag = history.get("flag")
    wrong = (
        set(feed) - _FEEDS[kind],
        set(history) - _HISTORIES[kept],
        kind != "append" and not feed.get("key"),
        any(feed.get(name, choices[0]) not in choices for name, choices in _CHOICES.items() if name != "end"),
        history.get("end", "exclusive") not in _CHOICES["end"],
        "deletes" in history and history["deletes"] not in _DELETES.get(kept, ()),
        len({*lower(feed.get("key"))}) < len(feed.get("key") or ()),
        {*lower(feed.get("key"))} & {*lower(feed.get("except_columns"))},
        set(rename) - set(own) or len(set(names)) < len(names),
        flag is not None and (len(flag) != 2 or flag[0] == flag[1]),
        not _is_day(history.get("initial_valid_from")),
        feed.get("ignore_nulls") and feed.get("present_columns"),
        history.get("track") is not None and history.get("track_except") is not None,
        not 0 <= (feed.get("max_delete_fraction") or 0) <= 1,
    )
    return "invalid_options" if any(wrong) else None


def start_column(feed: Options, history: Options, *, times_declared: bool) -> str | None:
    """The column that valid_from comes from, in lower case; None where it is a time of the row or the batch (V3)."""
    if history["kind"] != "versions":
        return None
    if history.get("valid_from"):
        return str(history["valid_from"]).lower()
    if feed["kind"] == "snapshot" or feed.get("event_time") or times_declared or not feed.get("order_by"):
        return None
    return str(feed["order_by"][0]).lower()


def start_refused(feed: Options, history: Options, column: str | None) -> bool:
    """Whether valid_from must be a date or time: for days, for an initial time, and where a delete may lack it, which takes
    its event time then (G3)."""
    if history.get("end") == "inclusive_day" or history.get("initial_valid_from"):
        return True
    return history.get("deletes") != "ignore" and _deletes_may_lack(feed, column)


def _deletes_may_lack(feed: Options, column: str | None) -> bool:
    if feed.get("delete_when") or feed.get("truncate_when"):
        return column not in lower(feed.get("order_by"))
    return bool(feed["kind"] == "snapshot")


def _is_day(initial: Any) -> bool:
    at = initial.get("at") if isinstance(initial, Mapping) else initial
    try:
        return at is None or bool(date.fromisoformat(str(at)[:10]))
    except ValueError:
        return False


def remembered(feed: Options, history: Options) -> dict[str, Any]:
    """What may not change once the table exists (G9)."""
    kept = {f"feed.{name}": value for name, value in feed.items() if name not in _FREE}
    kept |= {f"history.{name}": value for name, value in history.items() if _DEFAULTS.get(name) != value}
    return {name: _without_case(value) if name in _NAMES else value for name, value in kept.items()}


def _without_case(names: Any) -> Any:
    if isinstance(names, str):
        return names.lower()
    return lower(names) if isinstance(names, list) else names


def own_columns(history: Options) -> dict[str, str]:
    """The table's own columns and what they are called in it (G9 `rename`)."""
    own: tuple[str, ...] = OWN_COLUMNS[history["kind"]]
    if history["kind"] == "current" and history.get("deletes") == "flag":
        own = ("is_deleted",)
    return {name: (history.get("rename") or {}).get(name, name) for name in own}


def lower(names: Any) -> list[str]:
    """Column names as they are compared: in lower case (G9)."""
    return [name.lower() for name in names or ()]
