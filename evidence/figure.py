"""What a series hands back."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of docs/evidence.md: what was counted or measured, and what came out."""

    what: str
    value: int | float | str
