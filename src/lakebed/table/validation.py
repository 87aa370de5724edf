"""A batch's rows as changes, with every count of them, before anything is written (G5, G8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.errors import BadRowsError, BatchError, OptionsError
from lakebed.history.columns import (
    DELETE,
    FILE,
    FROM,
    IGNORED,
    KIND,
    LINE,
    RAW,
    REASON,
    TRUNCATE,
    as_json,
    as_one,
    internal,
)
from lakebed.history.normalise import Moment, normalise
from lakebed.history.shape import Shape
from lakebed.manifest.histories import AnyFeed
from lakebed.tables.staging import Staging

_REASONS = (
    "unreadable",
    "bad_cast",
    "unknown_operation",
    "null_order",
    "null_key",
    "null_event_time",
)


def refuse_conditions(feed: AnyFeed) -> None:
    """F5: a condition that is no SQL is refused when the table is opened. Whether its columns exist, only a batch can tell."""
    for name in ("ignore_when", "truncate_when", "delete_when", "upsert_when"):
        condition = getattr(feed, name, None)
        if condition is None:
            continue
        try:
            F.expr(condition)
        except ParseException as error:
            raise OptionsError(
                f"{name} is not an SQL condition: {condition!r}",
                hint="write it as after WHERE, such as op = 'D'",
            ) from error


def changes_of(df: DataFrame, shape: Shape, moment: Moment, where: str) -> DataFrame:
    """The batch as changes, not computed yet."""
    try:
        return normalise(df, shape, moment)
    except AnalysisException as error:
        raise BatchError(
            f"a condition of the feed does not fit the batch's columns: {str(error).splitlines()[0]}",
            code="invalid_options",
            where=where,
            hint="check delete_when, truncate_when, ignore_when and upsert_when against the source's columns",
        ) from error


def row_counts() -> dict[str, Column]:
    """Every count of a batch's changes, for whoever passes over them first."""
    reason, kind = F.col(REASON), F.col(KIND)
    good = reason.isNull()
    return {
        "read": F.count(F.lit(1)),
        "rejected": F.count_if(~good),
        "ignored": F.count_if(kind == IGNORED),
        "deletes": F.count_if(good & (kind == DELETE)),
        "truncates": F.count_if(good & (kind == TRUNCATE)),
        "least_from": F.min(F.when(good, F.col(FROM))),
        **{f"reason_{name}": F.count_if(reason == name) for name in _REASONS},
    }


def counted(changes: DataFrame, staging: Staging | None) -> tuple[DataFrame, dict[str, Any]]:
    """Changes and all their counts, found in one pass: while they are staged, where that is needed for all that follows to see
    the same rows."""
    counts = row_counts()
    if staging is not None:
        return staging.write(changes, "rows", counts)
    row = changes.agg(*[value.alias(name) for name, value in counts.items()]).first()
    assert row is not None
    return changes, row.asDict()


def refuse_bad_rows(feed: AnyFeed, rows: DataFrame, counts: dict[str, Any], where: str) -> None:
    """Raises `BadRowsError` where the feed does not allow as many bad rows as were counted."""
    reasons = {name: int(counts.pop(f"reason_{name}")) for name in _REASONS}
    reasons = {name: n for name, n in reasons.items() if n}
    bad, read = int(counts["rejected"]), int(counts["read"])
    if bad <= _allowed(feed, read):
        return
    names = [name for name in rows.columns if not internal(name)]
    sample = rows.where(F.col(REASON).isNotNull()).select(_for_people(names)).take(3)
    hint = "mend the source, or set on_bad_rows: quarantine to set such rows aside"
    if feed.on_bad_rows != "fail":
        hint = "mend the source, or raise max_bad_rows or max_bad_fraction"
    raise BadRowsError(
        f"{bad} of {read} rows of the batch cannot be used",
        code=next(iter(reasons)) if len(reasons) == 1 else "bad_rows",
        where=where,
        counts=reasons,
        sample=[row[0] for row in sample],
        hint=hint,
    )


def _for_people(names: Sequence[str]) -> Column:
    """A bad row: where it came from, if that is known, and as it came, or with all its values."""
    line = F.coalesce(F.concat(F.lit(", line "), F.col(LINE).cast("string")), F.lit(""))
    place = F.coalesce(F.concat(F.col(FILE), line, F.lit(": ")), F.lit(""))
    values = as_json(as_one(names))
    return F.concat(place, F.coalesce(F.col(RAW), values))


def _allowed(feed: AnyFeed, read: int) -> float:
    """How many bad rows the batch may have."""
    if feed.on_bad_rows == "fail":
        return 0
    rows = float("inf") if feed.max_bad_rows is None else feed.max_bad_rows
    share = float("inf") if feed.max_bad_fraction is None else feed.max_bad_fraction * read
    return min(rows, share)
