"""A folder with landing files: on this machine, looked at without a JVM. Others are in `remote_folder.py`."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from lakebed.errors import ManifestError
from lakebed.sources.spark_errors import out_of_reach

_OF_THE_DISK = "lost+found"  # where a file system keeps its own; nobody may look into it


@dataclass(frozen=True, slots=True, order=True)
class FoundFile:
    """A file under the landing folder. All three fields together say which file it is."""

    path: str
    size: int
    modified_ns: int


class Folder(Protocol):
    """Where files land. All paths are relative to it, with `/`."""

    @property
    def needs_spark(self) -> bool: ...

    def walk(self, start: str) -> Iterator[FoundFile]:
        """Every finished file below `start`, a folder that is empty or ends with a slash."""
        ...

    def now(self, paths: Sequence[str]) -> dict[str, FoundFile]:
        """These files as they are now; those that are gone are left out."""
        ...

    def has(self, path: str) -> bool:
        """Whether there is a file of this name, finished or not."""
        ...

    def address(self, path: str) -> str:
        """What Spark calls the file."""
        ...

    def local(self, path: str) -> Path | None:
        """The file, where it is on this machine."""
        ...


def is_local(place: str) -> bool:
    """Whether a setting names a folder of this machine."""
    url = urlsplit(place)
    if url.scheme == "file":
        return url.netloc in ("", "localhost")
    return "://" not in place


def local_folder(place: str, *, setting: str) -> Path:
    """The folder that a setting of the project names."""
    if not is_local(place):
        raise ManifestError(
            f"`{setting}` is {urlsplit(place).scheme}://…: this can be done only with folders of this machine",
            where="lakebed.yaml",
            hint=f"give a folder in `{setting}`",
        )
    url = urlsplit(place)
    return Path(unquote(url.path)) if url.scheme == "file" else Path(place)


_LEADS_NOWHERE = (errno.ELOOP, errno.ENOTDIR)  # a link to itself, or through a file
_BEGUN = (
    *(".tmp", ".temp", ".part", ".partial", ".filepart", ".crdownload", ".download", ".inprogress"),
    *("._copying_", ".swp", "~", "#"),
)


def unfinished(name: str) -> bool:
    """Whether a name says that somebody still works on the file: hidden ones, and what programs call what they have begun to write."""
    return name.startswith((".", "_", "~$")) or name.lower().endswith(_BEGUN)


class LocalFolder:
    """A folder of this machine. A link that leads out of it is not followed, nor is any to a folder."""

    needs_spark = False

    def __init__(self, root: Path) -> None:
        self.root = root

    def walk(self, start: str) -> Iterator[FoundFile]:
        if not self.root.is_dir():
            raise ManifestError(
                "the landing folder does not exist",
                code="landing_missing",
                where=str(self.root),
                hint="make the folder, or name the right one in `landing`",
            )
        return _walk(self.root.resolve(), start)

    def now(self, paths: Sequence[str]) -> dict[str, FoundFile]:
        found: dict[str, FoundFile] = {}
        for path in paths:
            try:
                status = (self.root / path).stat()
            except (FileNotFoundError, NotADirectoryError):
                continue
            found[path] = FoundFile(path, status.st_size, status.st_mtime_ns)
        return found

    def has(self, path: str) -> bool:
        return (self.root / path).is_file()

    def address(self, path: str) -> str:
        return str(self.root / path)

    def local(self, path: str) -> Path | None:
        return self.root / path


def _walk(root: Path, folder: str) -> Iterator[FoundFile]:
    place = root / folder
    try:
        if not place.is_dir() or not place.resolve().is_relative_to(root):
            return
        entries = list(os.scandir(place))
    except FileNotFoundError:  # gone since
        return
    except OSError as error:
        raise out_of_reach(error.strerror or str(error), folder, folder or "the landing folder") from error
    for entry in entries:
        if unfinished(entry.name) or entry.name == _OF_THE_DISK:
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(root, f"{folder}{entry.name}/")
        elif (file := _file(root, folder, entry)) is not None:
            yield file


def _file(root: Path, folder: str, entry: os.DirEntry[str]) -> FoundFile | None:
    try:
        if not entry.is_file() or (
            entry.is_symlink() and not Path(entry.path).resolve().is_relative_to(root)
        ):
            return None
        status = entry.stat()
    except FileNotFoundError:  # gone since the folder was read
        return None
    except OSError as error:
        if error.errno in _LEADS_NOWHERE:
            return None
        raise out_of_reach(error.strerror or str(error), f"{folder}{entry.name}") from error
    return FoundFile(f"{folder}{entry.name}", status.st_size, status.st_mtime_ns)
