"""Which of the new files are the next batch. Pure: looks at no disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import takewhile

from lakebed.manifest import Dataset, FromFile, FromPath, LandingFiles, Snapshot
from lakebed.sources.folders import FoundFile

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def in_order(dataset: Dataset, files: Iterable[FoundFile]) -> list[FoundFile]:
    """Files as they are to be read: by the time that they tell, then by path. A folder that is one snapshot has the newest time of its
    files, as its batch will have."""
    times = {one: event_time(dataset, one) or EPOCH for one in files}
    if not isinstance(dataset.feed, Snapshot) or _unit(dataset) != "folder":
        return sorted(times, key=lambda one: (times[one], one.path))
    newest: dict[str, datetime] = {}
    for one, time in times.items():
        newest[_folder(one.path)] = max(time, newest.get(_folder(one.path), EPOCH))
    return sorted(times, key=lambda one: (newest[_folder(one.path)], _folder(one.path), times[one], one.path))


def _unit(dataset: Dataset) -> str:
    assert isinstance(dataset.source, LandingFiles)
    return dataset.source.snapshot_unit


def next_files(dataset: Dataset, ordered: Sequence[FoundFile]) -> list[FoundFile]:
    """The files of the next batch, out of those that wait, in the order of their rows; none if nothing waits. Looks at few of
    them: there may be many, and this is asked for every batch.

    A snapshot is one file, one folder, or all files of one time. Others take all there are, up to the source's limits, as
    long as they have one event time: that of a batch is one. Where a missing column has a meaning of its own (G9), files
    may differ in it, and are taken one at a time.
    """
    if not ordered:
        return []
    first, source = ordered[0], dataset.source
    assert isinstance(source, LandingFiles)
    if isinstance(dataset.feed, Snapshot):
        if source.snapshot_unit == "folder":
            return [one for one in ordered if _folder(one.path) == _folder(first.path)]
        if source.snapshot_unit == "time":
            return list(_of_one_time(dataset, ordered))
        return [first]
    if dataset.feed.on_missing_column != "null":
        return [first]
    return _within(_of_one_time(dataset, ordered), files=source.max_files, size=source.max_bytes)


def snapshot_of(dataset: Dataset, path: str) -> str | datetime | None:
    """What tells the snapshot that a file is a part of, by its path alone; None where each file stands for itself."""
    assert isinstance(dataset.source, LandingFiles)
    if not isinstance(dataset.feed, Snapshot) or dataset.source.snapshot_unit == "file":
        return None
    return _folder(path) if dataset.source.snapshot_unit == "folder" else _time_in(dataset.source, path)


def _of_one_time(dataset: Dataset, ordered: Sequence[FoundFile]) -> Iterator[FoundFile]:
    """The first files, as long as they tell the same time."""
    first = event_time(dataset, ordered[0])
    return takewhile(lambda one: event_time(dataset, one) == first, ordered)


def _within(files_: Iterable[FoundFile], *, files: int, size: int) -> list[FoundFile]:
    """The first of them, at least one, up to both limits."""
    taken: list[FoundFile] = []
    total = 0
    for one in files_:
        total += one.size
        if taken and (len(taken) == files or total > size):
            break
        taken.append(one)
    return taken


def may_set_aside(dataset: Dataset) -> bool:
    """Whether a file that cannot be read may be set aside (G5). Never a part of a snapshot: all its rows would read as deleted."""
    return dataset.feed.on_bad_rows == "quarantine" and not isinstance(dataset.feed, Snapshot)


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _time_in(source: LandingFiles, path: str) -> datetime | None:
    """The event time that a path tells; None where it tells none."""
    if not isinstance(source.event_time, FromPath):
        return None
    value = (source.pattern.match(path) or {}).get(source.event_time.part)
    return value if isinstance(value, datetime) else None


def event_time(dataset: Dataset, file: FoundFile) -> datetime | None:
    """What the file itself tells of its rows' time (G3); None where a column or the system time does."""
    source = dataset.source
    assert isinstance(source, LandingFiles)
    if isinstance(source.event_time, FromFile):
        return EPOCH + timedelta(microseconds=file.modified_ns // 1000)
    return _time_in(source, file.path)


def batch_time(dataset: Dataset, files: Sequence[FoundFile]) -> datetime | None:
    """The event time of a batch of these files: the newest of theirs."""
    times = [time for one in files if (time := event_time(dataset, one)) is not None]
    return max(times, default=None)
