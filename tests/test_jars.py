"""Delta's jars: from the cache if whole, else fetched, and never any others.

What is fetched here comes from a small Maven repository on disk, named in Spark's own way, so no test needs a network.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from lakebed import jars
from lakebed.errors import SetupError

_POM = """<project><modelVersion>4.0.0</modelVersion><groupId>{}</groupId><artifactId>{}</artifactId>
<version>{}</version></project>"""
_SETTINGS = """<ivysettings>
  <settings defaultResolver="disk"/>
  <resolvers><ibiblio name="disk" m2compatible="true" root="{}" checksums=""/></resolvers>
</ivysettings>"""


@pytest.fixture(scope="session")
def originals() -> tuple[Path, ...]:
    """The jars of this machine's own cache."""
    return jars.delta_jars()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder; what is returned is its folder of jars."""
    monkeypatch.setenv("LAKEBED_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "jars"


@pytest.fixture
def mirror(originals: tuple[Path, ...], tmp_path: Path) -> Path:
    """A Maven repository on disk that has the jars."""
    for jar, original in zip(jars.locked_jars(), originals, strict=True):
        group, artifact, version = jar.coordinates.split(":")
        folder = tmp_path / "mirror" / group.replace(".", "/") / artifact / version
        folder.mkdir(parents=True)
        shutil.copy(original, folder / f"{artifact}-{version}.jar")
        (folder / f"{artifact}-{version}.pom").write_text(
            _POM.format(group, artifact, version), encoding="utf-8"
        )
    return tmp_path / "mirror"


@pytest.fixture
def conf(mirror: Path, tmp_path: Path) -> dict[str, str]:
    """Spark's settings to resolve packages from that repository only."""
    settings = tmp_path / "ivysettings.xml"
    settings.write_text(_SETTINGS.format(mirror.as_uri()), encoding="utf-8")
    return {"spark.jars.ivySettings": str(settings)}


@pytest.fixture
def fetches(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The coordinates of each time that something was resolved."""
    seen: list[list[str]] = []
    resolve: Callable[..., str] = jars._resolve

    def counted(wanted: list[jars.Jar], into: Path, conf: dict[str, str]) -> str:
        seen.append([jar.coordinates for jar in wanted])
        return resolve(wanted, into, conf)

    monkeypatch.setattr(jars, "_resolve", counted)
    return seen


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_the_lock_fits_the_pinned_packages() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    pinned = dict(wanted.split("==") for wanted in project["dependencies"] if "==" in wanted)
    spark = ".".join(pinned["pyspark"].split(".")[:2])
    assert [jar.coordinates for jar in jars.locked_jars()] == [
        f"io.delta:delta-spark_{spark}_2.13:{pinned['delta-spark']}",
        f"io.delta:delta-storage:{pinned['delta-spark']}",
    ]


def test_the_driver_of_a_database_is_locked_too_and_is_none_of_deltas() -> None:
    (driver,) = jars.locked_jars("org.postgresql")
    assert driver.file_name.startswith("org.postgresql_postgresql-42.")
    assert jars.postgresql_jar().name == driver.file_name
    assert driver not in jars.locked_jars()


def test_fetches_the_two_jars_once_and_keeps_nothing_else(
    cache: Path, conf: dict[str, str], fetches: list[list[str]], originals: tuple[Path, ...]
) -> None:
    first = jars.delta_jars(conf)
    second = jars.delta_jars()  # without any mirror: nothing is resolved any more
    assert first == second == tuple(cache / original.name for original in originals)
    assert _names(cache) == {original.name for original in originals}
    assert len(fetches) == 1


def test_a_damaged_jar_is_noticed_and_only_that_one_fetched_again(
    cache: Path, conf: dict[str, str], fetches: list[list[str]], originals: tuple[Path, ...]
) -> None:
    cache.mkdir(parents=True)
    for original in originals:
        shutil.copy(original, cache)
    damaged = cache / originals[1].name
    with damaged.open("r+b") as file:
        file.seek(1000)
        file.write(b"not a jar")
    assert jars.delta_jars(conf)[1] == damaged
    assert damaged.read_bytes() == originals[1].read_bytes()
    assert fetches == [[jars.locked_jars()[1].coordinates]]


def test_two_processes_may_fetch_at_once(cache: Path, conf: dict[str, str]) -> None:
    script = f"from lakebed.jars import delta_jars; print(*delta_jars({conf!r}))"
    both = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    told = [process.communicate(timeout=600)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert told[0] == told[1]
    assert all(jar.is_whole(cache) for jar in jars.locked_jars())
    assert len(_names(cache)) == 2


def test_another_jar_under_the_same_coordinates_is_refused(
    cache: Path, conf: dict[str, str], mirror: Path
) -> None:
    served = next(mirror.rglob("delta-storage*.jar"))
    served.write_bytes(served.read_bytes() + b"more")
    with pytest.raises(SetupError, match=r"delta-storage.*SHA-256 differs") as raised:
        jars.delta_jars(conf)
    assert raised.value.code == "jar_differs"
    assert not (cache / "io.delta_delta-storage-4.4.0.jar").exists()


def test_what_cannot_be_fetched_is_named_with_the_settings_for_a_mirror(
    cache: Path, conf: dict[str, str], mirror: Path
) -> None:
    shutil.rmtree(mirror)
    with pytest.raises(
        SetupError, match=r"io\.delta:delta-spark_4\.2_2\.13:4\.4\.0 could not be fetched"
    ) as raised:
        jars.delta_jars(conf)
    assert raised.value.code == "jar_not_fetched"
    for setting in ("spark.jars.repositories", "spark.jars.ivySettings", "DEFAULT_ARTIFACT_REPOSITORY"):
        assert setting in str(raised.value.hint)
    assert _names(cache) == set()


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("LAKEBED_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(SetupError, match="cannot be written") as raised:
        jars.delta_jars()
    assert raised.value.code == "cache_not_writable"
    assert "LAKEBED_CACHE" in str(raised.value.hint)


def test_the_resolvers_reason_is_told_without_a_mirrors_password() -> None:
    told = """
    module not found: io.delta#delta-storage;4.4.0
    Server access error at url https://me:secret@mirror.example/delta.pom (java.net.ConnectException: Connection refused)
    """
    assert jars._reason(told) == [
        "Server access error at url https://mirror.example/delta.pom (java.net.ConnectException: Connection refused)"
    ]
    assert jars._reason("all is well") == []
