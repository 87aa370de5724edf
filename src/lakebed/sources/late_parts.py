"""F3: a snapshot is a complete state. Of one that was taken or skipped before, some files alone are none. Pure: looks at no
disk."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from lakebed.errors import BatchError
from lakebed.manifest import Dataset, LandingFiles
from lakebed.sources.batches import snapshot_of
from lakebed.sources.folders import FoundFile

_ELSEWHERE = {"folder": "in another folder", "time": "with another time in the names"}


@dataclass(frozen=True)
class LateParts:
    """New files of a snapshot whose other files are not new. `missing` are those, in order; `batch` is the last one that took
    some of them, None where all of them were skipped."""

    files: tuple[FoundFile, ...]
    missing: tuple[str, ...]
    batch: int | None

    @property
    def said(self) -> str:
        if self.batch is None:
            return f"{self.files[0].path} has come after the other files of its snapshot were skipped"
        return f"{self.files[0].path} has come after batch {self.batch} took the other files of its snapshot"


def late_parts(
    dataset: Dataset, ready: Sequence[FoundFile], known_paths: Callable[[], Mapping[str, int | None]]
) -> list[LateParts]:
    """The snapshots that are not whole, as the files of `ready` come. `known_paths` are those that were taken, with their batch, or
    skipped, whether they are still there or not: they are many, and asked for only where a snapshot has several files."""
    come = defaultdict[str | datetime, list[FoundFile]](list)
    for file in ready:
        if (unit := snapshot_of(dataset, file.path)) is not None:
            come[unit].append(file)
    if not come:
        return []
    known = defaultdict[str | datetime, dict[str, int | None]](dict)
    for path, batch in known_paths().items():
        if (unit := snapshot_of(dataset, path)) is not None and unit in come:
            known[unit][path] = batch
    late = list[LateParts]()
    for unit, files in come.items():
        missing = known[unit].keys() - {one.path for one in files}
        if missing:
            batch = max((one for one in known[unit].values() if one is not None), default=None)
            late.append(LateParts(tuple(files), tuple(sorted(missing)), batch))
    return late


def refusal(dataset: Dataset, late: Sequence[LateParts]) -> BatchError:
    """Why none of the dataset's files is taken."""
    first, source = late[0], dataset.source
    assert isinstance(source, LandingFiles)
    return BatchError(
        f"{first.said}: alone it would read as a complete state, and all other keys as deleted",
        code="late_part",
        where=dataset.name,
        hint=f"{_way_out(first, source)}; with source.wait_for a snapshot is taken when it is complete; "
        "on_changed_file: ignore leaves late parts out",
        sample=[file.path for one in late for file in one.files][:3],
    )


def _way_out(late: LateParts, source: LandingFiles) -> str:
    again = f"deliver the whole snapshot again {_ELSEWHERE[source.snapshot_unit]}, and move this file away"
    if late.batch is not None and source.on_changed_file != "reload":
        return again
    more = f" and {len(late.missing) - 1} more" if len(late.missing) > 1 else ""
    return f"deliver {late.missing[0]}{more} anew too (a new modification time is enough), and all are taken together; or {again}"
