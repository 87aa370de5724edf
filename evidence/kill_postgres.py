"""As `kill_many`, with the control store on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

from tests.control.postgres import server

from evidence.figure import Figure
from evidence.kill_many import killed


def run(seed: int, share: float) -> Iterator[Figure]:
    with server() as postgres:
        yield from killed(seed + 2, share, control=postgres)
