"""YAML without surprises.

PyYAML keeps the last of two equal keys, reads `no` as false and `010` as 8, and follows aliases. Here each of these is a
mistake with its line and column, and every value keeps its place for the checks that come later. A day (2024-01-31)
stays text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from lakebed.manifest.explain import path_text
from lakebed.manifest.problems import Problem

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 40
Path_ = tuple[str | int, ...]

_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_ODD_BOOL = re.compile(r"(yes|no|on|off|true|false)", re.IGNORECASE)
_ODD_NUMBER = re.compile(
    r"[-+]?(0[0-9_]+(\.[0-9_]*)?|0[oxb][0-9a-f_]+|[0-9][0-9_]*_[0-9_]*|[0-9]+\.|\.[0-9]+|\.(inf|nan))",
    re.IGNORECASE,
)
_SEXAGESIMAL = re.compile(r"[-+]?[0-9]+(:[0-5]?[0-9])+(\.[0-9]*)?")


@dataclass
class Document:
    """A file's content as plain data, and where each key and each value stands (line and column, from 1)."""

    file: str
    data: Any = None
    keys: dict[Path_, tuple[int, int]] = field(default_factory=dict)
    values: dict[Path_, tuple[int, int]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def place(self, path: Sequence[str | int], *, on_key: bool = False) -> tuple[int, int]:
        """The place of what `path` names, or of the nearest thing around it that is in the file."""
        path = tuple(path)
        for end in range(len(path), 0, -1):
            inside = end < len(path)
            first, second = (self.keys, self.values) if on_key or inside else (self.values, self.keys)
            place = first.get(path[:end]) or second.get(path[:end])
            if place:
                return place
        return (1, 1)

    def problem(
        self, path: Sequence[str | int], what: str, hint: str | None = None, *, on_key: bool = False
    ) -> Problem:
        line, column = self.place(path, on_key=on_key)
        return Problem(self.file, line, column, path_text(path), what, hint)


Parse = Callable[[str, str], Document]


def read_document(path: Path, name: str, parse: Parse | None = None) -> Document:
    """The document in a file; what is wrong with it is in `problems`. `name` is what messages call the file; `parse`
    reads its text, as YAML unless given."""
    document = Document(name)
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        document.problems.append(Problem(name, 0, 0, "", f"the file cannot be read: {error.strerror}"))
        return document
    if len(content) > MAX_BYTES:
        document.problems.append(
            Problem(name, 0, 0, "", f"the file is larger than {MAX_BYTES // 1024} KiB: that is no manifest")
        )
        return document
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        document.problems.append(Problem(name, line, 1, "", "the file is not UTF-8 text"))
        return document
    return (parse or parse_document)(text, name)


def parse_document(text: str, name: str) -> Document:
    """The document in a text."""
    document = Document(name)
    try:
        root = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        document.problems.append(Problem(name, line, column, "", *_syntax(error)))
        return document
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        document.problems.append(Problem(name, line, 1, "", "a character that cannot be printed stands here"))
        return document
    if root is None:
        document.problems.append(Problem(name, 1, 1, "", "the file is empty"))
        return document
    document.data = _Builder(document).build(root, ())
    if not document.problems and not isinstance(document.data, dict):
        document.problems.append(
            document.problem((), "expected a mapping (`name: value`) at the top of the file")
        )
    return document


def _syntax(error: yaml.MarkedYAMLError) -> tuple[str, str | None]:
    said = error.problem or "the text cannot be read"
    if "'\\t'" in said:
        return "a tab stands here", "indent with blanks"
    if isinstance(error, _Refused):
        return said, error.note
    if "single document" in str(error.context):
        return "a second document starts here", "one file is one document: take out the line ---"
    context = f" ({error.context})" if error.context else ""
    return f"this is not YAML: {said}{context}", "a text with : # { [ or quotes in it goes into quotes"


class _Refused(yaml.composer.ComposerError):
    """What YAML knows and a manifest does not."""


class _Loader(yaml.SafeLoader):
    """Composes nodes, without anchors, aliases, tags and bottomless nesting."""

    _depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise _Refused(
                None,
                None,
                "anchors (&) and aliases (*) cannot be used",
                event.start_mark,
                "write the value out; quote a text that starts with & or *",
            )
        if getattr(event, "tag", None) is not None:
            raise _Refused(
                None,
                None,
                f"the tag {event.tag!r} cannot be used",
                event.start_mark,
                "quote a text that starts with !",
            )
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _Refused(None, None, f"more than {MAX_DEPTH} levels inside each other", event.start_mark)
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1


class _Builder:
    """Nodes to plain data, noting places and mistakes in the document."""

    def __init__(self, document: Document) -> None:
        self.document = document

    def build(self, node: yaml.Node, path: Path_) -> Any:
        self.document.values[path] = _place(node)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(child, (*path, index)) for index, child in enumerate(node.value)]
        return self._scalar(node, path)

    def _mapping(self, node: yaml.MappingNode, path: Path_) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node, path)
            if key is None:
                continue
            here = (*path, key)
            if key in data:
                first = self.document.keys[here][0]
                self._note(key_node, here, f"{key!r} is there twice; the first stands in line {first}")
                continue
            self.document.keys[here] = _place(key_node)
            data[key] = self.build(value_node, here)
        return data

    def _key(self, node: yaml.Node, path: Path_) -> str | None:
        if not isinstance(node, yaml.ScalarNode):
            self._note(
                node,
                path,
                "a name must be a text, not a list or a mapping",
                "quote it, or is a bracket too many?",
            )
            return None
        if node.style is None and node.value == "<<":
            self._note(node, path, "merge keys (<<) cannot be used", "write the values out")
            return None
        before = len(self.document.problems)
        key = self._scalar(node, path)
        if len(self.document.problems) > before:
            return None
        if not isinstance(key, str):
            self._note(
                node, path, f"the name {node.value!r} is not a text", f'write "{node.value}" in quotes'
            )
            return None
        return key

    def _scalar(self, node: Any, path: Path_) -> Any:
        text = node.value
        if node.style is not None:
            return text
        if text in ("", "~", "null"):
            return None
        if text in ("true", "false"):
            return text == "true"
        if _INT.fullmatch(text):
            return int(text)
        if _FLOAT.fullmatch(text):
            return float(text)
        if _ODD_BOOL.fullmatch(text):
            self._note(
                node,
                path,
                f"{text!r} may mean true or false, or a text",
                f'write true or false, or "{text}" in quotes',
            )
        elif text.lower() == "null":
            self._note(
                node, path, f"{text!r} may mean nothing, or a text", f'write null, or "{text}" in quotes'
            )
        elif _ODD_NUMBER.fullmatch(text) or _SEXAGESIMAL.fullmatch(text):
            self._note(
                node,
                path,
                f"{text!r} is read as different numbers by different programs",
                f'write a plain decimal number, or "{text}" in quotes',
            )
        return text

    def _note(self, node: yaml.Node, path: Path_, what: str, hint: str | None = None) -> None:
        line, column = _place(node)
        self.document.problems.append(Problem(self.document.file, line, column, path_text(path), what, hint))


def _place(node: yaml.Node) -> tuple[int, int]:
    return (node.start_mark.line + 1, node.start_mark.column + 1)
