"""`lb.table(…)`: a table with its feed and history. `apply` is the whole path of a batch; what it calls is one step each."""

from __future__ import annotations

import datetime as dt
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField

from lakebed.errors import BatchError, TableError
from lakebed.history.columns import REASON, internal, same
from lakebed.history.normalise import Moment
from lakebed.history.shape import Shape, shape_of
from lakebed.manifest import check_combination
from lakebed.manifest.dataset import Files
from lakebed.manifest.histories import AnyFeed, AnyHistory
from lakebed.manifest.partitions import Partition, partitions_of
from lakebed.table import commits
from lakebed.table.context import Before, Context
from lakebed.table.evolving import evolve
from lakebed.table.making import make_target
from lakebed.table.moments import moment_of
from lakebed.table.opening import Book, Tables, known_of, open_book, settings_for
from lakebed.table.partitions import partition_names, refuse_made, refuse_missing
from lakebed.table.planning import Planned, as_it_came, planned
from lakebed.table.reading import Reading
from lakebed.table.report import BatchReport, Preview
from lakebed.table.rolling_forward import before_at, rolled_forward
from lakebed.table.validation import refuse_conditions
from lakebed.tables.ahead import reading_ahead
from lakebed.tables.delta import Commit, overtaken
from lakebed.tables.place import Place
from lakebed.tables.settings import for_batches, in_utc, is_utc
from lakebed.tables.staging import Staging


def _nothing() -> None:
    pass


def _clock() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def table(
    spark: SparkSession,
    name_or_path: str,
    *,
    feed: AnyFeed,
    history: AnyHistory,
    partition_by: Sequence[str | Mapping[str, Any] | Partition] = (),
    files: Mapping[str, Any] | Files | None = None,
) -> Table:
    """A table in the session's catalog, or at a path, that keeps this history of this feed. `files` says how many a write makes
    (D15): `{"count": 4, "by": ["country"]}` for each partition, or `{"target_size": "128MiB"}`.

    Nothing is written before the first batch. Opening one that a crash left halfway finishes its batch first.
    """
    check_combination(feed, history)
    refuse_conditions(feed)
    return Table(
        spark,
        Place(name_or_path),
        feed,
        history,
        partitions_of(partition_by),
        None if files is None else Files.model_validate(files),
    )


