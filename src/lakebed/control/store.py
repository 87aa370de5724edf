"""The control store on SQLAlchemy Core: SQLite in a file by default, PostgreSQL by URL, the same statements.

It plans, and remembers runs and events. Which batch is applied is told by the table alone: a store that is
lost, or lags behind, costs work but never a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, func, select, true
from sqlalchemy.exc import IntegrityError

from lakebed.control import schema
from lakebed.control.batch_rows import batch_of, batches_of, forget, insert_inputs, not_open, taken_paths_of
from lakebed.control.derived_store import DerivedStore
from lakebed.control.engine import make_engine, public_address, transaction
from lakebed.control.records import Batch, BatchPlan, Event, Failure, Input, Run, RunState
from lakebed.errors import ConflictError, TableError

Clock = Callable[[], datetime]


def system_clock() -> datetime:
    return datetime.now(UTC)


def open_store(address: str, *, base: Path | None = None, clock: Clock = system_clock) -> ControlStore:
    """Open the store at `address`, and create or upgrade its tables. Relative SQLite files lie under `base`."""
    engine = make_engine(address, base=base or Path.cwd())
    try:
        with transaction(engine, writes=True) as connection:
            schema.upgrade(connection, now=clock())
    except TableError as error:
        engine.dispose()
        error.where = error.where or public_address(engine)
        raise
    return ControlStore(engine, clock)


class ControlStore:
    """Every method is one transaction, so a crash leaves the store as it was before or after the call."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock

    def __enter__(self) -> ControlStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"ControlStore({public_address(self._engine)!r})"

    def close(self) -> None:
        self._engine.dispose()

    @property
    def derived(self) -> DerivedStore:
        """The part that is about derived datasets."""
        return DerivedStore(self._engine, self._clock)

    # Batches

    def plan_batch(self, plan: BatchPlan) -> Batch:
        """Keep the plan, and give back the one that holds for its number: of several planners the first wins.

        A number beyond the next, or an input that another batch has, is a ConflictError: plan again.
        """
        why = "an input of it belongs to another batch"
        try:
            with transaction(self._engine, writes=True) as connection:
                b = schema.batches.c
                last = connection.execute(
                    select(func.max(b.number)).where(b.dataset == plan.dataset)
                ).scalar()
                if plan.number == (last or 0) + 1:
                    return self._insert(connection, plan)
                why = f"the next batch is {(last or 0) + 1}"
        except IntegrityError:
            pass
        # Looked up only now, in a new transaction: whoever was faster has committed.
        with transaction(self._engine, writes=False) as connection:
            if (kept := batch_of(connection, plan.dataset, plan.number)) is not None:
                return kept
        raise ConflictError(
            f"batch {plan.number} cannot be planned: {why}",
            where=plan.dataset,
            hint="another run was faster; run again",
        )

    def _insert(self, connection: Connection, plan: BatchPlan) -> Batch:
        planned_at = self._clock()
        connection.execute(
            schema.batches.insert().values(
                dataset=plan.dataset,
                number=plan.number,
                state="planned",
                system_time=plan.system_time,
                event_time=plan.event_time,
                planned_at=planned_at,
                report={},
            )
        )
        insert_inputs(connection, plan)
        return Batch(plan=plan, state="planned", planned_at=planned_at)

    def replace_plan(self, plan: BatchPlan) -> None:
        """The open batch of this number is this one, as it turned out: its inputs and times are in place of those that were planned, and
        its failure is forgotten. Where an input belongs to another batch, it is a ConflictError."""
        b = schema.batches.c
        try:
            with transaction(self._engine, writes=True) as connection:
                changed = connection.execute(
                    schema.batches.update()
                    .where(b.dataset == plan.dataset, b.number == plan.number, b.state == "planned")
                    .values(system_time=plan.system_time, event_time=plan.event_time)
                )
                if not changed.rowcount:
                    raise not_open(connection, plan.dataset, plan.number, "replaced")
                forget(connection, plan.dataset, plan.number, schema.inputs, schema.failures)
                insert_inputs(connection, plan)
        except IntegrityError:
            raise ConflictError(
                f"batch {plan.number} is in the table with a file that another batch has, too",
                where=plan.dataset,
                hint="was the control store, or a plan beside the table, brought back from a backup? `lakebed recover` with no control "
                "store makes it again",
            ) from None

    def drop_plan(self, dataset: str, number: int) -> None:
        """Forget a plan that was not carried out, and its failure; its inputs are new again. A batch that is done stays."""
        with transaction(self._engine, writes=True) as connection:
            kept = batch_of(connection, dataset, number)
            if kept is None or kept.state == "done":
                raise not_open(connection, dataset, number, "dropped")
            forget(connection, dataset, number, schema.inputs, schema.batches, schema.failures)

    def finish_batch(
        self, dataset: str, number: int, *, report: Mapping[str, Any], table_version: int | None = None
    ) -> Batch:
        """Mark the batch done and note its event, both or neither. Doing it twice changes nothing."""
        b, now = schema.batches.c, self._clock()
        try:
            with transaction(self._engine, writes=True) as connection:
                changed = connection.execute(
                    schema.batches.update()
                    .where(b.dataset == dataset, b.number == number, b.state == "planned")
                    .values(state="done", finished_at=now, report=dict(report))
                )
                if changed.rowcount:
                    event = {"dataset": dataset, "batch": number, "at": now, "table_version": table_version}
                    connection.execute(schema.events.insert().values(event))
                kept = batch_of(connection, dataset, number)
        except IntegrityError:  # the event was there: the batch was finished, dropped and planned by hand
            raise TableError(
                f"batch {number} has its event already", code="control_broken", where=dataset
            ) from None
        if kept is None:
            raise TableError(f"batch {number} was never planned", where=dataset)
        return kept

    def open_batch(self, dataset: str) -> Batch | None:
        """The first batch that is planned and not done: what the next run begins with."""
        b = schema.batches.c
        return self._one(dataset, b.state == "planned", b.number)

    def last_batch(self, dataset: str) -> Batch | None:
        """The batch with the highest number, planned or done."""
        return self._one(dataset, true(), schema.batches.c.number.desc())

    def last_done(self, dataset: str) -> Batch | None:
        """The batch with the highest number of those that are done."""
        b = schema.batches.c
        return self._one(dataset, b.state == "done", b.number.desc())

    def batches(self, dataset: str) -> list[Batch]:
        """All batches, by number."""
        with transaction(self._engine, writes=False) as connection:
            return batches_of(connection, dataset, true(), schema.batches.c.number)

    def _one(self, dataset: str, which: ColumnElement[bool], order: ColumnElement[Any]) -> Batch | None:
        with transaction(self._engine, writes=False) as connection:
            return next(iter(batches_of(connection, dataset, which, order, limit=1)), None)

    def not_taken(self, dataset: str, candidates: Iterable[Input]) -> list[Input]:
        """Those of the candidates that no batch of the dataset has, and nobody has skipped, in their order."""
        with transaction(self._engine, writes=False) as connection:
            taken = {
                identity
                for table in (schema.inputs, schema.skips)
                for identity in connection.execute(
                    select(table.c.identity).where(table.c.dataset == dataset)
                ).scalars()
            }
        return [one for one in candidates if one.identity not in taken]

    def taken_paths(self, dataset: str, paths: Iterable[str]) -> dict[str, int]:
        """Those of the paths that a batch has taken before, in whatever state they were then, with its number."""
        wanted = set(paths)
        if not wanted:
            return {}
        with transaction(self._engine, writes=False) as connection:
            return {path: number for path, number in taken_paths_of(connection, dataset) if path in wanted}

    def known_paths(self, dataset: str) -> dict[str, int | None]:
        """All paths of the dataset's batches, each with the number of the last one that has it, and those that were only
        ever skipped, with None."""
        s = schema.skips.c
        with transaction(self._engine, writes=False) as connection:
            skipped = connection.execute(select(s.path).where(s.dataset == dataset)).scalars()
            return {**dict.fromkeys(skipped), **dict(taken_paths_of(connection, dataset))}

    def a_path_of_each(self) -> dict[str, str]:
        """The datasets that have taken any file, each with the path of one."""
        i = schema.inputs.c
        query = select(i.dataset, func.min(i.path).label("path")).group_by(i.dataset)
        with transaction(self._engine, writes=False) as connection:
            return {row.dataset: row.path for row in connection.execute(query)}

    # Failures

    def note_failure(self, dataset: str, number: int, error: Mapping[str, Any]) -> None:
        """The open batch cannot be applied as it is: the dataset waits for `clear_failure` or `skip_batch`."""
        row = {"dataset": dataset, "number": number, "at": self._clock(), "error": dict(error)}
        with transaction(self._engine, writes=True) as connection:
            connection.execute(schema.failures.delete().where(schema.failures.c.dataset == dataset))
            connection.execute(schema.failures.insert().values(row))

    def failure(self, dataset: str) -> Failure | None:
        """What the dataset waits for, if it does."""
        query = select(schema.failures).where(schema.failures.c.dataset == dataset)
        with transaction(self._engine, writes=False) as connection:
            row = connection.execute(query).first()
        return None if row is None else Failure(**row._mapping)

    def clear_failure(self, dataset: str) -> None:
        with transaction(self._engine, writes=True) as connection:
            connection.execute(schema.failures.delete().where(schema.failures.c.dataset == dataset))

    def skip_batch(self, dataset: str, number: int) -> tuple[Input, ...]:
        """Leave the inputs of a planned batch out for good; its number is free again. Gives the inputs."""
        with transaction(self._engine, writes=True) as connection:
            kept = batch_of(connection, dataset, number)
            if kept is None or kept.state == "done":
                raise not_open(connection, dataset, number, "skipped")
            found = connection.execute(
                select(schema.failures.c.error).where(schema.failures.c.dataset == dataset)
            ).scalar()
            forget(connection, dataset, number, schema.inputs, schema.batches, schema.failures)
            self._skip(connection, dataset, kept.plan.inputs, found or {})
        return kept.plan.inputs

    def skip_inputs(self, dataset: str, inputs: Sequence[Input]) -> None:
        """Leave these out too, as a lost store knew."""
        with transaction(self._engine, writes=True) as connection:
            self._skip(connection, dataset, inputs, {})

    def _skip(
        self, connection: Connection, dataset: str, inputs: Sequence[Input], error: Mapping[str, Any]
    ) -> None:
        """Those that are left out already stay so."""
        now, s = self._clock(), schema.skips.c
        known = set(connection.execute(select(s.identity).where(s.dataset == dataset)).scalars())
        rows = [
            {"dataset": dataset, "identity": one.identity, "at": now, "error": dict(error), **one.as_dict()}
            for one in inputs
            if one.identity not in known
        ]
        if rows:
            connection.execute(schema.skips.insert(), rows)

    # Leases

    def take_lease(self, dataset: str, holder: str, *, seconds: float) -> bool:
        """Whether `holder` may work on the dataset for so long: nobody else does, or whoever did has not said so in time.
        The store's own clock decides, so machines need not agree on the time. Taking it again makes it longer."""
        lease = schema.leases
        with transaction(self._engine, writes=True) as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(
                    select(func.pg_advisory_xact_lock(schema.LEASE_LOCK, func.hashtext(dataset)))
                )
            now = self._now(connection)
            row = connection.execute(select(lease).where(lease.c.dataset == dataset)).first()
            if row is not None and row.holder != holder and row.until > now:
                return False
            connection.execute(lease.delete().where(lease.c.dataset == dataset))
            until = now + timedelta(seconds=seconds)
            connection.execute(lease.insert().values(dataset=dataset, holder=holder, until=until))
            return True

    def lease_holder(self, dataset: str) -> str | None:
        """Whoever had the lease last, whether its time is over or not."""
        lease = schema.leases.c
        with transaction(self._engine, writes=False) as connection:
            return connection.execute(select(lease.holder).where(lease.dataset == dataset)).scalar()

    def release_lease(self, dataset: str, holder: str) -> None:
        lease = schema.leases.c
        with transaction(self._engine, writes=True) as connection:
            connection.execute(schema.leases.delete().where(lease.dataset == dataset, lease.holder == holder))

    def _now(self, connection: Connection) -> datetime:
        if connection.dialect.name == "postgresql":
            now: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
            return now.astimezone(UTC)
        return self._clock()

    # Runs

    def start_run(self, dataset: str) -> int:
        """A run begins, and whatever still counts as running has died: of one dataset, one run is at work at a time."""
        r = schema.runs.c
        died = {
            "code": "died",
            "what": "the run ended without a word: it was killed, or its machine went down",
        }
        with transaction(self._engine, writes=True) as connection:
            connection.execute(
                schema.runs.update()
                .where(r.dataset == dataset, r.state == "running")
                .values(state="failed", finished_at=self._clock(), error=died)
            )
            row = {"dataset": dataset, "state": "running", "started_at": self._clock(), "batches": 0}
            result = connection.execute(schema.runs.insert().values(row).returning(schema.runs.c.id))
            return int(result.scalar_one())

    def finish_run(
        self, run: int, state: RunState, *, batches: int, error: Mapping[str, Any] | None = None
    ) -> None:
        with transaction(self._engine, writes=True) as connection:
            connection.execute(
                schema.runs.update()
                .where(schema.runs.c.id == run)
                .values(
                    state=state,
                    finished_at=self._clock(),
                    batches=batches,
                    error=None if error is None else dict(error),
                )
            )

    def last_run(self, dataset: str) -> Run | None:
        query = (
            select(schema.runs)
            .where(schema.runs.c.dataset == dataset)
            .order_by(schema.runs.c.id.desc())
            .limit(1)
        )
        with transaction(self._engine, writes=False) as connection:
            row = connection.execute(query).first()
        return None if row is None else Run(**row._mapping)

    # Events

    def events(self, *, after: int = 0, limit: int = 1000) -> list[Event]:
        """What happened since the event with the id `after`."""
        query = (
            select(schema.events).where(schema.events.c.id > after).order_by(schema.events.c.id).limit(limit)
        )
        with transaction(self._engine, writes=False) as connection:
            return [Event(**row._mapping) for row in connection.execute(query)]
