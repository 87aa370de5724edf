"""What the control store knows of derived datasets: how far their sources were looked at, what waits, what failed for
good, what ran. A commit of a table tells the same of itself, so all of it can be lost (D2).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Engine, Row, select

from lakebed.control import schema
from lakebed.control.engine import transaction
from lakebed.control.records import DeadLetter, DerivedRun, Position, Waits
from lakebed.dependencies import Cause, Pending, Plan, Run, Target

Positions = Mapping[tuple[str, str], Position]
"""By derived dataset and source, both in lower case."""


@dataclass(frozen=True)
class DerivedStore:
    """Every method is one transaction, so a crash leaves the store as it was before or after the call."""

    engine: Engine
    clock: Callable[[], datetime]

    # Passes

    def positions(self) -> dict[tuple[str, str], Position]:
        with transaction(self.engine, writes=False) as connection:
            rows = connection.execute(select(schema.positions))
            return {(row.dataset, row.source): Position(row.version, row.table_id) for row in rows}

    def pending(self) -> dict[Target, Pending]:
        """What waits, as a pass takes it."""
        return {
            Target(one.dataset.lower(), one.partition): Pending(one.causes, one.behind)
            for one in self.waiting()
        }

    def waiting(self) -> list[Waits]:
        w = schema.waiting.c
        with transaction(self.engine, writes=False) as connection:
            rows = connection.execute(select(schema.waiting).order_by(w.since, w.dataset, w.partition))
            return [
                Waits(
                    row.dataset,
                    row.partition or None,
                    _causes(row.causes),
                    tuple(row.behind),
                    tuple(row.arrived),
                    tuple(row.missing),
                    row.since,
                )
                for row in rows
            ]

    def finish_pass(self, positions: Positions, datasets: Collection[str], plan: Plan) -> None:
        """Keep what a pass over these datasets (in lower case) has come to, all of it or nothing: a pass that dies before
        is done again from the tables."""
        now = self.clock()
        with transaction(self.engine, writes=True) as connection:
            for (dataset, source), position in positions.items():
                p = schema.positions.c
                connection.execute(schema.positions.delete().where(p.dataset == dataset, p.source == source))
                row = {"dataset": dataset, "source": source, "at": now}
                connection.execute(
                    schema.positions.insert().values(
                        **row, version=position.version, table_id=position.table_id
                    )
                )
            _replace_waiting(connection, datasets, plan, now)

    # Dead letters

    def dead_letters(self) -> list[DeadLetter]:
        d = schema.dead_letters.c
        with transaction(self.engine, writes=False) as connection:
            rows = connection.execute(select(schema.dead_letters).order_by(d.at, d.id))
            return [
                DeadLetter(
                    row.id, row.dataset, row.partition, _causes(row.causes), row.step, row.error, row.at
                )
                for row in rows
            ]

    def bury(self, letter: DeadLetter) -> None:
        """Keep a dead letter; one of the same id is replaced."""
        d = schema.dead_letters.c
        with transaction(self.engine, writes=True) as connection:
            connection.execute(schema.dead_letters.delete().where(d.id == letter.id))
            connection.execute(
                schema.dead_letters.insert().values(
                    id=letter.id,
                    dataset=letter.dataset,
                    partition=letter.partition,
                    causes=[cause.as_dict() for cause in letter.causes],
                    step=letter.step,
                    error=dict(letter.error),
                    at=letter.at,
                )
            )

    def discard(self, id_: str) -> None:
        """Forget a dead letter: its run is done, or nobody wants it any more."""
        with transaction(self.engine, writes=True) as connection:
            connection.execute(schema.dead_letters.delete().where(schema.dead_letters.c.id == id_))

    # Runs

    def start_run(self, run: Run, steps: Sequence[Mapping[str, Any]]) -> int:
        row = {
            "id": run.id,
            "dataset": run.dataset,
            "partition": run.target.value,
            "write": run.write,
            "state": "running",
            "causes": [cause.as_dict() for cause in run.causes],
            "steps": [dict(step) for step in steps],
            "started_at": self.clock(),
        }
        table = schema.derived_runs
        with transaction(self.engine, writes=True) as connection:
            return int(connection.execute(table.insert().values(row).returning(table.c.number)).scalar_one())

    def finish_run(self, number: int, **result: Any) -> None:
        """`result`: state, steps, failed_step, error, version_before, version, rows, files."""
        table = schema.derived_runs
        with transaction(self.engine, writes=True) as connection:
            connection.execute(
                table.update().where(table.c.number == number).values(finished_at=self.clock(), **result)
            )

    def runs(self, dataset: str | None = None, *, limit: int | None = None) -> list[DerivedRun]:
        """The newest tries at runs, the newest first."""
        table = schema.derived_runs
        query = select(table).order_by(table.c.number.desc()).limit(limit)
        if dataset is not None:
            query = query.where(table.c.dataset == dataset)
        with transaction(self.engine, writes=False) as connection:
            return [_run(row) for row in connection.execute(query)]


def _replace_waiting(connection: Connection, datasets: Collection[str], plan: Plan, now: datetime) -> None:
    w = schema.waiting.c
    since: dict[tuple[str, str], datetime] = {}
    for row in connection.execute(select(w.dataset, w.partition, w.since)).all():
        if row.dataset.lower() in datasets:
            since[row.dataset.lower(), row.partition] = row.since
            here = (w.dataset == row.dataset) & (w.partition == row.partition)
            connection.execute(schema.waiting.delete().where(here))
    for one in plan.waiting:
        value = one.partition.values[0][1] if one.partition else None
        target = Target(one.dataset.lower(), value)
        values = {
            "dataset": one.dataset,
            "partition": value or "",
            "causes": [cause.as_dict() for cause in one.causes],
            "behind": list(plan.state.waiting[target].behind),
            "arrived": list(one.arrived),
            "missing": list(one.missing),
            "since": since.get((target.dataset, value or ""), now),
        }
        connection.execute(schema.waiting.insert().values(values))


def _causes(data: Iterable[Mapping[str, Any]]) -> tuple[Cause, ...]:
    return tuple(Cause.from_dict(one) for one in data)


def _run(row: Row[Any]) -> DerivedRun:
    values = dict(row._mapping)
    return DerivedRun(**{**values, "causes": _causes(values["causes"]), "steps": tuple(values["steps"])})
