"""How a file begins: the first record of a CSV file, the first sign of a JSON file.

Spark, given a schema, takes columns by place whatever a CSV header says; so the header is read here, and the schema is put
into its order.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import errno
import gzip
import io
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lakebed.errors import BatchError
from lakebed.history.columns import internal
from lakebed.sources.remote_folder import escaped
from lakebed.sources.spark_errors import first_sentence, is_about_access, out_of_reach, unreadable_file

_UNKNOWN = (".lz4", ".snappy", ".deflate", ".xz", ".zip")
_ZSTD = ".zst"
_PACKED = (".gz", ".bz2", _ZSTD, *_UNKNOWN)
csv.field_size_limit(2**31 - 1)  # a document in a column may be long
_UNDECODED = re.compile(
    r"[\udc80-\udcff]"
)  # what Python puts in place of bytes that it cannot decode: records to come may have some
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")  # no text has them; a line break may be in a name
_LINES, _LONGEST_LINE = 100, 2**20


@dataclass(frozen=True)
class Start:
    """How to get at the first bytes of a file: with Python where it is on this machine, else with Spark."""

    spark: SparkSession
    address: str
    local: Path | None

    @property
    def suffix(self) -> str:
        return Path(
            self.address
        ).suffix  # as it is written: Hadoop knows `.gz`, and takes `.GZ` for plain bytes

    @property
    def needs_spark(self) -> bool:
        return self.local is None or self.suffix == _ZSTD

    def opened(self) -> IO[bytes]:
        """The file's bytes, unpacked; of one that only Spark can read, its first lines."""
        if self.local is None or self.needs_spark:  # the first for the type checker
            return io.BytesIO(self._first_lines())
        if self.suffix == ".gz":
            return cast("IO[bytes]", gzip.open(self.local, "rb"))
        if self.suffix == ".bz2":
            return cast("IO[bytes]", bz2.open(self.local, "rb"))
        return self.local.open("rb")

    def _first_lines(self) -> bytes:
        text = self.spark.read.option("lineSep", "\n").text(escaped(self.address))
        line = F.substring(F.col("value").cast("binary"), 1, _LONGEST_LINE)
        try:
            return b"\n".join(bytes(row[0]) for row in text.select(line).take(_LINES))
        except (PySparkException, Py4JError) as error:
            if is_about_access(error):
                raise OSError(errno.EIO, first_sentence(error)) from error
            raise OSError("Spark cannot read it") from error


def read_header(file: Start, options: Mapping[str, str], *, where: str) -> list[str] | None:
    """The names in the file's header, checked; None if the file is empty. `options` are Spark's, names in lower case."""
    first = first_record(file, options, where=where)
    if first is None:
        return None
    names = [name.strip() or unnamed(place) for place, name in enumerate(first)]
    if any(_UNDECODED.search(name) for name in names):
        raise _undecodable(where)
    seen: set[str] = set()
    for place, name in enumerate(names, start=1):
        if _CONTROL.search(name):
            what = f"column {place} of the header has control characters in its name, so this is no text"
            raise _refused(what, "unreadable_file", where)
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


def unnamed(place: int) -> str:
    """The name of a column that has none, by its place from 0, as Spark has it."""
    return f"_c{place}"


def line_end(file: Start) -> str:
    """What parts the records of a CSV file: a line feed, with or without a carriage return before it; in a file without any, the
    carriage return."""
    try:
        with file.opened() as content:
            start = content.read(_LONGEST_LINE)
    except (OSError, EOFError, zlib.error):  # cut off: Spark will tell how far it can be read
        start = b""
    inside = start.rstrip(b"\r")  # the last one may belong to a line feed that Spark has left out
    return "\r" if b"\r" in inside and b"\n" not in inside else "\n"


def blank_returns(file: Start) -> int:
    """How many lines with nothing but a carriage return a file begins with."""
    try:
        with file.opened() as content:
            lines = content.read(4096).removeprefix(codecs.BOM_UTF8).split(b"\n")
    except (OSError, EOFError, zlib.error):
        return 0
    return next((place for place, line in enumerate(lines) if line != b"\r"), 0)


def _undecodable(where: str) -> BatchError:
    return BatchError(
        "the header cannot be decoded",
        code="unreadable_file",
        where=where,
        hint="name the file's encoding: options: {encoding: …}",
    )


def _refused(what: str, code: str, where: str) -> BatchError:
    return BatchError(what, code=code, where=where, hint="have the file written anew with other column names")


