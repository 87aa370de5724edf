"""Delta's two jars and PostgreSQL's driver: fetched once with Spark's own resolver, kept in the cache, checked at every use.

Which jars, and what they must hash to, stands in `jars.lock`. No address does: the resolver asks where the
user's Spark asks for packages (spark-defaults.conf, `spark.jars.ivySettings`, `spark.jars.repositories`, the
environment's DEFAULT_ARTIFACT_REPOSITORY).
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from lakebed.cache import cache_folder, not_writable
from lakebed.errors import SetupError
from lakebed.java import require_java

# What Delta's pom asks for besides is part of pyspark already, or serves other engines.
_NOT_NEEDED = {
    "io.delta": "org.*:*,com.*:*,commons-*:*,javax.*:*,io.airlift:*,io.unitycatalog:*,io.delta:delta-kernel-*",
    "org.postgresql": "org.checkerframework:*",
}
_RESOLVER_SETTINGS = ("spark.jars.ivySettings", "spark.jars.repositories")
_CAUSES = (
    "Server access error",
    "no answer",
    "Host ",
    "rror:",
    "xception",
    "not found",
)  # the most telling first
_PATIENCE = 900  # seconds; a network that swallows packets keeps the resolver waiting for long
_MIRRORS = (
    "check the network, or name your mirror in Spark's own way: spark.jars.repositories or spark.jars.ivySettings "
    "(in the session's conf or in $SPARK_CONF_DIR/spark-defaults.conf), or the variable DEFAULT_ARTIFACT_REPOSITORY"
)


@dataclass(frozen=True, slots=True)
class Jar:
    """One line of jars.lock."""

    sha256: str
    coordinates: str

    @property
    def file_name(self) -> str:
        """The name that Spark's resolver gives it."""
        group, artifact, version = self.coordinates.split(":")
        return f"{group}_{artifact}-{version}.jar"

    @property
    def group(self) -> str:
        return self.coordinates.partition(":")[0]

    def is_whole(self, folder: Path) -> bool:
        """Whether this jar is in the folder, byte for byte as locked."""
        try:
            with (folder / self.file_name).open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest() == self.sha256
        except OSError:
            return False


def locked_jars(group: str = "io.delta") -> tuple[Jar, ...]:
    """The lines of jars.lock, of one group."""
    text = resources.files("lakebed").joinpath("jars.lock").read_text(encoding="utf-8")
    rows = (line.split() for line in text.splitlines() if line.strip() and not line.startswith("#"))
    every = (Jar(sha256, coordinates) for sha256, coordinates in rows)
    return tuple(jar for jar in every if jar.group == group)


def delta_jars(conf: Mapping[str, str] | None = None) -> tuple[Path, ...]:
    """Paths of Delta's jars. Fetches those that are missing or damaged; else only the cache is read.

    `conf` may hold the resolver's settings, under Spark's names for them.
    """
    return _in_cache(locked_jars(), conf)


def postgresql_jar(conf: Mapping[str, str] | None = None) -> Path:
    """Path of PostgreSQL's driver, in the same way. Only for those who read from such a database."""
    return _in_cache(locked_jars("org.postgresql"), conf)[0]


def _in_cache(jars: Sequence[Jar], conf: Mapping[str, str] | None) -> tuple[Path, ...]:
    folder = cache_folder("jars")
    if missing := [jar for jar in jars if not jar.is_whole(folder)]:
        _fetch(missing, folder, conf or {})
    return tuple(folder / jar.file_name for jar in jars)


def _fetch(jars: Sequence[Jar], folder: Path, conf: Mapping[str, str]) -> None:
    """Into a folder of its own, then moved into place: nobody ever sees half a jar, nor minds a second fetch."""
    try:
        with tempfile.TemporaryDirectory(prefix="fetch-", dir=folder) as own:
            told = _resolve(jars, Path(own), conf)
            for jar in jars:
                if not jar.is_whole(Path(own, "jars")):
                    raise _not_fetched(jar, Path(own, "jars"), told)
                Path(own, "jars", jar.file_name).replace(folder / jar.file_name)
    except OSError as error:
        raise not_writable(folder, error) from error


def _resolve(jars: Sequence[Jar], into: Path, conf: Mapping[str, str]) -> str:
    """Runs spark-submit only for its resolving of packages; what it then starts prints a version and ends."""
    from pyspark.find_spark_home import _find_spark_home  # noqa: PLC0415  only needed when something is missing

    require_java()
    home = _find_spark_home()
    settings = {"spark.jars.ivy": str(into)} | {
        name: conf[name] for name in _RESOLVER_SETTINGS if name in conf
    }
    command = [str(Path(home, "bin", "spark-submit")), "--master", "local[1]", "--deploy-mode", "client"]
    command += [
        "--packages",
        ",".join(jar.coordinates for jar in jars),
        "--exclude-packages",
        _NOT_NEEDED[jars[0].group],
    ]
    for name, value in settings.items():
        command += ["--conf", f"{name}={value}"]
    command += ["--class", "org.apache.spark.deploy.SparkSubmit", "spark-internal", "--version"]
    try:
        ran = subprocess.run(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
            env=os.environ | {"SPARK_HOME": home},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {_PATIENCE} seconds"
    return ran.stdout


def _not_fetched(jar: Jar, folder: Path, told: str) -> SetupError:
    if (folder / jar.file_name).exists():
        return SetupError(
            f"{jar.coordinates} was fetched, but is not the jar that lakebed was tested with: its SHA-256 differs.",
            code="jar_differs",
            hint="look at what your mirror serves under these coordinates",
        )
    what = f"The jar {jar.coordinates} could not be fetched."
    return SetupError(what, code="jar_not_fetched", hint=_MIRRORS, sample=_reason(told))


def _reason(told: str) -> list[str]:
    """The resolver's most telling line, without a password that a mirror's address may hold."""
    lines = [line.strip() for line in told.splitlines()]
    found = [line for cause in _CAUSES for line in lines if cause in line]
    return [re.sub(r"//[^/@\s]*@", "//", found[0])] if found else []
