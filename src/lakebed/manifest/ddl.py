"""Spark DDL (`id bigint, name string`), checked without a JVM as far as its shape goes: names, types, brackets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lakebed.manifest.explain import nearest

_SIMPLE = {
    "boolean", "byte", "tinyint", "short", "smallint", "int", "integer", "long", "bigint", "float", "real", "double",
    "date", "timestamp", "timestamp_ltz", "timestamp_ntz", "string", "binary",
    "decimal", "dec", "numeric",
}  # fmt: skip
# How many numbers may stand in brackets after the type: (fewest, most).
_NUMBERS = {
    "decimal": (1, 2),
    "dec": (1, 2),
    "numeric": (1, 2),
    "char": (1, 1),
    "character": (1, 1),
    "varchar": (1, 1),
}
_NOT_STORED = ("time", "interval", "void", "variant")
_NESTED = ("array", "map", "struct")
TYPES = (*sorted(_SIMPLE | set(_NUMBERS)), *_NESTED)

_TOKEN = re.compile(
    r"""\s*(?:(?P<quoted>`(?:[^`]|``)+`)|(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?P<word>\w+)|(?P<sign>[<>(),:]))""",
    re.UNICODE,
)


class DdlError(ValueError):
    """The DDL cannot be used; the text is half a sentence that says why and where."""


@dataclass(frozen=True)
class Column:
    name: str
    type: str


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


def parse_ddl(ddl: str) -> tuple[Column, ...]:
    """The columns of a DDL text, each with its type as written, or DdlError."""
    reader = _Reader(ddl)
    columns = reader.fields(end="")
    seen: set[str] = set()
    for column in columns:
        if column.name.lower() in seen:
            raise DdlError(
                f"the column {column.name!r} is there twice (names are compared without regard to case)"
            )
        seen.add(column.name.lower())
    return columns


def _tokens(ddl: str) -> Iterator[_Token]:
    position = 0
    while ddl[position:].strip():
        found = _TOKEN.match(ddl, position)
        if not found:
            raise DdlError(
                f"{ddl[position:].strip()[:1]!r} cannot stand here: {_near(ddl, position)}; put an odd name into `backticks`"
            )
        kind = str(found.lastgroup)
        yield _Token(kind, found[kind], found.start(kind), found.end())
        position = found.end()


def _near(ddl: str, position: int) -> str:
    return f"near {ddl[position:][:20].strip()!r}" if ddl[position:].strip() else "at its end"


class _Reader:
    """A reader with one token in view."""

    def __init__(self, ddl: str) -> None:
        self.ddl = ddl
        self.tokens = list(_tokens(ddl))
        self.at = 0

    def fields(self, end: str) -> tuple[Column, ...]:
        """`name type [NOT NULL] [COMMENT text], …` up to the sign `end`, or to the end of the text."""
        found = [self.field()]
        while self.taken(","):
            found.append(self.field())
        if end:
            self.need(end)
        elif self.at < len(self.tokens):
            raise DdlError(f"expected a comma or the end {self.near()}")
        return tuple(found)

    def field(self) -> Column:
        name = self.token()
        if name is None or name.kind not in ("word", "quoted"):
            raise DdlError(f"expected the name of a column {self.near()}")
        self.at += 1
        self.taken(":")
        start = self.at
        self.type(name.text)
        text = self.ddl[self.tokens[start].start : self.tokens[self.at - 1].end]
        if self.taken("not") and not self.taken("null"):
            raise DdlError(f"expected NOT NULL {self.near()}")
        if self.taken("comment"):
            self.comment()
        return Column(name.text[1:-1].replace("``", "`") if name.kind == "quoted" else name.text, text)

    def type(self, column: str) -> None:
        token = self.token()
        if token is None or token.kind != "word":
            raise DdlError(f"the column {column} has no type: expected `name type` pairs, parted by commas")
        self.at += 1
        name = token.text.lower()
        if name in _NESTED:
            self.nested(name)
        elif name in _NOT_STORED:
            raise DdlError(f"the column {column} cannot be kept as {name}; declare it as string")
        elif name in _SIMPLE or name in _NUMBERS:
            self.numbers(name)
        else:
            hint = nearest(name, TYPES)
            raise DdlError(f"{token.text!r} is no type of Spark" + (f"; {hint}" if hint else ""))

    def nested(self, name: str) -> None:
        self.need("<")
        if name == "struct":
            if not self.taken(">"):
                self.fields(end=">")
            return
        self.type(name)
        if name == "map":
            self.need(",")
            self.type(name)
        self.need(">")

    def numbers(self, name: str) -> None:
        fewest, most = _NUMBERS.get(name, (0, 0))
        if not self.taken("("):
            if name not in _SIMPLE:
                raise DdlError(f"{name} needs its length, such as {name}(20)")
            return
        if not most:
            raise DdlError(f"{name} takes no numbers in brackets")
        given = 0
        while given == 0 or self.taken(","):
            token = self.token()
            if token is None or not token.text.isdecimal():
                raise DdlError(f"expected a number {self.near()}")
            self.at += 1
            given += 1
        self.need(")")
        if not fewest <= given <= most:
            raise DdlError(f"{name} takes {most} numbers at most, found {given}")

    def comment(self) -> None:
        token = self.token()
        if token is None or token.kind != "text":
            raise DdlError(f"expected a text in quotes after COMMENT {self.near()}")
        self.at += 1

    def token(self) -> _Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def taken(self, text: str) -> bool:
        token = self.token()
        if token is None or token.kind == "quoted" or token.text.lower() != text:
            return False
        self.at += 1
        return True

    def need(self, sign: str) -> None:
        if not self.taken(sign):
            raise DdlError(f"expected {sign!r} {self.near()}")

    def near(self) -> str:
        token = self.token()
        return _near(self.ddl, token.start if token else len(self.ddl))
