"""The edge to the database: URLs, connections, transactions, and errors that never show a password."""

from __future__ import annotations

import importlib.util
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, IntegrityError, InterfaceError, OperationalError

from lakebed.errors import LakebedError, ManifestError, SetupError, TableError, TransientError

BUSY_SECONDS = 30
SECRET_WORDS = ("password", "passwd", "secret", "token", "key")
SQLITE_BROKEN = ("SQLITE_CORRUPT", "SQLITE_NOTADB")


def make_engine(address: str, *, base: Path) -> Engine:
    """An engine for `sqlite:///path` (relative to `base`, the project's folder) or `postgresql://…`."""
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        url = None
    kind = url.get_backend_name() if url else None
    if url is None or kind not in ("sqlite", "postgresql", "postgres"):
        raise ManifestError(
            "`control` is no address of a control store",
            where="control",
            hint="write sqlite:///.lakebed/control.db or postgresql://user@host/database",
        ) from None
    return _sqlite(url, base) if kind == "sqlite" else _postgres(url)


def public_address(engine: Engine) -> str:
    """The engine's address as it may be shown: without the password, wherever in the URL it stands."""
    url = engine.url
    hidden = {
        name: "***" if any(word in name.lower() for word in SECRET_WORDS) else value
        for name, value in url.query.items()
    }
    return url.set(query=hidden).render_as_string(hide_password=True)


def _sqlite(url: URL, base: Path) -> Engine:
    name = url.database
    if not name or name == ":memory:" or name.startswith("file:"):
        raise ManifestError(
            "the control store needs a file",
            where="control",
            hint="write sqlite:///.lakebed/control.db; what is kept in memory is gone after the run",
        )
    path = base / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SetupError(
            f"the folder of the control store cannot be made: {error.strerror}",
            where=str(path.parent),
            hint="name a folder in `control` that lakebed may write to",
        ) from None
    # One connection per transaction: nothing is left open between runs, and none is carried over a fork.
    engine = create_engine(URL.create("sqlite", database=str(path)), poolclass=NullPool, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def _settings(connection: Any, _record: Any) -> None:
        connection.isolation_level = (
            None  # transactions are ours, see _begin; sqlite3's own leave DDL outside
        )
        for pragma in (f"busy_timeout={BUSY_SECONDS * 1000}", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}").close()
        _write_ahead(connection)

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # A writer takes the lock at once: one that starts as a reader may be refused the lock without any waiting.
        writes = connection.get_execution_options().get("lakebed_writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch to WAL, which the file then keeps. Two that switch at once are refused without any waiting: wait here."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL").close()
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _postgres(url: URL) -> Engine:
    if importlib.util.find_spec("psycopg") is None:
        raise SetupError(
            "the control store is in PostgreSQL, and its driver is not installed",
            where="control",
            hint="pip install 'lakebed[postgres]'",
        )
    return create_engine(
        url.set(drivername="postgresql+psycopg"),
        pool_size=1,
        max_overflow=4,
        pool_pre_ping=True,
        hide_parameters=True,
    )


@contextmanager
def transaction(engine: Engine, *, writes: bool) -> Iterator[Connection]:
    """One transaction: committed at the end, rolled back on any error. Driver errors become ours."""
    try:
        with engine.connect().execution_options(lakebed_writes=writes) as connection, connection.begin():
            yield connection
    except IntegrityError:
        raise  # the store's methods decide what a clash means
    except (OperationalError, InterfaceError, DatabaseError) as error:
        raise _translated(error, public_address(engine)) from None


def _translated(error: DatabaseError | InterfaceError, where: str) -> LakebedError:
    """Only the driver's first line is kept: it names the trouble, the rest may name hosts and settings."""
    said = (
        str(error.orig).strip().splitlines()[0]
        if error.orig and str(error.orig).strip()
        else "no reason given"
    )
    if getattr(error.orig, "sqlite_errorname", "").startswith(SQLITE_BROKEN):
        return TableError(
            f"the control store is not a readable database: {said}",
            code="control_broken",
            where=where,
            hint="move the file away and run again: the plans are read back from the files beside the tables",
        )
    if isinstance(error, OperationalError | InterfaceError):
        return TransientError(
            f"the control store does not answer: {said}",
            code="control_unavailable",
            where=where,
            hint="is the server running, the address right, the folder writable? Then run again: nothing is lost",
        )
    return TableError(
        f"the control store refused a statement: {said}",
        code="control_broken",
        where=where,
        hint="has something else changed its tables? Name another store in `control`, the plans are read back",
    )
