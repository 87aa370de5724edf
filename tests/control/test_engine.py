"""Addresses, drivers and errors. A password is shown nowhere."""

from __future__ import annotations

import importlib.util
import logging
import traceback
from pathlib import Path

import pytest

from lakebed.control import open_store
from lakebed.control.engine import make_engine, public_address
from lakebed.errors import LakebedError, ManifestError, SetupError, TableError, TransientError

SECRET = "hunter2-öß%40"  # noqa: S105


def test_a_relative_file_lies_in_the_project(tmp_path: Path) -> None:
    open_store("sqlite:///.lakebed/deep/control.db", base=tmp_path).close()
    assert (tmp_path / ".lakebed" / "deep" / "control.db").is_file()


@pytest.mark.parametrize(
    "address",
    [
        "",
        "nonsense",
        "mysql://u:hunter2@h/d",
        "postgresql://u:hunter2@h:port/d",
        "sqlite://",
        "sqlite:///:memory:",
    ],
)
def test_what_is_no_store_is_refused(address: str, tmp_path: Path) -> None:
    with pytest.raises(ManifestError) as caught:
        open_store(address, base=tmp_path)
    assert caught.value.where == "control"
    assert caught.value.hint
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://someone:{SECRET}@127.0.0.1:1/db?connect_timeout=2",
        f"postgresql://someone@127.0.0.1:1/db?connect_timeout=2&password={SECRET}",
        f"postgresql://someone@127.0.0.1:1/db?connect_timeout=2&sslpassword={SECRET}",
    ],
)
def test_a_password_is_shown_nowhere(address: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(TransientError) as caught:
        open_store(address, base=tmp_path)
    engine = make_engine(address, base=tmp_path)
    shown = [
        *traceback.format_exception(caught.value),
        str(caught.value.as_dict()),
        caplog.text,
        public_address(engine),
    ]
    engine.dispose()
    assert not [text for text in shown if "hunter2" in text]
    assert "127.0.0.1" in str(caught.value)


def test_a_missing_driver_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def find_spec(name: str) -> None:
        assert name == "psycopg"

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)
    with pytest.raises(SetupError, match="driver is not installed") as caught:
        open_store(f"postgresql://u:{SECRET}@h/d", base=tmp_path)
    assert caught.value.hint == "pip install 'lakebed[postgres]'"
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


def test_a_file_that_is_no_database_says_so(tmp_path: Path) -> None:
    (tmp_path / "control.db").write_bytes(b"this is no database, but long enough to be looked at" * 100)
    with pytest.raises(TableError) as caught:
        open_store("sqlite:///control.db", base=tmp_path)
    assert caught.value.code == "control_broken"
    assert caught.value.hint


def test_a_folder_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(LakebedError, match="cannot be made"):
        open_store("sqlite:///file/control.db", base=tmp_path)


def test_sqlite_writes_ahead_and_syncs(tmp_path: Path) -> None:
    engine = make_engine("sqlite:///control.db", base=tmp_path)
    with engine.connect() as connection:
        found = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    assert found == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 30_000}
    engine.dispose()
