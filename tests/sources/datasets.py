"""Small datasets for tests of sources and of the runner."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from lakebed.manifest import Dataset
from lakebed.sources import FoundFile


def dataset(files: str = "in/{file}.csv", *, feed: dict[str, Any] | None = None, **source: Any) -> Dataset:
    return Dataset.model_validate(
        {
            "dataset": "demo.things",
            "source": {"files": files, "format": "csv", **source},
            "feed": feed or {"kind": "append"},
            "history": {"kind": "log"},
        }
    )


SNAPSHOT = {"kind": "snapshot", "key": ["id"]}


def put(root: Path, path: str, text: str | bytes = "id\n1\n", *, modified: float | None = None) -> FoundFile:
    """Write a file under `root`, at a given modification time if need be."""
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(text if isinstance(text, bytes) else text.encode())
    if modified is not None:
        os.utime(target, (modified, modified))
    status = target.stat()
    return FoundFile(path, status.st_size, status.st_mtime_ns)
