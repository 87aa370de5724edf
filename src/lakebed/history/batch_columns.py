"""Which columns a batch must have, which it may lack, and which it may not have (G9)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql.types import StructField

from lakebed.errors import BatchError
from lakebed.history.columns import find, internal
from lakebed.manifest import Changes, Snapshot, Updates, Versions
from lakebed.manifest.histories import AnyFeed as Feed
from lakebed.manifest.histories import AnyHistory as History
from lakebed.manifest.histories import name_taken


def refuse_names(given: Sequence[StructField]) -> None:
    seen: dict[str, str] = {}
    for f in given:
        if not f.name.strip():
            raise BatchError(
                "a column has an empty name", code="ambiguous_column", hint="give every column a name"
            )
        if internal(f.name):
            raise BatchError(
                f"the column {f.name!r} has the prefix of lakebed's internal columns",
                code="reserved_column",
                hint="rename it in the source, or leave it out",
            )
        if f.name.lower() in seen:
            raise BatchError(
                f"the columns {seen[f.name.lower()]!r} and {f.name!r} differ only in case",
                code="ambiguous_column",
                hint="names are case-insensitive: rename or leave out one of them",
            )
        seen[f.name.lower()] = f.name


def require_columns(
    feed: Feed,
    history: History,
    columns: Sequence[StructField],
    sources: dict[str, str],
    data: Sequence[StructField],
) -> None:
    for option, code in (("key", "missing_key_column"), ("order_by", "missing_order_column")):
        for name in getattr(feed, option, ()):
            if find(name, sources) is None:
                raise _missing(name, f"is named in {option}", code)
    stored = [f.name for f in columns]
    for name, why, unseen in needed_columns(feed, history):
        legal = feed.on_missing_column != "fail" and find(name, [*stored, *unseen]) is not None
        if find(name, sources) is None and not legal:
            raise _missing(name, why, "missing_column")
    for option, names in _column_lists(feed, history).items():
        for name in names:
            if find(name, stored) is None:
                raise _missing(name, f"is named in {option}", "missing_column")
    if feed.on_missing_column == "fail":
        lost = [f.name for f in data if f.name not in sources]
        if lost:
            raise _missing(
                ", ".join(lost), "is in the table, and on_missing_column is fail", "missing_column"
            )


def needed_columns(feed: Feed, history: History) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Columns that options name, why, and where else than in the table a name proves that it is no slip of the pen: a batch may
    lack such a column, which is NULL then (G9). The type of valid_from must be known."""
    if feed.event_time_column:
        yield feed.event_time_column.column, "is the declared event time", feed.except_columns
    if isinstance(history, Versions) and history.valid_from:
        yield history.valid_from, "is named in valid_from", ()
    if isinstance(feed, (Updates, Changes)) and feed.present_columns:
        yield feed.present_columns, "is named in present_columns", feed.except_columns


def _column_lists(feed: Feed, history: History) -> dict[str, Sequence[str]]:
    lists: dict[str, Sequence[str]] = {}
    if isinstance(feed, Snapshot):
        lists["compare"] = feed.compare or ()
        lists["scope"] = feed.scope or ()
    if isinstance(feed, (Updates, Changes)) and not isinstance(feed.ignore_nulls, bool):
        lists["ignore_nulls"] = feed.ignore_nulls
    if isinstance(history, Versions):
        lists["track"] = history.track or ()
    return lists


def _missing(name: str, why: str, code: str) -> BatchError:
    return BatchError(
        f"the column {name!r} {why}, and the batch does not have it",
        code=code,
        hint="check the source's columns against the feed's options",
    )


def refuse_own_names(data: Sequence[StructField], history: History, event_time: str | None) -> None:
    for f in data:
        if taken := name_taken(history, f.name, event_time):
            raise BatchError(taken[0], code="reserved_column", hint=taken[1])
