"""Values as they may stand in SQL."""

from __future__ import annotations


def quote_text(text: str) -> str:
    """A text as it may stand in SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
