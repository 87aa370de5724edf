"""Dates in the texts of partitions: read strictly, shifted, written (D4, D6)."""

from __future__ import annotations

import datetime as dt
from functools import lru_cache

from lakebed.errors import DependencyError
from lakebed.manifest import Shift

_REMEMBERED = 65_536


@lru_cache(_REMEMBERED)
def parse_date(text: str, format_: str) -> dt.datetime:
    """The date that a text says. DependencyError `value_does_not_parse` unless the date, written in the same format, gives
    the very same text."""
    try:
        date = dt.datetime.strptime(text, format_)  # noqa: DTZ007 - partitions have no zone
        again = date.strftime(format_)
    except (ValueError, IndexError, OverflowError) as error:
        raise _unreadable(text, format_, str(error)) from None
    if again != text:
        raise _unreadable(text, format_, f"read as a date and written again it is {again!r}")
    return date


def _unreadable(text: str, format_: str, why: str) -> DependencyError:
    return DependencyError(
        f"the value {text!r} does not fit the format {format_!r}: {why}", code="value_does_not_parse"
    )


def shifted(date: dt.datetime, shift: Shift) -> dt.datetime:
    """The date plus the shift; negative is earlier. DependencyError `date_out_of_range` where the calendar ends."""
    try:
        return date + shift.delta
    except (ValueError, OverflowError) as error:
        raise DependencyError(
            f"{date.isoformat()} cannot be shifted by {shift.delta!r}: {error}", code="date_out_of_range"
        ) from None


@lru_cache(_REMEMBERED)
def converted(text: str, parse: str, shift: Shift, format_: str) -> str:
    """A text read with one format, shifted, and written with another."""
    return shifted(parse_date(text, parse), shift).strftime(format_)
