"""Finds the Java that Spark will start, and says plainly if there is none that fits."""

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
    """A Java runtime; `version` is its whole version text, such as 17.0.15."""

    executable: Path
    version: str

    @property
    def major(self) -> int:
        numbers = [int(number) for number in re.findall(r"\d+", self.version)]
        return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]  # 1.8.0_392 is Java 8


def require_java() -> Java:
    """The Java that Spark's own launcher takes, JAVA_HOME's or else the first in PATH, if it is 17 or later."""
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
    """A file that every Java runtime has beside bin/; reading it saves starting a JVM."""
    try:
        text = (executable.parent.parent / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    match = re.search(r'^JAVA_VERSION="?(\d[^"\s]*)', text, re.MULTILINE)
    return match[1] if match else None


def _version_told_by(executable: Path) -> str | None:
    try:
        told = subprocess.run(  # noqa: S603
            [str(executable), "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "(\d[^"]*)"', told.stderr + told.stdout)
    return match[1] if match else None
