"""The placeholder that Debezium puts where PostgreSQL did not send a long value that has not changed."""

from __future__ import annotations

import base64
import hashlib
import json
import uuid

from pyspark.sql import Column
from pyspark.sql import functions as F


def forms(placeholder: str) -> tuple[str, ...]:
    """How the placeholder looks, as compact JSON, in a column of each kind: text, bytes, arrays of text, of bytes, of
    UUIDs and of numbers (its characters), maps and JSON. `hex:` in front means that the rest are its bytes."""
    raw = placeholder.encode()
    if placeholder.startswith("hex:"):
        raw = bytes.fromhex(placeholder.removeprefix("hex:"))
    plain = raw.decode("utf-8", errors="replace")
    coded = base64.b64encode(raw).decode()
    return (
        plain,
        coded,
        _json([plain]),
        _json([coded]),
        _json([str(_named_uuid(raw))]),
        _json(list(raw)),
        _json({plain: plain}),
    )


def is_unavailable(text: Column, placeholder: str) -> Column:
    """Whether a value, as text, is the placeholder."""
    return F.coalesce(text.isin(*forms(placeholder)), F.lit(False))


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _named_uuid(name: bytes) -> uuid.UUID:
    """A version 3 UUID of the bare name, without a namespace."""
    return uuid.UUID(bytes=hashlib.md5(name, usedforsecurity=False).digest(), version=3)
