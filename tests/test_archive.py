"""The class archive: used if it fits and is whole; never in the way."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lakebed.archive import archive_options, keep_archive
from lakebed.jars import delta_jars
from lakebed.java import Java, require_java
from lakebed.prepare import prepare


@pytest.fixture(scope="session")
def java() -> Java:
    return require_java()


@pytest.fixture(scope="session")
def delta() -> tuple[Path, ...]:
    return delta_jars()


@pytest.fixture(scope="session")
def original(java: Java, delta: tuple[Path, ...]) -> Path:
    """The archive of this environment; made now if `make setup` has not."""
    assert prepare()
    return _archive(archive_options(java, delta))


@pytest.fixture
def copy(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That archive, alone in another cache folder."""
    monkeypatch.setenv("LAKEBED_CACHE", str(tmp_path))
    (tmp_path / "classes").mkdir()
    copied = Path(shutil.copy(original, tmp_path / "classes"))
    copied.chmod(0o644)
    return copied


def _archive(options: list[str]) -> Path:
    return Path(options[0].removeprefix("-XX:SharedArchiveFile="))


def test_is_used_if_it_fits(java: Java, delta: tuple[Path, ...], copy: Path) -> None:
    assert _archive(archive_options(java, delta)) == copy


def test_another_java_or_other_jars_do_without(
    java: Java, delta: tuple[Path, ...], copy: Path, tmp_path: Path
) -> None:
    later = Path(shutil.copy(delta[0], tmp_path))
    assert archive_options(Java(java.executable, "17.0.99"), delta) == []
    assert archive_options(java, [later, delta[1]]) == []


def test_one_that_was_cut_off_is_left_alone(java: Java, delta: tuple[Path, ...], copy: Path) -> None:
    with copy.open("r+b") as file:
        file.truncate(copy.stat().st_size // 2)
    assert archive_options(java, delta) == []


def test_spark_starts_with_one_whose_bytes_are_wrong(original: Path, tmp_path: Path) -> None:
    """The real class path, and the damaged file in the whole one's stead: without Java's own check it crashes."""
    damaged = Path(shutil.copy(original, tmp_path))
    damaged.chmod(0o644)
    quarter = damaged.stat().st_size // 4
    with damaged.open("r+b") as file:
        file.seek(quarter)
        file.write(b"\xa5" * 2 * quarter)
    instead = {
        "spark.driver.extraJavaOptions": f"-XX:SharedArchiveFile={damaged}",
        "spark.driver.memory": "1g",
    }
    script = f"from lakebed.session import session; print(session('local[1]', {instead!r}, short=True).range(3).count())"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("3\n", "")


def test_only_a_few_are_kept(
    java: Java, delta: tuple[Path, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKEBED_CACHE", str(tmp_path))
    for number in range(6):
        made = tmp_path / "made.jsa"
        made.write_bytes(b"x" * (number + 1))
        keep_archive(made, Java(java.executable, f"17.0.{number}"), delta)
    assert len(list((tmp_path / "classes").iterdir())) == 4
    assert archive_options(Java(java.executable, "17.0.5"), delta)
