"""Every test of the store runs on both databases."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from tests.control.postgres import server

from lakebed.control import ControlStore, open_store

_names = itertools.count(1)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    with server() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store that does not exist yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'control' / 'store.db'}"
    running: str = request.getfixturevalue("postgres")
    name = f"store_{next(_names)}"
    admin = create_engine(running.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    admin.dispose()
    return running.replace("/postgres?", f"/{name}?")


@pytest.fixture
def open_one(address: str) -> Iterator[Callable[[], ControlStore]]:
    """Opens the store, any number of times."""
    opened: list[ControlStore] = []

    def again() -> ControlStore:
        opened.append(open_store(address))
        return opened[-1]

    yield again
    for one in opened:
        one.close()


@pytest.fixture
def store(open_one: Callable[[], ControlStore]) -> ControlStore:
    return open_one()
