"""The newest commits of a table: from its log files where they are on this machine, else by asking Spark.

A commit of Delta is one JSON file, never changed, so reading a few of them tells what a `DESCRIBE HISTORY` tells, in
milliseconds and without a job.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

_NAME = 20 + len(".json")


def local_log(location: str) -> Path | None:
    """The folder of the table's log, or None where the table is not on this machine."""
    parts = urlsplit(location)
    if parts.scheme not in ("", "file"):
        return None
    path = unquote(parts.path) if parts.scheme else location
    log = Path(path) / "_delta_log"
    return log if log.is_dir() else None


def newest_commits(log: Path) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """(version, what lakebed told with it or None), the newest first."""
    names = (name for name in (path.name for path in log.iterdir()) if len(name) == _NAME)
    for name in sorted(
        (name for name in names if name.endswith(".json") and name[:20].isdigit()), reverse=True
    ):
        yield int(name[:20]), told_by(_user_metadata(log / name))


def _user_metadata(commit: Path) -> str | None:
    with commit.open(encoding="utf-8") as lines:
        for line in lines:
            if '"commitInfo"' in line:
                info = json.loads(line).get("commitInfo")
                if info is not None:
                    metadata: str | None = info.get("userMetadata")
                    return metadata
    return None


def told_by(metadata: str | None) -> dict[str, Any] | None:
    """What lakebed wrote into a commit; None if the commit is not lakebed's."""
    if not metadata:
        return None
    try:
        found = json.loads(metadata)
    except ValueError:
        return None
    facts = found.get("lakebed") if isinstance(found, dict) else None
    return facts if isinstance(facts, dict) and "batch" in facts else None
