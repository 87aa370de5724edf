"""What a workload hands back, and how it is printed."""

from __future__ import annotations

import statistics
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timing:
    """One way of doing the work, with the seconds of each repetition."""

    way: str
    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


@dataclass(frozen=True, slots=True)
class Result:
    """All ways of a workload, measured in one run; the first is what the others are compared with."""

    workload: str
    timings: tuple[Timing, ...]
    about: str = ""

    def table(self) -> str:
        """The same as a table of a page."""
        base = self.timings[0].median
        head = ["| way | median | least | most | ratio |", "|---|---|---|---|---|"]
        rows = [
            f"| {one.way} | {one.median:.1f} | {min(one.seconds):.1f} | {max(one.seconds):.1f} | {one.median / base:.2f} |"
            for one in self.timings
        ]
        return "\n".join([*head, *rows])

    def __str__(self) -> str:
        base = self.timings[0].median
        width = max(len(timing.way) for timing in self.timings)
        head = f"{'':{width}}  median    min    max  ratio"
        rows = (
            f"{timing.way:{width}}  {timing.median:6.2f} {min(timing.seconds):6.2f} {max(timing.seconds):6.2f} "
            f"{timing.median / base:6.2f}"
            for timing in self.timings
        )
        return "\n".join(
            [f"{self.workload} (seconds, {len(self.timings[0].seconds)} repetitions)", head, *rows]
        )
