"""Formats of times in paths and columns: strftime directives that read back to the same text, and epoch numbers.

Pure text work: nothing here knows Spark or files.
"""

from __future__ import annotations

import re

# How each directive looks as text. Names of months and days are left out: they depend on the machine's language.
DIRECTIVES: dict[str, str] = {
    "%Y": r"[0-9]{4}",
    "%y": r"[0-9]{2}",
    "%m": r"[0-9]{2}",
    "%d": r"[0-9]{2}",
    "%j": r"[0-9]{3}",
    "%H": r"[0-9]{2}",
    "%M": r"[0-9]{2}",
    "%S": r"[0-9]{2}",
    "%f": r"[0-9]{6}",
    "%%": "%",
}
EPOCHS = ("epoch_s", "epoch_ms", "epoch_us")

# What a directive leaves open without another one: a day without its month is no time.
_NEEDS: dict[str, tuple[tuple[str, ...], str]] = {
    "%m": (("%Y", "%y"), "a year (%Y)"),
    "%d": (("%m",), "a month (%m)"),
    "%j": (("%Y", "%y"), "a year (%Y)"),
    "%H": (("%d", "%j"), "a day (%d)"),
    "%M": (("%H",), "an hour (%H)"),
    "%S": (("%M",), "minutes (%M)"),
    "%f": (("%S",), "seconds (%S)"),
}


def directives(format_: str) -> list[str]:
    """The directives of a strftime format, in order, `%%` included."""
    return re.findall(r"%.?", format_, flags=re.DOTALL)


def problem_with_format(format_: str) -> str | None:
    """Why this strftime format cannot be used, as half a sentence; None if it can."""
    found = directives(format_)
    unknown = next((directive for directive in found if directive not in DIRECTIVES), None)
    if unknown:
        return f"{unknown!r} is no directive that can be used; known are {' '.join(DIRECTIVES)}"
    times = [directive for directive in found if directive != "%%"]
    repeated = next((directive for directive in times if times.count(directive) > 1), None)
    if repeated:
        return f"{repeated} is in it twice"
    return _gap(set(times))


def _gap(times: set[str]) -> str | None:
    """Why these directives together are no time."""
    if not {"%Y", "%y"} & times:
        return "it has no year (%Y)"
    if {"%Y", "%y"} <= times:
        return "it has both %Y and %y"
    if "%j" in times and {"%m", "%d"} & times:
        return "it has both %j (day of the year) and %m or %d"
    for directive, (others, wanted) in _NEEDS.items():
        if directive in times and not set(others) & times:
            return f"{directive} needs {wanted} beside it"
    return None


def problem_with_column_format(format_: str) -> str | None:
    """The same for the format of a column, where epoch numbers are known too."""
    if format_ in EPOCHS:
        return None
    if "%" not in format_:
        return f"{format_!r} is neither a strftime format such as '%Y-%m-%d' nor one of {', '.join(EPOCHS)}"
    return problem_with_format(format_)
