"""What a series hands back."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of docs/evidence.md: what was counted or measured, and what came out."""

    what: str
    value: int | float | str


def part(whole: int, share: float) -> int:
    """A share of a series' length, one at the least."""
    return max(1, round(whole * share))
