"""The store's tables and their versions.

`UPGRADES[n]` leads from version n to n + 1. Whoever changes a table below adds an upgrade, and gives the
first one the old definition; `tests/control/test_schema.py` pins the statements so that nobody forgets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Column,
    Connection,
    DateTime,
    Dialect,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    func,
    inspect,
    select,
    text,
)
from sqlalchemy.types import TypeDecorator

from lakebed.control.records import utc
from lakebed.errors import TableError


class UtcTime(TypeDecorator[datetime]):
    """An instant, microseconds, UTC: `timestamptz` in PostgreSQL, text that sorts in SQLite."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        return None if value is None else utc(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else utc(value)


metadata = MetaData()
Number = BigInteger().with_variant(Integer(), "sqlite")  # SQLite counts up only where the type is INTEGER

schema_version = Table(
    "schema_version",
    metadata,
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("applied_at", UtcTime, nullable=False),
)

batches = Table(
    "batches",
    metadata,
    Column("dataset", Text, primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column(
        "state", Text, CheckConstraint("state IN ('planned', 'done')", name="batch_state"), nullable=False
    ),
    Column("system_time", UtcTime, nullable=False),
    Column("event_time", UtcTime),
    Column("planned_at", UtcTime, nullable=False),
    Column("finished_at", UtcTime),
    Column("report", JSON, nullable=False),
    CheckConstraint("number > 0", name="batch_number"),
)

inputs = Table(
    "inputs",
    metadata,
    Column("dataset", Text, primary_key=True),
    Column("identity", Text, primary_key=True),  # the same input in two batches of a dataset cannot be stored
    Column("number", BigInteger, nullable=False),
    Column("place", Integer, nullable=False),
    Column("path", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("modified_ns", BigInteger, nullable=False),
    ForeignKeyConstraint(["dataset", "number"], ["batches.dataset", "batches.number"], name="input_batch"),
    Index("inputs_by_batch", "dataset", "number", "place", unique=True),
)

runs = Table(
    "runs",
    metadata,
    Column("id", Number, Identity(always=True), primary_key=True),
    Column("dataset", Text, nullable=False),
    Column(
        "state",
        Text,
        CheckConstraint("state IN ('running', 'done', 'failed')", name="run_state"),
        nullable=False,
    ),
    Column("started_at", UtcTime, nullable=False),
    Column("finished_at", UtcTime),
    Column("batches", Integer, nullable=False),
    Column("error", JSON(none_as_null=True)),
    Index("runs_by_dataset", "dataset", "id"),
)

events = Table(
    "events",
    metadata,
    Column("id", Number, Identity(always=True), primary_key=True),
    Column("dataset", Text, nullable=False),
    Column("batch", BigInteger, nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("table_version", BigInteger),
    UniqueConstraint("dataset", "batch", name="event_once"),
)

# A batch that failed for a reason of its own, which no further try would mend: its dataset waits for a person.
failures = Table(
    "failures",
    metadata,
    Column("dataset", Text, primary_key=True),
    Column("number", BigInteger, nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("error", JSON, nullable=False),
)

# Inputs that a person has decided to leave out.
skips = Table(
    "skips",
    metadata,
    Column("dataset", Text, primary_key=True),
    Column("identity", Text, primary_key=True),
    Column("path", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("modified_ns", BigInteger, nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("error", JSON, nullable=False),
)

# Who works on a dataset, and until when the others wait.
leases = Table(
    "leases",
    metadata,
    Column("dataset", Text, primary_key=True),
    Column("holder", Text, nullable=False),
    Column("until", UtcTime, nullable=False),
)

# How far the commits of a source have been looked at for a derived dataset (D2).
positions = Table(
    "positions",
    metadata,
    Column("dataset", Text, primary_key=True),
    Column("source", Text, primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("table_id", Text, nullable=False),
    Column("at", UtcTime, nullable=False),
)

# Targets that have a cause to run and lack something (D3, D8). `partition` is empty where the dataset has none.
waiting = Table(
    "waiting",
    metadata,
    Column("dataset", Text, primary_key=True),
    Column("partition", Text, primary_key=True),
    Column("causes", JSON, nullable=False),
    Column("behind", JSON, nullable=False),
    Column("arrived", JSON, nullable=False),
    Column("missing", JSON, nullable=False),
    Column("since", UtcTime, nullable=False),
)

# Runs that failed for good, and arrivals of which no run could be made (D11).
dead_letters = Table(
    "dead_letters",
    metadata,
    Column("id", Text, primary_key=True),
    Column("dataset", Text, nullable=False),
    Column("partition", Text),
    Column("causes", JSON, nullable=False),
    Column("step", Integer),
    Column("error", JSON, nullable=False),
    Column("at", UtcTime, nullable=False),
)

# One try at one run of a derived dataset.
derived_runs = Table(
    "derived_runs",
    metadata,
    Column("number", Number, Identity(always=True), primary_key=True),
    Column("id", Text, nullable=False),
    Column("dataset", Text, nullable=False),
    Column("partition", Text),
    Column("write", Text, nullable=False),
    Column(
        "state",
        Text,
        CheckConstraint("state IN ('running', 'done', 'failed')", name="derived_run_state"),
        nullable=False,
    ),
    Column("causes", JSON, nullable=False),
    Column("steps", JSON, nullable=False),
    Column("failed_step", Integer),
    Column("error", JSON(none_as_null=True)),
    Column("version_before", BigInteger),
    Column("version", BigInteger),
    Column("rows", BigInteger),
    Column("files", BigInteger),
    Column("started_at", UtcTime, nullable=False),
    Column("finished_at", UtcTime),
    Index("derived_runs_by_dataset", "dataset", "number"),
)

Upgrade = Callable[[Connection], None]


def _batches_runs_events(connection: Connection) -> None:
    metadata.create_all(connection, tables=[schema_version, batches, inputs, runs, events])


def _failures_skips_leases(connection: Connection) -> None:
    metadata.create_all(connection, tables=[failures, skips, leases])


def _derived_datasets(connection: Connection) -> None:
    metadata.create_all(connection, tables=[positions, waiting, dead_letters, derived_runs])


UPGRADES: tuple[Upgrade, ...] = (_batches_runs_events, _failures_skips_leases, _derived_datasets)

ADVISORY_LOCK = 0x6C616B65626564  # "lakebed"; any number does, if every lakebed uses the same
LEASE_LOCK = 0x6C616B65  # its first half: the other one is the dataset


def upgrade(connection: Connection, *, now: datetime, upgrades: Sequence[Upgrade] = UPGRADES) -> None:
    """Bring the store to this program's version. The caller's transaction holds the write lock of SQLite; in
    PostgreSQL the advisory lock below does the same, so of two processes the second finds nothing to do."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(ADVISORY_LOCK)))
    found = stored_version(connection)
    if found > len(upgrades):
        raise TableError(
            f"the control store has schema version {found}, this lakebed knows {len(upgrades)}",
            code="control_newer",
            hint="a newer lakebed has used this store: install that version here too, or name another store in `control`",
        )
    for version, step in enumerate(upgrades[found:], start=found + 1):
        step(connection)
        connection.execute(schema_version.insert().values(version=version, applied_at=now))


def stored_version(connection: Connection) -> int:
    if not inspect(connection).has_table(schema_version.name):
        return 0
    # max() alone, so that a version of the far future, with other columns, can still be told
    return int(connection.execute(text("SELECT max(version) FROM schema_version")).scalar() or 0)
