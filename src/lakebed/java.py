"""Finds the Java that Spark will start, and says so plainly if there is none that fits."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from lakebed.errors import SetupError

OLDEST = 17
_WHAT_TO_DO = (
    f"install a Java runtime, version {OLDEST} or 21, and set JAVA_HOME to its folder "
    "(the one that holds bin/java), or put its java first in PATH"
)


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime. `version` is its whole version text, such as 17.0.15, `major` its first number."""

    executable: Path
    version: str

    @property
    def major(self) -> int:
        first, _, rest = self.version.partition(".")
        number = rest.partition(".")[0] if first == "1" else first  # 1.8.0_392 is Java 8
        return int(re.match(r"\d+", number or "0")[0])  # type: ignore[index]


def require_java() -> Java:
    """The Java that Spark's own launcher would take: JAVA_HOME's, else the first in PATH; 17 or later."""
    java = _find()
    if java.major < OLDEST:
        raise SetupError(
            f"Spark needs Java {OLDEST} or later, but {java.executable} is Java {java.version}.",
            code="java_too_old",
            hint=_WHAT_TO_DO,
        )
    return java


def _find() -> Java:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home, "bin"))) if home else shutil.which("java")
    if found is None:
        place = f"JAVA_HOME is {home}, which has no bin/java" if home else "there is no java in PATH"
        raise SetupError(
            f"Spark needs Java {OLDEST} or later; {place}.", code="java_missing", hint=_WHAT_TO_DO
        )
    executable = Path(found).resolve()
    version = _version_in_release_file(executable) or _version_told_by(executable)
    if version is None:
        raise SetupError(f"{executable} does not tell its version.", code="java_broken", hint=_WHAT_TO_DO)
    return Java(executable, version)


def _version_in_release_file(executable: Path) -> str | None:
    """Every JDK since 7 has this file; reading it saves starting a JVM."""
    try:
        text = (executable.parent.parent / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    match = re.search(r'^JAVA_VERSION="?([0-9][^"\s]*)', text, re.MULTILINE)
    return match[1] if match else None


def _version_told_by(executable: Path) -> str | None:
    try:
        told = subprocess.run(  # noqa: S603
            [str(executable), "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "([0-9][^"]*)"', told.stderr + told.stdout)
    return match[1] if match else None
