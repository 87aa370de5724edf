"""The class archive: what the JVM learned while it loaded Spark's and Delta's classes, kept for later starts.

With its application class-data archive a JVM comes to the first result in about half the time. An archive fits
one Java and one class path, so its name carries a hash of both. The name carries its size too, because Java
crashes on one that was cut off; the content Java checks itself (VerifySharedSpaces). Where no archive fits, a
start is slower, and that is all. `lakebed.prepare` makes them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from lakebed.cache import cache_folder
from lakebed.java import Java

_KEPT = 4  # one for each environment in use; an archive has about 200 MB


def archive_options(java: Java, jars: Sequence[Path]) -> list[str]:
    """Java's options to use the archive; none if there is no archive for this Java and these jars."""
    for archive in cache_folder("classes").glob(f"{_key(java, jars)}-*.jsa"):
        with suppress(OSError):  # another process may tidy up right now
            if archive.stem.rpartition("-")[2] == str(archive.stat().st_size):
                return options_to_use(archive)
    return []


def options_to_use(archive: Path) -> list[str]:
    """Java's options to use this very file, if it is sound."""
    return [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto", "-XX:+VerifySharedSpaces"]


def keep_archive(made: Path, java: Java, jars: Sequence[Path]) -> None:
    """Moves a new archive, from a folder on the same disk, to where the next start looks for it."""
    folder = cache_folder("classes")
    made.replace(folder / f"{_key(java, jars)}-{made.stat().st_size}.jsa")
    with suppress(OSError):
        for old in sorted(folder.glob("*.jsa"), key=lambda file: file.stat().st_mtime)[:-_KEPT]:
            old.unlink(missing_ok=True)


def _key(java: Java, jars: Sequence[Path]) -> str:
    """Changes with whatever makes Java refuse the archive: another Java, another jar, a newer time of a jar."""
    from pyspark.find_spark_home import _find_spark_home  # noqa: PLC0415

    known = hashlib.sha256(f"{java.executable} {java.version}".encode())
    for jar in [*jars, *sorted(Path(_find_spark_home(), "jars").glob("*.jar"))]:
        facts = jar.stat()
        known.update(f"{jar} {facts.st_size} {facts.st_mtime_ns}\n".encode())
    return known.hexdigest()[:16]
