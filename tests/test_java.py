"""Java is found, and looked at, before Spark starts it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakebed.errors import SetupError
from lakebed.java import Java, require_java


def _runtime(folder: Path, *, release: str | None = None, says: str = "") -> Path:
    """A folder that looks like a Java runtime."""
    (folder / "bin").mkdir(parents=True)
    program = folder / "bin" / "java"
    program.write_text(f"#!/bin/sh\necho '{says}' >&2\n", encoding="utf-8")
    program.chmod(0o755)
    if release is not None:
        (folder / "release").write_text(f'IMPLEMENTOR="Nobody"\nJAVA_VERSION="{release}"\n', encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("version", "major"),
    [("17", 17), ("17.0.15", 17), ("21.0.2+13-LTS", 21), ("1.8.0_392", 8), ("22-ea", 22)],
)
def test_major_number_of_all_ways_to_write_a_version(version: str, major: int) -> None:
    assert Java(Path("java"), version).major == major


@pytest.mark.parametrize("told", ["by the file", "by the program"])
def test_finds_the_java_of_JAVA_HOME(told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by_file = (
        {"release": "21.0.4"} if told == "by the file" else {"says": 'openjdk version "21.0.4" 2024-07-16'}
    )
    home = _runtime(tmp_path / "java 21", **by_file)
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert require_java() == Java(home / "bin" / "java", "21.0.4")


def test_takes_the_first_in_PATH_without_JAVA_HOME(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(_runtime(tmp_path / "jdk", release="17.0.1") / "bin"))
    assert require_java().version == "17.0.1"


def test_an_old_java_is_refused_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(_runtime(tmp_path / "jdk", release="11.0.22")))
    with pytest.raises(SetupError, match=r"needs Java 17 or later.*Java 11\.0\.22") as raised:
        require_java()
    assert raised.value.code == "java_too_old"
    assert "JAVA_HOME" in str(raised.value.hint)


@pytest.mark.parametrize("home", [None, "nowhere"])
def test_no_java_is_told_plainly(home: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    if home is None:
        monkeypatch.delenv("JAVA_HOME", raising=False)
    else:
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / home))
    with pytest.raises(SetupError, match="needs Java 17 or later") as raised:
        require_java()
    assert raised.value.code == "java_missing"
    assert "install a Java runtime" in str(raised.value.hint)


def test_a_java_that_says_nothing_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(_runtime(tmp_path / "jdk", says="?")))
    with pytest.raises(SetupError) as raised:
        require_java()
    assert raised.value.code == "java_broken"
