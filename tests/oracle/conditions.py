"""The SQL conditions that cases use: comparisons with literals, IN, IS NULL, AND, OR, NOT. NULL is unknown, as in SQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

Row = Mapping[str, Any]  # by lower-cased name
Test = Callable[[Row], "bool | None"]
_TOKEN = re.compile(
    r"\s*(?:(`(?:[^`]|``)*`)|('(?:[^']|'')*')|(-?\d+(?:\.\d+)?)|(<>|!=|<=|>=|[=<>(),])|([A-Za-z_]\w*))"
)
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


@lru_cache
def condition(text: str) -> Callable[[Row], bool]:
    """The condition as a function of a row; unknown counts as false (F5)."""
    parser = _Parser(_tokens(text))
    test = parser.either()
    if parser.rest:
        raise ValueError(f"cannot read {text!r} from {parser.rest[0][1]!r} on")
    return lambda row: test(row) is True


def _tokens(text: str) -> list[tuple[str, Any]]:
    tokens: list[tuple[str, Any]] = []
    at, text = 0, text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"cannot read {text!r} at {text[at:]!r}")
        quoted, literal, number, sign, word = match.groups()
        if quoted is not None:
            tokens.append(("column", quoted[1:-1].replace("``", "`").lower()))
        elif literal is not None:
            tokens.append(("literal", literal[1:-1].replace("''", "'")))
        elif number is not None:
            tokens.append(("literal", float(number) if "." in number else int(number)))
        elif sign is not None:
            tokens.append(("sign", sign))
        elif word.upper() in ("TRUE", "FALSE"):
            tokens.append(("literal", word.upper() == "TRUE"))
        else:
            known = word.upper() in ("AND", "OR", "NOT", "IN", "IS", "NULL")
            tokens.append(("word", word.upper()) if known else ("column", word.lower()))
        at = match.end()
    return tokens


class _Parser:
    def __init__(self, tokens: list[tuple[str, Any]]) -> None:
        self.rest = tokens

    def take(self, *expected: Any) -> bool:
        if self.rest and self.rest[0][0] in ("word", "sign") and self.rest[0][1] in expected:
            self.rest = self.rest[1:]
            return True
        return False

    def either(self) -> Test:
        test = self.both()
        while self.take("OR"):
            test = _or(test, self.both())
        return test

    def both(self) -> Test:
        test = self.unless()
        while self.take("AND"):
            test = _and(test, self.unless())
        return test

    def unless(self) -> Test:
        return _not(self.unless()) if self.take("NOT") else self.single()

    def single(self) -> Test:
        if self.take("("):
            test = self.either()
            self.need(")")
            return test
        value = self.operand()
        if self.take("IS"):
            wanted = not self.take("NOT")
            self.need("NULL")
            return lambda row: (value(row) is None) is wanted
        negated = self.take("NOT")
        if self.take("IN"):
            found = _is_in(value, self.listed())
            return _not(found) if negated else found
        for sign, compare in _COMPARE.items():
            if self.take(sign):
                return _compared(value, self.operand(), compare)
        return value  # a boolean column

    def operand(self) -> Callable[[Row], Any]:
        (kind, what), self.rest = self.rest[0], self.rest[1:]
        if kind == "literal":
            return lambda _row: what
        if kind != "column":
            raise ValueError(f"a column or a value should stand where {what!r} does")
        return lambda row: row.get(what)

    def listed(self) -> list[Callable[[Row], Any]]:
        self.need("(")
        items = [self.operand()]
        while self.take(","):
            items.append(self.operand())
        self.need(")")
        return items

    def need(self, expected: str) -> None:
        if not self.take(expected):
            raise ValueError(f"{expected!r} is missing before {self.rest[:1]}")


def _and(left: Test, right: Test) -> Test:
    def test(row: Row) -> bool | None:
        answers = (left(row), right(row))
        return False if False in answers else None if None in answers else True

    return test


def _or(left: Test, right: Test) -> Test:
    return _not(_and(_not(left), _not(right)))


def _not(inner: Test) -> Test:
    def test(row: Row) -> bool | None:
        answer = inner(row)
        return None if answer is None else not answer

    return test


def _compared(
    left: Callable[[Row], Any], right: Callable[[Row], Any], compare: Callable[[Any, Any], bool]
) -> Test:
    def test(row: Row) -> bool | None:
        a, b = left(row), right(row)
        return None if a is None or b is None else compare(a, b)

    return test


def _is_in(value: Callable[[Row], Any], items: list[Callable[[Row], Any]]) -> Test:
    def test(row: Row) -> bool | None:
        wanted, listed = value(row), [item(row) for item in items]
        if wanted is None:
            return None
        return True if wanted in listed else None if None in listed else False

    return test
