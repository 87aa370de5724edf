"""strftime formats of partitions and tokens: can a date be written with them, and read back?"""

from __future__ import annotations

import datetime as dt

_SAMPLE = dt.datetime(2001, 11, 23, 14, 15, 16, 123456)  # noqa: DTZ001 - partitions have no zone


def problem_with_output_format(format_: str) -> str | None:
    """Why no date can be written with this format, as half a sentence; None if one can."""
    if "%" not in format_:
        return f"{format_!r} has no directive such as %Y in it"
    if "%" in _SAMPLE.strftime(format_.replace("%%", "")):
        return f"{format_!r} has a directive that strftime does not know"
    return None


def problem_with_partition_format(format_: str) -> str | None:
    """Why a text in this format does not tell its date."""
    if problem := problem_with_output_format(format_):
        return problem
    text = _SAMPLE.strftime(format_)
    try:
        date = dt.datetime.strptime(text, format_)  # noqa: DTZ007 - partitions have no zone
    except (ValueError, IndexError) as error:
        return f"a date that was written as {text!r} cannot be read back ({error})"
    if date.year != _SAMPLE.year:
        return "it has no year (%Y)"
    return None if date.strftime(format_) == text else f"{text!r} reads back as another date"
