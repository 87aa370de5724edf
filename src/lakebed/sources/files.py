"""Landing files: which there are, and which of them are the next batch. Starts no JVM.

Only local folders so far. Another file system needs `find_files` and `unchanged` of its own; nothing else here
looks at a disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lakebed.errors import BatchError, ManifestError
from lakebed.manifest import Dataset, FromFile, FromPath, Snapshot

FILES_PER_BATCH = 100
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file under the landing folder. All three fields together say which file it is."""

    path: str
    size: int
    modified_ns: int


def local_folder(place: str, *, setting: str) -> Path:
    """The folder that a setting of the project names."""
    url = urlsplit(place)
    if url.scheme == "file" and url.netloc in ("", "localhost"):
        return Path(unquote(url.path))
    if "://" in place or url.scheme == "file":
        raise ManifestError(
            f"`{setting}` is {url.scheme}://…: only folders of this machine can be used so far",
            where="lakebed.yaml",
            hint=f"give a folder in `{setting}`",
        )
    return Path(place)


def find_files(root: Path, dataset: Dataset) -> list[FoundFile]:
    """All files that fit the dataset's pattern, sorted by path. Names that start with . or _ or end in .tmp or .part
    are somebody's unfinished work; a link that leads out of the landing folder is not followed, nor is any to a folder."""
    if not root.is_dir():
        raise ManifestError(
            "the landing folder does not exist",
            code="landing_missing",
            where=str(root),
            hint="make the folder, or name the right one in `landing`",
        )
    pattern = dataset.source.pattern
    start = f"{pattern.folder}/" if pattern.folder else ""
    found = _walk(root.resolve(), start)
    return sorted((one for one in found if pattern.match(one.path)), key=lambda one: one.path)


def _walk(root: Path, folder: str) -> Iterator[FoundFile]:
    """Every finished file below `folder`, a path under `root` that is empty or ends with a slash."""
    place = root / folder
    if not place.is_dir() or not place.resolve().is_relative_to(root):
        return
    with os.scandir(place) as entries:
        for entry in entries:
            if _unfinished(entry.name):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(root, f"{folder}{entry.name}/")
            elif (file := _file(root, folder, entry)) is not None:
                yield file


def _unfinished(name: str) -> bool:
    return name.startswith((".", "_")) or name.lower().endswith((".tmp", ".part"))


def _file(root: Path, folder: str, entry: os.DirEntry[str]) -> FoundFile | None:
    try:
        if not entry.is_file() or (
            entry.is_symlink() and not Path(entry.path).resolve().is_relative_to(root)
        ):
            return None
        status = entry.stat()
    except FileNotFoundError:  # gone since the folder was read
        return None
    return FoundFile(f"{folder}{entry.name}", status.st_size, status.st_mtime_ns)


def next_files(
    dataset: Dataset, new: Sequence[FoundFile], *, limit: int = FILES_PER_BATCH
) -> list[FoundFile]:
    """The files of the next batch, out of those that are new; none if nothing is.

    A snapshot is one file. Others take all there are, up to the limit, as long as they have one event time: that of a
    batch is one. Where a missing column has a meaning of its own (G9), files may differ in it: one at a time again.
    """
    ordered = sorted(new, key=lambda one: (event_time(dataset, one) or EPOCH, one.path))
    if isinstance(dataset.feed, Snapshot) or dataset.feed.on_missing_column != "null":
        return ordered[:1]
    return [one for one in ordered[:limit] if event_time(dataset, one) == event_time(dataset, ordered[0])]


def event_time(dataset: Dataset, file: FoundFile) -> datetime | None:
    """What the file itself tells of its rows' time (G3); None where a column or the system time does."""
    source = dataset.source
    if isinstance(source.event_time, FromPath):
        value = (source.pattern.match(file.path) or {}).get(source.event_time.part)
        return value if isinstance(value, datetime) else None
    if isinstance(source.event_time, FromFile):
        return EPOCH + timedelta(microseconds=file.modified_ns // 1000)
    return None


def unchanged(root: Path, files: Sequence[FoundFile], *, dataset: str) -> None:
    """Refuse to read files that are no longer those that were planned (G10)."""
    for planned in files:
        try:
            status = (root / planned.path).stat()
            why = (
                "has changed"
                if (status.st_size, status.st_mtime_ns) != (planned.size, planned.modified_ns)
                else None
            )
        except FileNotFoundError:
            why = "is gone"
        if why:
            raise BatchError(
                f"the file {planned.path} {why} since its batch was planned",
                code="input_changed",
                where=dataset,
                hint="put the planned file back; or, if the new one shall be taken instead, plan the batch again",
            )
