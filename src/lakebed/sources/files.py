"""Landing files as a source: which there are, which are new, which are the next batch, and whether they are still as planned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from lakebed.errors import BatchError, TransientError
from lakebed.manifest import Dataset, Dms, LandingFiles
from lakebed.sources.batches import batch_time, in_order, may_set_aside, next_files, snapshot_of
from lakebed.sources.folders import Folder, FoundFile
from lakebed.sources.late_parts import late_parts, refusal
from lakebed.sources.source import Look, Rows
from lakebed.sources.spark_errors import first_sentence, is_about_reading, is_spark_error, unreadable_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructField

SETTLED_SECONDS = 1.0


class FileSource:
    """The files of one dataset under a folder. Some names (`unfinished`) tell that a file is somebody's unfinished work."""

    immutable = True

    def __init__(self, dataset: Dataset, folder: Folder) -> None:
        assert isinstance(dataset.source, LandingFiles)
        self.dataset, self.folder, self.options = dataset, folder, dataset.source
        self._near_misses: list[str] = []
        self._there: list[FoundFile] = []  # what the last look saw
        self._waiting: list[FoundFile] = []  # and what it left for later
        self._read: tuple[SparkSession, tuple[FoundFile, ...]] | None = None
        self._unreadable: dict[str, str] = {}  # paths, and why

    @property
    def needs_spark(self) -> bool:
        return self.folder.needs_spark

    def input(self, path: str, size: int, modified_ns: int) -> FoundFile:
        return FoundFile(path, size, modified_ns)

    def find(self) -> list[FoundFile]:
        """All files that fit the dataset's pattern, sorted by path."""
        pattern, marker = self.options.pattern, self.options.wait_for
        start = f"{pattern.folder}/" if pattern.folder else ""
        found, waiting = list[FoundFile](), list[FoundFile]()
        near_misses, marked = list[str](), dict[str, bool]()
        for file in self.folder.walk(start):
            if marker is not None and file.path.rpartition("/")[2] == marker:
                continue
            fits = pattern.match(file.path) is not None
            why = self._unusable(file.path, fits=fits) or (None if fits else pattern.near_miss(file.path))
            if why:
                near_misses.append(f"{_shown(file.path)}: {why}")
            if why and fits:
                waiting.append(file)  # for another name: of a snapshot, no part may be left out
            if why or not fits:
                continue
            place = file.path.rpartition("/")[0]
            if marker is not None and place not in marked:
                marked[place] = self.folder.has(f"{place}/{marker}" if place else marker)
            (found if marked.get(place, True) else waiting).append(file)
        # A snapshot over several folders is complete when each of them is.
        growing = {snapshot_of(self.dataset, one.path) for one in waiting} - {None}
        if growing:
            found = [one for one in found if snapshot_of(self.dataset, one.path) not in growing]
        self._near_misses, self._there, self._waiting = sorted(near_misses), sorted(found), waiting
        return self._there

    def _unusable(self, path: str, *, fits: bool) -> str | None:
        if not _is_text(path):
            return "the name is not UTF-8"
        if fits and ":" in path and not self.needs_spark:
            return "Spark reads no local file with a colon in its path; rename it"
        return None

    def new(self, look: Look) -> list[FoundFile]:
        found = look.bookmarks.not_taken(self.find())
        if self.options.on_changed_file == "ignore":  # or they would be new for ever
            found = self._without_pieces(self._without_changed(found, look), look)
        return found

    def ready(self, new: Sequence[FoundFile], look: Look) -> list[FoundFile]:
        """Those that nobody is writing, and that were not taken before in another form (as `on_changed_file` says)."""
        ready, before = list(new), self._there
        if any(look.now().timestamp() - one.modified_ns / 1e9 < SETTLED_SECONDS for one in ready):
            look.pause(SETTLED_SECONDS)  # look twice, and leave what has changed in between for later
            moving = set(self.find()) ^ set(before)
            growing = {snapshot_of(self.dataset, one.path) for one in moving} - {None}
            ready = [
                one
                for one in ready
                if one not in moving and snapshot_of(self.dataset, one.path) not in growing
            ]
        ready = self._without_pieces(self._without_changed(ready, look), look)
        self._note_full_load(ready, look)
        return in_order(self.dataset, ready)

    def _without_pieces(self, ready: list[FoundFile], look: Look) -> list[FoundFile]:
        """F3: of a snapshot that was taken or skipped, all files together are taken again, and some alone never are."""
        late = late_parts(self.dataset, ready, look.bookmarks.known_paths)
        if not late:
            return ready
        if self.options.on_changed_file != "ignore":
            raise refusal(self.dataset, late)
        left_out = {file for one in late for file in one.files}
        look.notes.append(f"{late[0].said}: left out, with {len(left_out) - 1} more")
        return [one for one in ready if one not in left_out]

    def _without_changed(self, ready: list[FoundFile], look: Look) -> list[FoundFile]:
        taken = look.bookmarks.taken_paths([one.path for one in ready])
        changed, rule = [one for one in ready if one.path in taken], self.options.on_changed_file
        if not changed:
            return ready
        if rule == "reload":
            if getattr(self.dataset.declared_feed, "order_by", ()):
                look.notes.append(
                    f"{changed[0].path} is taken again, and its order has not changed: of two different rows of one key and order "
                    "the greater one by content stays (G6), not the newer one; they are counted as conflicts"
                )
            return ready
        if rule == "ignore":
            look.notes.extend(
                f"{one.path} has changed since batch {taken[one.path]} took it: left out" for one in changed
            )
            return [one for one in ready if one.path not in taken]
        first = changed[0].path
        raise BatchError(
            f"{len(changed)} files have changed since they were taken: {first} is in batch {taken[first]}",
            code="changed_file",
            where=self.dataset.name,
            hint="put the old files back; or set source.on_changed_file to reload (take them again) or ignore",
            sample=[one.path for one in changed[:3]],
        )

    def _note_full_load(self, ready: list[FoundFile], look: Look) -> None:
        """The source was loaded anew as a whole: only a person can know whether that is meant."""
        if not ready or not isinstance(self.options.envelope, Dms):
            return
        from lakebed.sources.envelopes.dms_files import is_load  # noqa: PLC0415 - it imports Spark

        loads = [one.path for one in ready if is_load(one.path)]
        if loads and not all(is_load(path) for path in look.bookmarks.known_paths()):
            look.notes.append(
                f"{loads[0]} is of a first load, and changes were taken before it: its rows come before all of them. If the source "
                f"was loaded anew as a whole, load {self.dataset.name} from the start, too (docs/control-store.md)"
            )

    def next_batch(self, ready: Sequence[FoundFile]) -> list[FoundFile]:
        return next_files(self.dataset, ready)

    def event_time(self, batch: Sequence[FoundFile]) -> datetime | None:
        return batch_time(self.dataset, batch)

    def check(self, batch: Sequence[FoundFile]) -> None:
        now = self.folder.now([one.path for one in batch])
        for planned in batch:
            if now.get(planned.path) == planned:
                continue
            raise self._changed(planned.path, "has changed" if planned.path in now else "is gone")
        snapshot = snapshot_of(self.dataset, batch[0].path)
        if snapshot is None:
            return
        for one in (*self.find(), *self._waiting):
            if one.path not in now and snapshot_of(self.dataset, one.path) == snapshot:
                raise self._changed(one.path, "has come to its snapshot")

    def _changed(self, path: str, how: str) -> BatchError:
        return BatchError(
            f"the file {path} {how} since its batch was planned",
            code="input_changed",
            where=self.dataset.name,
            hint=f"put back what was planned; or let the batch be planned anew: `lakebed retry {self.dataset.name}`",
        )

    def read(
        self, spark: SparkSession, batch: Sequence[FoundFile], known: Sequence[StructField] = ()
    ) -> Rows:
        from lakebed.sources.formats import read_files  # noqa: PLC0415 - without anything new, Spark is not imported

        self._read = (spark, tuple(batch))
        return read_files(spark, self.dataset, self.folder, batch, self._unreadable, known)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """A file that turned out to be broken while it was read: where bad rows are set aside, the batch is tried again
        without it; else it is named."""
        try:
            yield
        except Exception as error:
            if self._read is None or not is_about_reading(error):
                raise
            broken = self._broken(*self._read)
            if not broken:
                raise
            first, why = next(iter(broken.items()))
            where = f"{self.dataset.name}, {first}"
            if not may_set_aside(self.dataset) or set(broken) <= set(self._unreadable):
                raise unreadable_file(why, where) from error
            self._unreadable |= broken
            raise TransientError(
                f"the file cannot be read: {why}", code="unreadable_file", where=where
            ) from error

    def _broken(self, spark: SparkSession, batch: Sequence[FoundFile]) -> dict[str, str]:
        """Which files of a batch cannot be read to their end, each looked at alone."""
        from lakebed.sources.formats import read_files  # noqa: PLC0415

        found: dict[str, str] = {}
        for file in batch:
            try:
                frame = read_files(spark, self.dataset, self.folder, [file]).frame
                frame.write.format("noop").mode("overwrite").save()
            except BatchError:  # noticed at its beginning, before anything was read
                continue
            except Exception as error:
                if not is_spark_error(error):
                    raise
                found[file.path] = first_sentence(error)
        return found

    def remarks(self) -> list[str]:
        return [f"not taken: {text}" for text in self._near_misses]


def _shown(path: str) -> str:
    return path if _is_text(path) else ascii(path)


def _is_text(name: str) -> bool:
    """Python keeps the bytes of a name that it cannot decode, in a form that neither Spark nor a database takes."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
