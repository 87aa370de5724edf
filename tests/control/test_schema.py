"""The store's schema: made and upgraded by itself, in order, once, whole or not at all."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest
from sqlalchemy import Connection, Dialect, Engine, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateTable

from lakebed.control import open_store
from lakebed.control import schema as current
from lakebed.control.engine import make_engine, transaction
from lakebed.control.store import system_clock
from lakebed.errors import TableError


def engine_of(address: str) -> Engine:
    return make_engine(address, base=Path("/"))


def versions(engine: Engine) -> list[int]:
    with transaction(engine, writes=False) as connection:
        return list(connection.execute(text("SELECT version FROM schema_version ORDER BY version")).scalars())


def test_the_first_open_makes_the_schema_the_second_leaves_it(address: str) -> None:
    open_store(address).close()
    open_store(address).close()
    engine = engine_of(address)
    assert versions(engine) == list(range(1, len(current.UPGRADES) + 1))
    engine.dispose()


def test_upgrades_run_in_order_from_where_the_store_is(address: str) -> None:
    ran: list[str] = []

    def second(connection: Connection) -> None:
        ran.append("second")
        connection.execute(text("CREATE TABLE extra (n INTEGER)"))

    def third(connection: Connection) -> None:
        ran.append("third")
        connection.execute(text("INSERT INTO extra VALUES (1)"))

    open_store(address).close()
    engine = engine_of(address)
    steps = (*current.UPGRADES, second, third)
    for _ in range(2):
        with transaction(engine, writes=True) as connection:
            current.upgrade(connection, now=system_clock(), upgrades=steps)
    assert ran == ["second", "third"]
    assert versions(engine) == list(range(1, len(steps) + 1))
    engine.dispose()


def test_an_upgrade_that_breaks_leaves_the_store_as_it_was(address: str) -> None:
    def breaks(connection: Connection) -> None:
        connection.execute(text("CREATE TABLE half (n INTEGER)"))
        raise RuntimeError("boom")

    open_store(address).close()
    engine = engine_of(address)
    with pytest.raises(RuntimeError, match="boom"), transaction(engine, writes=True) as connection:
        current.upgrade(connection, now=system_clock(), upgrades=(*current.UPGRADES, breaks))
    assert versions(engine) == list(range(1, len(current.UPGRADES) + 1))
    with pytest.raises(Exception, match="half"), transaction(engine, writes=False) as connection:
        connection.execute(text("SELECT n FROM half"))
    engine.dispose()


def test_a_newer_store_is_refused_with_the_way_out(address: str) -> None:
    open_store(address).close()
    engine = engine_of(address)
    with transaction(engine, writes=True) as connection:
        connection.execute(current.schema_version.insert().values(version=99, applied_at=system_clock()))
    engine.dispose()
    with pytest.raises(TableError, match="schema version 99") as caught:
        open_store(address)
    assert caught.value.code == "control_newer"
    assert "newer lakebed" in (caught.value.hint or "")


def _open(address: str, gate: object) -> None:
    gate.wait()  # type: ignore[attr-defined]
    open_store(address).close()


def test_several_processes_make_the_schema_once(address: str) -> None:
    context = multiprocessing.get_context("spawn")
    gate = context.Barrier(4)
    workers = [context.Process(target=_open, args=(address, gate)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0] * 4
    engine = engine_of(address)
    assert versions(engine) == list(range(1, len(current.UPGRADES) + 1))
    engine.dispose()


RELEASED = {
    "schema_1.sql": ("schema_version", "batches", "inputs", "runs", "events"),
    "schema_2.sql": ("failures", "skips", "leases"),
    "schema_3.sql": ("positions", "waiting", "dead_letters", "derived_runs"),
}


@pytest.mark.parametrize("file", RELEASED)
def test_the_statements_of_each_version_are_those_released(file: str) -> None:
    """If this fails you changed a table: keep its old form for its upgrade and write another (see schema.py)."""
    released = (Path(__file__).parent / file).read_text()
    dialects: tuple[Dialect, ...] = (sqlite.dialect(), postgresql.dialect())  # type: ignore[no-untyped-call]
    said = [
        f"-- {dialect.name}\n"
        + "".join(
            str(CreateTable(table).compile(dialect=dialect))
            for table in current.metadata.sorted_tables
            if table.name in RELEASED[file]
        )
        for dialect in dialects
    ]
    lines = [line.rstrip() for line in "\n".join(said).splitlines()]
    assert "\n".join(line for line in lines if line) == released.strip()
