"""Patterns of landing paths: `crm/customers/{date:%Y%m%d}.csv`.

A part in braces has a name and, for a time, a strftime format; without a format it is any text inside one folder or
file name. `{partitions}` is any number of `name=value` folders, `{folders}` of any. Everything else is taken literally. Pure: text in, text and times out::

    pattern = compile_pattern("crm/customers/{date:%Y%m%d}.csv")
    pattern.match("crm/customers/20240131.csv")      # {"date": datetime(2024, 1, 31, tzinfo=UTC)}
    pattern.match("crm/customers/20240231.csv")      # None: there is no such day
    pattern.near_miss("crm/customers/20240231.csv")  # "date: '20240231' is no time of the format %Y%m%d"
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from lakebed.manifest.formats import DIRECTIVES, problem_with_format

PartValue = str | dt.datetime
PARTITIONS = "partitions"
_WHOLE_FOLDERS = {PARTITIONS: r"(?:[^/=]+=[^/]*/)*", "folders": r"(?:[^/]+/)*"}  # any number of them
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_PART = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class PatternError(ValueError):
    """The pattern cannot be used; the text is half a sentence that says why."""


@dataclass(frozen=True)
class PathPattern:
    """A compiled pattern. `formats` has every part's name, with its strftime format or None for text."""

    text: str
    regex: re.Pattern[str]
    formats: Mapping[str, str | None]

    @property
    def folder(self) -> str:
        """The folders before the first part in braces: where a listing may start. "" is the landing folder itself."""
        literal = self.text.split("{", 1)[0]
        return literal.rpartition("/")[0]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of `name=value` folders (`country={country}`), which become data columns."""
        return tuple(folder.partition("=")[0] for folder in self.text.split("/")[:-1] if "=" in folder)

    def values(self, path: str) -> dict[str, str | None]:
        """The columns that the `name=value` folders of a path give, with their values; signs written as %2F are decoded."""
        named = {name.lower() for name in self.columns}
        found: dict[str, str | None] = {}
        for folder in path.split("/")[:-1]:
            name, sign, value = folder.partition("=")
            if sign and (PARTITIONS in self.formats or name.lower() in named):
                found[unquote(name)] = None if value == _NO_VALUE else unquote(value)
        return found

    def fixed(self, parts: Mapping[str, str]) -> str:
        """The pattern's text with these parts in place of their names."""
        return _PART.sub(lambda part: parts.get(part[1], part[0]), self.text)

    def match(self, path: str) -> dict[str, PartValue] | None:
        """The named parts of a path (relative, with `/`), times as UTC; None if it does not fit."""
        fit = self.regex.fullmatch(path)
        if fit is None:
            return None
        parts = {name: _value(text, self.formats[name]) for name, text in fit.groupdict().items()}
        return (
            None
            if None in parts.values()
            else {name: value for name, value in parts.items() if value is not None}
        )

    def near_miss(self, path: str) -> str | None:
        """Why a path that has the pattern's shape still does not fit; None if it fits or looks different altogether."""
        fit = self.regex.fullmatch(path)
        for name, text in fit.groupdict().items() if fit else ():
            if _value(text, self.formats[name]) is None:
                return f"{name}: {text!r} is no time of the format {self.formats[name]}"
        return None


def compile_pattern(text: str) -> PathPattern:
    """The pattern of a text, or PatternError."""
    _check_path(text)
    regex, end, after_text = "", 0, False
    formats: dict[str, str | None] = {}
    for part in _PART.finditer(text):
        literal = text[end : part.start()]
        name, format_ = _part(part[1])
        if name in formats:
            raise PatternError(f"two parts are called {name!r}")
        if name in _WHOLE_FOLDERS:
            _check_folders(text, part, name, format_)
            formats[name] = None
            regex += f"{re.escape(literal)}(?P<{name}>{_WHOLE_FOLDERS[name]})"
            end, after_text = part.end() + 1, False
            continue
        if format_ is None and after_text and not literal:
            raise PatternError(
                f"nothing stands between the part {name!r} and the one before it: where would one end?"
            )
        formats[name] = format_
        regex += f"{re.escape(literal)}(?P<{name}>{_shape(format_) if format_ else '[^/]+?'})"
        end, after_text = part.end(), format_ is None
    regex += re.escape(text[end:])
    return PathPattern(text, re.compile(regex), formats)


def _check_folders(text: str, part: re.Match[str], name: str, format_: str | None) -> None:
    before, after = text[: part.start()], text[part.end() :]
    if format_ is not None or (before and not before.endswith("/")) or not after.startswith("/"):
        raise PatternError(f"{{{name}}} stands for whole folders: write .../{{{name}}}/...")


def _check_path(text: str) -> None:
    literal = _PART.sub("x", text)
    if not text.strip():
        raise PatternError("it is empty")
    if "{" in literal or "}" in literal:
        raise PatternError("a brace has no partner")
    if text.startswith("/") or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", literal):
        raise PatternError("it must be relative: paths are looked for under the landing folder")
    if "\\" in text or not text.isprintable():
        raise PatternError(
            "it has a backslash or a character that cannot be printed; folders are parted by /"
        )
    if any(folder in ("", ".", "..") for folder in literal.split("/")):
        raise PatternError("it has an empty folder name, '.' or '..'")
    looked_at = text[len(text.split("{", 1)[0].rpartition("/")[0]) :].lstrip("/").split("/")
    if unfinished := next((name for name in looked_at if name.startswith(("_", "."))), None):
        raise PatternError(
            f"names that start with _ or . are somebody's unfinished work and never taken: {unfinished!r}"
        )
    wildcard = next((char for char in "*?[]" if char in literal), None)
    if wildcard:
        raise PatternError(f"it has the wildcard {wildcard!r}; write a named part such as {{file}} instead")


def _part(inside: str) -> tuple[str, str | None]:
    """Name and format of what stands in braces."""
    name, colon, format_ = inside.partition(":")
    if not name:
        raise PatternError(f"the part {{{inside}}} has no name")
    if not _NAME.fullmatch(name):
        raise PatternError(f"{name!r} is no name of a part: use letters, digits and _")
    if not colon:
        return name, None
    problem = problem_with_format(format_)
    if problem:
        raise PatternError(f"the format {format_!r} of the part {name!r} cannot be used: {problem}")
    return name, format_


def _shape(format_: str) -> str:
    pieces = re.split(r"(%.)", format_)
    return "".join(DIRECTIVES.get(piece) or re.escape(piece) for piece in pieces)


def _value(text: str, format_: str | None) -> PartValue | None:
    """A time only if it formats back to the same text."""
    if format_ is None:
        return text
    try:
        time = dt.datetime.strptime(text, format_).replace(tzinfo=dt.UTC)
    except ValueError:
        return None
    # strftime writes the years before 1000 without their leading zeros.
    return time if time.strftime(format_.replace("%Y", f"{time.year:04}")) == text else None
