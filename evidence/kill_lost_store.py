"""As `kill_many`, with the control store deleted after every second kill, so that runs make it again from the plans beside the tables."""

from __future__ import annotations

from collections.abc import Iterator

from evidence.figure import Figure
from evidence.kill_many import killed


def run(seed: int, share: float) -> Iterator[Figure]:
    return killed(seed + 1, share, loses_store=True)