def first_record(file: Start, options: Mapping[str, str], *, where: str) -> list[str] | None:
    """The first record that is not blank and no comment; None if there is none."""
    comment = options.get("comment") or None
    try:
        with _opened(file, options, where) as text:
            for record in csv.reader(text, **dialect(options)):
                if record and not (comment and record[0].startswith(comment)):
                    return [record[0].removeprefix("\ufeff"), *record[1:]]
    except UnicodeError:
        raise _undecodable(where) from None
    except (csv.Error, OSError, EOFError, zlib.error) as error:
        _refuse_unreached(error, where)
        raise BatchError(
            f"the header cannot be read: {error}",
            code="unreadable_file",
            where=where,
            hint="is the file complete, and of the format that the manifest names?",
        ) from None
    return None


def _beginning(file: Start, most: int, encoding: str | None, where: str) -> str:
    """The first signs of a text, without a byte order mark and blanks."""
    try:
        with file.opened() as content:
            start = content.read(most)
    except (OSError, EOFError, zlib.error) as error:
        _refuse_unreached(error, where)
        raise unreadable_file(str(error), where) from None
    try:
        return start.decode(encoding or "utf-8", errors="replace").removeprefix("\ufeff").lstrip()
    except LookupError:
        raise _no_encoding(str(encoding), where) from None


def _refuse_unreached(error: Exception, where: str) -> None:
    """Raises if the trouble is with getting at the file: what is packed or written wrongly has no number of the system's."""
    if isinstance(error, OSError) and error.errno is not None:
        raise out_of_reach(error.strerror or str(error), where) from error


def starts_with(file: Start, sign: str, *, encoding: str | None, where: str) -> bool:
    """Whether the file's first sign that is no blank is this one."""
    return _beginning(file, 4096, encoding, where).startswith(sign)


def first_object(file: Start, *, encoding: str | None, where: str) -> dict[str, Any]:
    """The first object of a JSON file; an empty one where it cannot be told from the file's beginning."""
    start = _beginning(file, _LONGEST_LINE, encoding, where)
    try:
        found, _ = json.JSONDecoder().raw_decode(start.removeprefix("[").lstrip())
    except (ValueError, RecursionError):  # cut off, no JSON, or nested deeper than anybody can follow
        return {}
    return found if isinstance(found, dict) else {}


def has_second_value(file: Start, *, whole: bool, encoding: str | None, where: str) -> bool:
    """Whether something stands behind the first value of a JSON file where a reader would not look: in the same line, or anywhere
    where the file is taken for one value."""
    start = _beginning(file, _LONGEST_LINE, encoding, where)
    try:
        _, end = json.JSONDecoder().raw_decode(start)
    except (ValueError, RecursionError):
        return False
    rest = start[end:]
    return bool((rest if whole else rest.partition("\n")[0]).strip())


def has_mark(file: Start) -> bool | None:
    """Whether the file starts with UTF-8's byte order mark; None where only Spark can read it, which does not show it."""
    if file.local is None or file.needs_spark:  # the first for the type checker
        return None
    with file.opened() as content:
        return content.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8


def _opened(file: Start, options: Mapping[str, str], where: str) -> IO[str]:
    encoding = options.get("encoding") or options.get("charset") or "utf-8"
    if encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        encoding = "utf-8-sig"
    if file.suffix in _UNKNOWN or (file.suffix != file.suffix.lower() and file.suffix.lower() in _PACKED):
        raise BatchError(
            f"files ending in {file.suffix} cannot be read",
            code="unreadable_file",
            where=where,
            hint="deliver them plain, or as .gz, .bz2 or .zst, in lower case",
        )
    try:
        return io.TextIOWrapper(file.opened(), encoding=encoding, errors="surrogateescape", newline="")
    except LookupError:
        raise _no_encoding(encoding, where) from None


def _no_encoding(name: str, where: str) -> BatchError:
    return BatchError(
        f"there is no encoding {name!r}", where=where, hint="name a known one: options: {encoding: …}"
    )


def dialect(options: Mapping[str, str]) -> dict[str, Any]:
    """How the options part and quote values, as Python's `csv` has it."""
    quote, escape = options.get("quote", '"'), options.get("escape", '"')
    separator = options.get("sep") or options.get("delimiter") or ","
    if len(separator) != 1 and separator != "\\t":
        raise BatchError(
            f"the separator {separator!r} has more than one character",
            code="unsupported_option",
            hint="files with such separators cannot be read so far",
        )
    for name, sign in (("quote", quote), ("escape", escape)):
        if len(sign) > 1:
            raise BatchError(
                f"the option {name} is {sign!r}, which is more than one character",
                code="unsupported_option",
                hint="in YAML a backslash between single quotes is '\\' as it stands",
            )
    return {
        "delimiter": "\t" if separator == "\\t" else separator,
        "quotechar": quote or None,
        "quoting": csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
        "escapechar": escape if escape and escape != quote else None,
        "skipinitialspace": options.get("ignoreleadingwhitespace", "false") == "true",
    }
