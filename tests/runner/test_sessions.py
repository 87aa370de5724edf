"""Sessions that are set for the size of a batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakebed.runner import sessions


class Settings(dict[str, str]):
    """Stands for a session and its conf."""

    @property
    def conf(self) -> Settings:
        return self

    def set(self, name: str, value: str) -> None:
        self[name] = value


def test_little_data_is_not_worth_compiling_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "SMALL_BATCH", 10)
    monkeypatch.setattr(sessions, "SMALL_TABLE", 10)
    session, table = Settings(), str(tmp_path / "db" / "t")
    sessions.set_for_size(session, 5, table)
    assert session == sessions.FOR_LITTLE
    sessions.set_for_size(session, 50, table)
    assert session == sessions.FOR_MUCH
    (tmp_path / "db" / "t__journal").mkdir(parents=True)
    (tmp_path / "db" / "t__journal" / "file").write_bytes(b"x" * 50)
    sessions.set_for_size(session, 5, table)
    assert session == sessions.FOR_MUCH
    sessions.set_for_size(session, None, str(tmp_path / "db" / "small"))
    assert session == sessions.FOR_MUCH
    sessions.set_for_size(session, 5, "s3a://lake/db/t")
    assert session == sessions.FOR_MUCH
