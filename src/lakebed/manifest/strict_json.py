"""JSON with the place of every key and value, so that a mistake in it is told by its line. Two equal keys are a mistake."""

from __future__ import annotations

import json
import re
from typing import Any

from lakebed.manifest.strict_yaml import MAX_DEPTH, Document, Path_

_BLANKS = re.compile(r"[ \t\r\n]*")
_PLAIN = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")
_TEXT = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')


def parse_json(text: str, name: str) -> Document:
    """The document in a JSON text; what is wrong with it is in `problems`."""
    document = Document(name)
    reader = _Reader(text, document)
    try:
        document.data = reader.whole()
    except _Unreadable as error:
        line, column = reader.place(error.at)
        document.problems.append(document.problem((), f"this is not JSON: {error}").at(line, column))
    return document


class _Unreadable(Exception):  # noqa: N818 - never leaves this module
    def __init__(self, what: str, at: int) -> None:
        super().__init__(what)
        self.at = at


class _Reader:
    """Reads a text from its start; `here` is the place of the next character."""

    def __init__(self, text: str, document: Document) -> None:
        self.text, self.document, self.here = text, document, 0

    def place(self, at: int) -> tuple[int, int]:
        before = self.text[:at]
        return before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1

    def whole(self) -> Any:
        self._skip()
        if self.here == len(self.text):
            raise _Unreadable("the file is empty", 0)
        data = self._value(())
        self._skip()
        if self.here < len(self.text):
            raise _Unreadable("something follows after its end", self.here)
        return data

    def _value(self, path: Path_) -> Any:
        if len(path) > MAX_DEPTH:
            raise _Unreadable(f"more than {MAX_DEPTH} levels inside each other", self.here)
        self.document.values[path] = self.place(self.here)
        character = self.text[self.here : self.here + 1]
        if character == "{":
            return self._object(path)
        if character == "[":
            return self._list(path)
        if character == '"':
            return self._string()
        found = _PLAIN.match(self.text, self.here)
        if not found:
            raise _Unreadable("a value is missing or cannot be read", self.here)
        self.here = found.end()
        return json.loads(found[0])

    def _object(self, path: Path_) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for _ in self._entries("}"):
            start = self.here
            key = self._string()
            self._expect(":")
            where = (*path, key)
            twice = key in data
            if twice:
                what = f"{key!r} is there twice; the first stands in line {self.document.keys[where][0]}"
                self.document.problems.append(self.document.problem(where, what).at(*self.place(start)))
            else:
                self.document.keys[where] = self.place(start)
            value = self._value(where)
            if not twice:
                data[key] = value
        return data

    def _list(self, path: Path_) -> list[Any]:
        return [self._value((*path, index)) for index in self._entries("]")]

    def _entries(self, end: str) -> Any:
        """One turn per entry, which the caller reads; brackets and commas are read here."""
        self.here += 1
        self._skip()
        index = 0
        while index or self.text[self.here : self.here + 1] != end:
            yield index
            index += 1
            self._skip()
            if self.text[self.here : self.here + 1] == end:
                break
            self._expect(",")
        self.here += 1

    def _string(self) -> str:
        found = _TEXT.match(self.text, self.here)
        if not found:
            raise _Unreadable("expected a text in double quotes", self.here)
        try:
            text: str = json.loads(found[0])
        except ValueError:
            raise _Unreadable("the text has an escape that is unknown", self.here) from None
        self.here = found.end()
        return text

    def _expect(self, character: str) -> None:
        self._skip()
        if self.text[self.here : self.here + 1] != character:
            raise _Unreadable(f"expected {character!r}", self.here)
        self.here += 1
        self._skip()

    def _skip(self) -> None:
        found = _BLANKS.match(self.text, self.here)
        assert found
        self.here = found.end()
