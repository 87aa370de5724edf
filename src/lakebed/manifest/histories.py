"""What the table keeps (log, current, versions), and which feed goes with which::

lb.Versions(track=["address"])
history: {kind: versions, track: [address]}
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from lakebed.errors import OptionsError
from lakebed.manifest.feeds import Append, Changes, Ledger, Snapshot, Updates
from lakebed.manifest.options import Columns, Day, Options, Strict, Text, as_set, lower, wrong

FAR_END = dt.date(9999, 12, 31)
"""The open end of a version, unless told otherwise (V2)."""


class InitialValidFrom(Strict):
    """V3. Where the first version of a key starts: of the keys of batch 1, or of all."""

    at: Day
    keys: Literal["first_batch", "all"] = "first_batch"


class _History(Options):
    """What every history has. `own_columns` are the names it gives to its columns before `rename`."""

    rename: dict[str, Text] = Field(default_factory=dict)

    own_columns: ClassVar[Sequence[str]] = ()

    @property
    def own_names(self) -> Mapping[str, str]:
        """The names that its columns have in this table, in lower case, and those before `rename`."""
        return {self.own(column).lower(): column for column in self.own_columns}

    def own(self, column: str) -> str:
        """The name that one of the table's own columns has in this table."""
        renamed = {old.lower(): new for old, new in self.rename.items()}
        return renamed.get(column, column)

    def recorded(self) -> dict[str, Any]:
        settings = super().recorded()
        if self.rename:
            settings["rename"] = {old.lower(): new.lower() for old, new in sorted(self.rename.items())}
        return settings

    @model_validator(mode="after")
    def _rename_own_columns(self) -> _History:
        for old in self.rename:
            if old.lower() not in self.own_columns:
                raise wrong(
                    f"rename: {old!r} is not one of the table's own columns, which are {', '.join(self.own_columns)}"
                )
        if len(set(lower(self.rename))) < len(self.rename):
            raise wrong("rename: names one column twice (names are compared without regard to case)")
        names = lower(self.own(column) for column in self.own_columns)
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice:
            raise wrong(f"rename: two of the table's own columns would be called {twice!r}")
        return self


class Log(_History):
    """L1 to L4. Every change, never rewritten."""

    kind: Literal["log"] = "log"

    own_columns: ClassVar[Sequence[str]] = ("offset", "op", "system_time", "event_time")


class Current(_History):
    """C1 to C3. One row per live key."""

    kind: Literal["current"] = "current"
    deletes: Literal["remove", "flag"] = "remove"

    own_columns: ClassVar[Sequence[str]] = ("is_deleted",)
    _recorded: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"deletes": str}

    @property
    def own_names(self) -> Mapping[str, str]:
        return super().own_names if self.deletes == "flag" else {}

    @model_validator(mode="after")
    def _renames_a_flag_it_has(self) -> Current:
        if self.rename and self.deletes != "flag":
            raise wrong("rename: without `deletes: flag` the table has no column of its own")
        return self


def _initial(value: dt.date | InitialValidFrom) -> dict[str, str]:
    at, keys = (value.at, value.keys) if isinstance(value, InitialValidFrom) else (value, "first_batch")
    return {"at": at.isoformat(), "keys": keys}


class Versions(_History):
    """V1 to V8. One row per key and validity time."""

    kind: Literal["versions"] = "versions"
    track: Columns | None = None
    track_except: Columns | None = None
    deletes: Literal["close", "flag", "mark", "ignore"] = "close"
    valid_from: Text | None = None
    initial_valid_from: Day | InitialValidFrom | None = None
    open_end: Day | None = FAR_END
    end: Literal["exclusive", "inclusive_day"] = "exclusive"
    flag: Sequence[str] | None = None

    own_columns: ClassVar[Sequence[str]] = (
        "sk",
        "row_hash",
        "valid_from",
        "valid_to",
        "is_current",
        "is_deleted",
    )
    _recorded: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "track": as_set,
        "track_except": as_set,
        "deletes": str,
        "valid_from": str.lower,
        "initial_valid_from": _initial,
        "open_end": dt.date.isoformat,
        "end": str,
        "flag": list,
    }

    @property
    def initial(self) -> InitialValidFrom | None:
        """`initial_valid_from` in its long form."""
        if isinstance(self.initial_valid_from, dt.date):
            return InitialValidFrom(at=self.initial_valid_from)
        return self.initial_valid_from

    @field_validator("flag", mode="before")
    @classmethod
    def _two_texts(cls, value: object) -> object:
        if value is None:
            return None
        pair = tuple(value) if isinstance(value, (list, tuple)) else ()
        if len(pair) != 2 or not all(isinstance(text, str) for text in pair) or pair[0] == pair[1]:
            raise wrong(
                f"expected two different texts, for true and for false, such as ['Y', 'N'], found {value!r}"
            )
        return pair

    @model_validator(mode="after")
    def _one_way_to_track(self) -> Versions:
        if self.track is not None and self.track_except is not None:
            raise wrong("track and track_except contradict each other: give one of them (V4)")
        return self


History = Annotated[Log | Current | Versions, Field(discriminator="kind")]

AnyFeed = Append | Ledger | Snapshot | Updates | Changes
AnyHistory = Log | Current | Versions

_GO_TOGETHER: dict[str, tuple[str, ...]] = {
    "append": ("log",),
    "ledger": ("log", "current"),
    "snapshot": ("log", "current", "versions"),
    "updates": ("log", "current", "versions"),
    "changes": ("log", "current", "versions"),
}


def name_taken(history: AnyHistory, name: str, event_time: str | None) -> tuple[str, str] | None:
    """G9: what is wrong with a stored column of this name, and the way out; None if the table has not taken it for itself. The event
    time of a log may be a column that is declared so (L1)."""
    own = history.own_names.get(name.lower())
    declared = own == "event_time" and event_time is not None and event_time.lower() == name.lower()
    if own is None or (isinstance(history, Log) and declared):
        return None
    return (
        f"the column {name!r} has the name of one of the table's own columns",
        f"rename: {{{own}: another name}} in the history, or except_columns: [{name}]",
    )


def check_combination(feed: AnyFeed, history: AnyHistory) -> None:
    """Refuse a feed and a history that do not go together, and options of one that the other contradicts."""
    histories = _GO_TOGETHER[feed.kind]
    if history.kind not in histories:
        raise OptionsError(
            f"feed {feed.kind!r} does not go with history {history.kind!r}",
            code="unsupported_combination",
            hint=f"with {feed.kind!r} use history: {' or '.join(histories)}",
        )
    if isinstance(history, Versions) and history.track:
        _check_tracked(feed, history.track)


def _check_tracked(feed: AnyFeed, track: Sequence[str]) -> None:
    """V4: key, order, time columns are never tracked; what is not stored cannot be."""
    event_time = feed.event_time_column
    never: dict[str, Sequence[str]] = {
        "the key": getattr(feed, "key", ()),
        "order_by": getattr(feed, "order_by", ()),
        "event_time": [event_time.column] if event_time else (),
        "except_columns": feed.except_columns,
    }
    for option, columns in never.items():
        both = set(lower(track)) & set(lower(columns))
        if both:
            raise OptionsError(
                f"track names the column {min(both)!r}, which is in {option}: such a column is never tracked (V4)",
                where="Versions",
                hint="take it out of track",
            )
