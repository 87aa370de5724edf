"""Landing files: which there are, and whether they are still as they were. Starts no JVM.

Only local folders so far. Another file system needs functions of its own in place of these.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lakebed.errors import BatchError, ManifestError
from lakebed.manifest import Dataset


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
    pattern, marker = dataset.source.pattern, dataset.source.wait_for
    found = (one for one in _walk(root.resolve(), start_of(dataset)) if pattern.match(one.path))
    if marker is not None:
        found = (one for one in found if (root / one.path).with_name(marker).is_file())
    return sorted(found, key=lambda one: one.path)


def near_misses(root: Path, dataset: Dataset) -> list[str]:
    """Files that look like the dataset's and are not, each with the reason: a day that does not exist, say."""
    pattern = dataset.source.pattern
    paths = sorted(one.path for one in _walk(root.resolve(), start_of(dataset)))
    return [f"{path}: {why}" for path in paths if (why := pattern.near_miss(path))]


def start_of(dataset: Dataset) -> str:
    """The folder where a listing starts: "" or ending with a slash."""
    folder = dataset.source.pattern.folder
    return f"{folder}/" if folder else ""


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
