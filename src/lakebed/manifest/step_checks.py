"""Do the steps of a derived dataset write what they may? Its own table by rows that lakebed commits, and its `helpers`."""

from __future__ import annotations

from collections.abc import Iterator

from lakebed.manifest.derived import Derived
from lakebed.manifest.explain import Explained
from lakebed.manifest.options import lower
from lakebed.manifest.statements import read_statement

_HINT = "name it in 'helpers', if it is meant"


def check_steps(derived: Derived) -> Iterator[Explained]:
    """What no step may do. An item in JSON cannot name helpers, so there these are warnings."""
    helpers, target, gives = lower(derived.helpers), derived.name.lower(), False
    for index, step in enumerate(derived.steps):
        if not step.sql.strip():
            continue
        statement, here = read_statement(step.sql), ("steps", index)
        table = statement.writes(derived.database_of(step))
        gives = gives or statement.kind == "rows" or (statement.kind == "insert" and table == target)
        if statement.kind == "unknown":
            what = "it cannot be told which table this statement writes"
            yield Explained(here, what, "a step is one SELECT, INSERT, CREATE, MERGE, UPDATE, DELETE or DROP")
        elif statement.kind == "write" and table == target:
            what = (
                f"only INSERT and SELECT give rows to {derived.name}: they are committed together, once (D9)"
            )
            yield Explained(here, what)
        elif table is not None and table != target and table not in helpers:
            yield Explained(here, f"it writes {table}, which is not the dataset's own table", _HINT)
    if not gives and all(step.sql.strip() for step in derived.steps):
        yield Explained(
            ("steps",), f"no step gives rows to {derived.name}: none is a SELECT or an INSERT into it"
        )