class Table(Reading):
    """One dataset: the table itself and those beside it. Safe to open anew at any time; all state is in the tables."""

    def __init__(
        self,
        spark: SparkSession,
        place: Place,
        feed: AnyFeed,
        history: AnyHistory,
        partitions: tuple[Partition, ...],
        files: Files | None = None,
    ) -> None:
        self.spark = spark
        self.place = place
        self.feed = feed
        self.history = history
        self.partitions = partitions
        self.shown = self.tables = Tables.of(spark, place, feed, history, files)
        self._book: Book | None = None
        self._location = ""

    @property
    def last_batch(self) -> int:
        """The number of the newest batch; 0 for none. Finishes what a crash left behind."""
        return self._open().last_batch

    def batches_told(self) -> Iterator[Mapping[str, Any]]:
        """What the commits tell of the batches that the tables hold (number, times, inputs, report), as far back as the log goes."""
        return (told.facts for told in self.tables.named(self.tables.truth).commits() if told.facts)

    @property
    def known_columns(self) -> tuple[StructField, ...]:
        """The columns of its rows so far, those included that only its journal keeps."""
        known = self._open().known
        return (*known.data, *known.kept)

    def apply(  # noqa: PLR0913 - what a batch is, and what to do with it
        self,
        df: DataFrame,
        *,
        batch: int,
        system_time: dt.datetime,
        event_time: dt.datetime | None = None,
        inputs: Sequence[Mapping[str, Any]] = (),
        before_commit: Callable[[], None] = _nothing,
        immutable: bool = False,
    ) -> BatchReport:
        """Apply a batch, exactly once (G1): a number that the table holds already changes nothing.

        `event_time` is what the batch's source gave it (a file's name, a message), if anything. `inputs` are kept with
        the commit, to tell where the rows came from. `immutable` promises that `df` gives the same rows whenever it is
        read, as files do that nobody changes: they are then not copied first. `before_commit` is called when all is computed and nothing
        written; what it raises ends the batch there. Raises a `LakebedError`
        before anything is written, or leaves what the next opening finishes.
        """
        moment = moment_of(batch, system_time, event_time)
        return self._apply(
            df, moment, inputs=inputs, streams={}, immutable=immutable, before_commit=before_commit
        )

    def preview(
        self,
        df: DataFrame,
        *,
        batch: int,
        system_time: dt.datetime,
        event_time: dt.datetime | None = None,
        rows: int = 10,
    ) -> Preview:
        """What `apply` would do, with nothing written but staged files that go again: the same checks, guards and counts, and
        some of the rows it would write."""
        moment = moment_of(batch, system_time, event_time)
        book = self._open()
        if moment.batch <= book.last_batch:
            return Preview(BatchReport(batch=moment.batch, already_applied=True))
        self._check_moment(book, moment)
        shape = self._shape(df, book, moment)
        folder = book.location or (
            self.place.text if self.place.is_path else tempfile.mkdtemp(prefix="lakebed-")
        )
        staging = Staging.beside(self.tables.spark, folder)
        try:
            df, immutable = as_it_came(df, staging, immutable=False)
            with for_batches(self.tables.spark, df.sparkSession):
                found = self._planned(df, shape, moment, staging, book, immutable=immutable)
                plan = found.plan
                changed = (
                    plan.appended if plan.appended is not None else plan.target.rows if plan.target else None
                )
                return Preview.of(self._report(found), changed, rows)
        finally:
            staging.clear()

    def _apply(
        self,
        df: DataFrame,
        moment: Moment,
        *,
        inputs: Sequence[Mapping[str, Any]],
        streams: Mapping[str, int],
        immutable: bool = False,
        before_commit: Callable[[], None] = _nothing,
    ) -> BatchReport:
        book = self._open()
        if moment.batch <= book.last_batch:
            return BatchReport(batch=moment.batch, already_applied=True)
        self._check_moment(book, moment)
        shape = self._shape(df, book, moment)
        self._location = self._ensure_target(book, shape, timed=moment.event_time is not None)
        staging = Staging.beside(self.tables.spark, self._location)
        written = (self.tables.target, self.tables.named(self.tables.truth)) if book.last_batch else ()
        try:
            df, immutable = as_it_came(df, staging, immutable=immutable)
            with for_batches(self.tables.spark, df.sparkSession):
                with reading_ahead(self.tables.spark, written):
                    found = self._planned(df, shape, moment, staging, book, immutable=immutable)
                found.plan.facts["streams"] = {**book.facts.get("streams", {}), **streams}
                before_commit()
                return self._commit(book, found, inputs)
        finally:
            staging.clear()

    def _planned(
        self, df: DataFrame, shape: Shape, moment: Moment, staging: Staging, book: Book, *, immutable: bool
    ) -> Planned:
        """Rows in, write plan out: nothing is written but staged files."""
        ctx = Context(shape, moment, staging, self._before(book))
        refolded = bool(book.facts.get("refolded"))
        return planned(ctx, df, self.tables.truth, self.place.text, refolded=refolded, immutable=immutable)

    @staticmethod
    def _report(found: Planned) -> BatchReport:
        counts = found.counts
        totals = {"read": counts["read"], "rejected": counts["rejected"], **found.plan.counts}
        totals["unchanged"] = int(totals.get("unchanged") or 0) + int(counts["ignored"])
        return BatchReport.counted(found.ctx.moment.batch, totals)

    def each_batch(self, df: DataFrame, batch_id: int) -> None:
        """For `foreachBatch` of the one stream that feeds this table."""
        self.stream("stream")(df, batch_id)

    def stream(
        self, name: str, clock: Callable[[], dt.datetime] = _clock
    ) -> Callable[[DataFrame, int], None]:
        """A `foreachBatch` function for the stream of this name: `stream.writeStream.foreachBatch(t.stream("orders"))`.

        The stream's own numbers start again with a new checkpoint, so they are kept beside the batch's number in the
        commit: a pair that is known is not applied again. A new checkpoint needs a new name. Where another writer takes the
        batch's number first, a `ConflictError` ends the query before its checkpoint moves on: started again, it applies the rows.
        """

        def applied(book: Book, batch_id: int) -> bool:
            return batch_id <= int(book.facts.get("streams", {}).get(name, -1))

        def apply_once(df: DataFrame, batch_id: int) -> None:
            book = self._open()
            if applied(book, batch_id):
                return
            last = book.facts.get("system_time")
            now = clock()
            system_time = max(now, dt.datetime.fromisoformat(last)) if last else now
            moment = Moment(book.last_batch + 1, system_time)
            report = self._apply(df, moment, inputs=(), streams={name: batch_id})
            if report.already_applied and not applied(self._open(), batch_id):
                raise overtaken(self.place, f"batch {batch_id} of the stream {name!r} was being applied")

        return apply_once

    # ---- opening

    def _open(self) -> Book:
        """The book as the tables tell it now; a batch whose followers lag is finished first. From here on all work is done in UTC (G3): the
        user's own session is only for what the user is shown, and for the rows that it brings."""
        if not is_utc(self.tables.spark):
            place, files = self.place.within(self.spark.catalog.currentDatabase()), self.tables.target.files
            self.tables = Tables.of(in_utc(self.spark), place, self.feed, self.history, files)
            self.shown = Tables.of(self.spark, place, self.feed, self.history, files)
        if self._book is not None and self._book.last_batch:
            newest = self.tables.newest
            if (newest.batch, newest.attempt) == (self._book.last_batch, self._book.attempt):
                return self._book
        book = open_book(self.tables, self.feed, self.history, self.partitions)
        if book.last_batch:
            with for_batches(self.tables.spark):
                book = rolled_forward(self.tables, book, self.feed, self.history)
        self._book = book
        return book

    def _before(self, book: Book) -> Before:
        if not book.last_batch:
            return Before()
        # The newest version of each table is that of the newest batch: what maintenance did since is the same rows.
        latest = dict.fromkeys(book.versions, -1)
        return before_at(
            self.tables,
            latest,
            book.facts["next"],
            newest_snapshot=book.facts.get("newest_snapshot"),
            batch_times=bool(book.facts.get("batch_times", book.timed)),
        )

    # ---- checks before anything is read

    def _check_moment(self, book: Book, moment: Moment) -> None:
        if moment.batch > book.last_batch + 1:
            raise BatchError(
                f"batch {moment.batch} was given, and the next is {book.last_batch + 1}",
                code="batch_gap",
                where=self.place.text,
                hint="batches are numbered without gaps: apply the missing ones first",
            )
        last = book.facts.get("system_time")
        if last and moment.system_time < dt.datetime.fromisoformat(last):
            raise BatchError(
                f"system time {moment.system_time.isoformat()} lies before that of the batch before, {last}",
                code="system_time_backwards",
                where=self.place.text,
                hint="pass the greater of the clock and the last system time",
            )

    def _shape(self, df: DataFrame, book: Book, moment: Moment) -> Shape:
        timed = book.timed if book.timed is not None else moment.event_time is not None
        try:
            refuse_made(self.partitions, df, self.feed.except_columns)
            shape = shape_of(df.schema, self.feed, self.history, book.known, batch_time_declared=timed)
            schema = commits.target_schema(shape)
            if not book.last_batch:
                refuse_missing(self.partitions, shape, schema)
            self._check_files(schema.fieldNames())
            return shape
        except BatchError as error:
            error.where = error.where or f"{self.place.text}, batch {moment.batch}"
            raise

    def _ensure_target(self, book: Book, shape: Shape, *, timed: bool) -> str:
        """The table exists; gives its location."""
        if book.exists and not book.replaceable:
            return book.location
        settings = settings_for(self.feed, self.history, self.partitions, timed=timed)
        make_target(self.tables, self.partitions, shape, settings, again=book.replaceable)
        found = self.tables.target.properties()
        if found is None:
            raise TableError("the table that was just made cannot be found", where=self.place.text)
        return found["location"]

    def _check_files(self, written: Sequence[str]) -> None:
        """D15: before anything is written, since the table itself is written last."""
        files = self.tables.target.files
        unknown = [
            name for name in (files.by if files else ()) if not any(same(name, one) for one in written)
        ]
        if unknown:
            raise BatchError(
                f"files.by names {', '.join(map(repr, unknown))}, which the batch does not write",
                code="invalid_options",
                where=self.place.text,
                hint=f"choose among: {', '.join(name for name in written if not internal(name))}",
            )

    # ---- commits

    def _commit(self, book: Book, found: Planned, inputs: Sequence[Mapping[str, Any]]) -> BatchReport:
        """Rejected rows, the truth, then what follows from it; each commit guarded by the batch number."""
        ctx, plan = found.ctx, found.plan
        moment, shape = ctx.moment, ctx.shape
        report = self._report(found)
        attempt = uuid.uuid4().hex
        first = book.last_batch == 0
        grows = not first and evolve(self.tables, book, shape)
        self._write_rejected(found, attempt)
        writes = commits.written_tables(self.tables, plan, grows=grows)
        facts = commits.facts_of(
            moment,
            report.as_dict(),
            inputs,
            book.versions,
            writes,
            {
                "base": ctx.before.next_number,
                "next": max(plan.next_number, ctx.before.next_number),
                "newest_snapshot": ctx.before.newest_snapshot,
                "batch_times": ctx.before.batch_times or moment.event_time is not None,
                "keeps": shape.keeps,
                **plan.facts,
            },
        )
        commit = Commit(moment.batch, attempt, facts)
        truth = commits.write_truth(self.tables, plan, shape, commit, first=first)
        done = commits.write_followers(
            self.tables, plan, shape, Commit(moment.batch, attempt), writes, first=first
        )
        heads = {self.tables.truth: truth, **done}
        self._book = Book(
            exists=True,
            last_batch=moment.batch,
            attempt=attempt,
            facts=facts,
            timed=book.timed if book.timed is not None else moment.event_time is not None,
            location=self._location,
            known=known_of(shape, kept=self.tables.truth == "journal"),
            versions={**book.versions, **{name: head.commit_version for name, head in heads.items()}},
        )
        target = heads.get("target")
        if target is None:
            return report
        touched = self.tables.target.touched(target.commit_version, partition_names(self.partitions, shape))
        return replace(report, version=target.commit_version, touched=touched)

    def _write_rejected(self, found: Planned, attempt: str) -> None:
        ctx, plan = found.ctx, found.plan
        frames = []
        if found.counts["rejected"]:
            bad = found.rows.where(F.col(REASON).isNotNull())
            frames.append(commits.rejected_rows(bad, ctx.moment, ctx.shape.columns))
        if plan.rejected is not None and plan.counts.get("late"):
            frames.append(commits.late_rows(plan.rejected, ctx.moment))
        together = reduce(DataFrame.unionByName, frames) if frames else None
        commits.write_rejected(self.tables, together, Commit(ctx.moment.batch, attempt))
