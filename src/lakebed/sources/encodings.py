"""UTF-8 that is not: Spark puts U+FFFD in place of bytes that it cannot decode, and says nothing.

So a CSV file in UTF-8 is taken apart as bytes, one sign each (ISO-8859-1 is that), which finds the same records and values since no
sign that parts them has more than one byte; then each value is decoded and looked at. A record with bytes that are no UTF-8
is a bad row (G5).
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.history.columns import RAW, col

BYTES = "ISO-8859-1"


def named_encoding(options: Mapping[str, str]) -> str | None:
    """The encoding that the options name; None for UTF-8, which every reader takes without a word."""
    name = options.get("encoding") or options.get("charset") or "utf-8"
    return None if name.lower().replace("_", "-") in ("utf-8", "utf8", "utf-8-sig") else name


def as_java_names_it(name: str) -> str:
    """Python knows more names of the ISO 8859 family than Java does, `latin-1` among them."""
    try:
        found = re.fullmatch(r"iso8859-(\d+)", codecs.lookup(name).name)
    except LookupError:
        return name
    return f"ISO-8859-{found[1]}" if found else name


def is_checked(options: Mapping[str, str], *, marked: bool | None) -> bool:
    """Whether the file is said to be UTF-8, and nothing that parts its values needs more than a byte. A byte order mark would
    hide the sign after it, a quote or a comment's; so where there may be one, it must stand before a header."""
    header = options.get("header", "false").lower() == "true" and not options.get("comment")
    bare = marked is False or header
    return bare and named_encoding(options) is None and all(value.isascii() for value in options.values())


def decoded(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """The same rows in UTF-8. One that is not keeps what can be read of it, as its raw text, by which it is known as unreadable."""
    texts = {name: F.encode(col(name), BYTES).cast("string") for name in [*names, RAW]}
    wrong = reduce(
        lambda one, other: one | other,
        [F.coalesce(~F.is_valid_utf8(texts[name]), F.lit(False)) for name in names],
    )
    values = {name: F.make_valid_utf8(text) for name, text in texts.items()}
    raw: Column = F.coalesce(values.pop(RAW), F.when(wrong, F.to_csv(F.struct(*_named(values)))))
    others = [F.col(name) for name in frame.columns if name not in texts]
    return frame.select(*_named(values), *others, raw.alias(RAW))


def _named(values: Mapping[str, Column]) -> list[Column]:
    return [value.alias(name) for name, value in values.items()]
