"""How a file begins: the first record of a CSV file, the first sign of a JSON file.

Spark, given a schema, takes columns by place whatever a CSV header says; so the header is read here, and the schema is put
into its order.
"""

from __future__ import annotations

import bz2
import csv
import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from lakebed.errors import BatchError
from lakebed.history.columns import internal

_UNKNOWN = (".zst", ".lz4", ".snappy", ".deflate", ".xz", ".zip")


def read_header(path: Path, options: Mapping[str, str], *, where: str) -> list[str] | None:
    """The names in the file's header, checked; None if the file is empty. `options` are Spark's, names in lower case."""
    first = first_record(path, options, where=where)
    if first is None:
        return None
    names = [name.strip() for name in first]
    seen: set[str] = set()
    for place, name in enumerate(names, start=1):
        if not name:
            raise _refused(f"column {place} of the header has no name", "empty_column_name", where)
        if name.lower() in seen:
            raise _refused(
                f"the header names the column {name!r} twice, apart from case", "duplicate_column", where
            )
        if internal(name):
            raise _refused(
                f"the header has the column {name!r}; such names are lakebed's own", "reserved_name", where
            )
        seen.add(name.lower())
    return names


def _refused(what: str, code: str, where: str) -> BatchError:
    return BatchError(what, code=code, where=where, hint="have the file written anew with other column names")


def first_record(path: Path, options: Mapping[str, str], *, where: str) -> list[str] | None:
    """The first record that is not blank and no comment; None if there is none."""
    comment = options.get("comment") or None
    try:
        with _opened(path, options, where) as text:
            for record in csv.reader(text, **_dialect(options)):
                if record and not (comment and record[0].startswith(comment)):
                    return record
    except UnicodeDecodeError:
        raise BatchError(
            "the header cannot be decoded",
            code="unreadable_file",
            where=where,
            hint="name the file's encoding: options: {encoding: …}",
        ) from None
    except (csv.Error, OSError, EOFError) as error:
        raise BatchError(
            f"the header cannot be read: {error}",
            code="unreadable_file",
            where=where,
            hint="is the file complete, and of the format that the manifest names?",
        ) from None
    return None


def starts_with(path: Path, sign: bytes, *, where: str) -> bool:
    """Whether the file's first sign that is no blank is this one."""
    try:
        start = _first_bytes(path)
    except (OSError, EOFError) as error:
        raise BatchError(
            f"the file cannot be read: {error}",
            code="unreadable_file",
            where=where,
            hint="is the file complete, and of the format that the manifest names?",
        ) from None
    return start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(sign)


def _first_bytes(path: Path) -> bytes:
    suffix = path.suffix.lower()
    if suffix == ".gz":
        with gzip.open(path, "rb") as packed:
            return packed.read(4096)
    if suffix == ".bz2":
        with bz2.open(path, "rb") as packed_too:
            return packed_too.read(4096)
    with path.open("rb") as plain:
        return plain.read(4096)


def _opened(path: Path, options: Mapping[str, str], where: str) -> IO[str]:
    encoding = options.get("encoding") or options.get("charset") or "utf-8"
    if encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        encoding = "utf-8-sig"
    suffix = path.suffix.lower()
    if suffix in _UNKNOWN:
        raise BatchError(
            f"files ending in {suffix} cannot be read",
            code="unreadable_file",
            where=where,
            hint="deliver them plain, or as .gz or .bz2",
        )
    try:
        if suffix == ".gz":
            return gzip.open(path, "rt", encoding=encoding, newline="")
        if suffix == ".bz2":
            return bz2.open(path, "rt", encoding=encoding, newline="")
        return path.open(encoding=encoding, newline="")
    except LookupError:
        raise BatchError(
            f"there is no encoding {encoding!r}", where=where, hint="name a known one: options: {encoding: …}"
        ) from None


def _dialect(options: Mapping[str, str]) -> dict[str, Any]:
    quote, escape = options.get("quote", '"'), options.get("escape", '"')
    separator = options.get("sep") or options.get("delimiter") or ","
    if len(separator) != 1 and separator != "\\t":
        raise BatchError(
            f"the separator {separator!r} has more than one character",
            code="unsupported_option",
            hint="files with such separators cannot be read so far",
        )
    return {
        "delimiter": "\t" if separator == "\\t" else separator,
        "quotechar": quote or None,
        "quoting": csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
        "escapechar": escape if escape and escape != quote else None,
        "skipinitialspace": options.get("ignoreleadingwhitespace", "false") == "true",
    }
