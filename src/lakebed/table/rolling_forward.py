"""What a crash left halfway: the truth holds a batch, and tables that follow from it lag (ARCHITECTURE, decision 3)."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from lakebed.history.columns import BATCH, BUCKET, COPIES, KIND, TRUNCATE
from lakebed.history.normalise import Moment
from lakebed.history.shape import shape_of
from lakebed.manifest.histories import AnyFeed, AnyHistory
from lakebed.table.commits import write_followers
from lakebed.table.context import Before, Context, Size, WritePlan
from lakebed.table.journaled import journal_events, sort_events
from lakebed.table.log_state import state_of_log
from lakebed.table.opening import Book, Tables, refuse_ahead
from lakebed.table.refolding import fold_sorted
from lakebed.tables.delta import Commit
from lakebed.tables.staging import Staging


def rolled_forward(tables: Tables, book: Book, feed: AnyFeed, history: AnyHistory) -> Book:
    """Finish the newest batch from the truth's own rows; after it every table holds that batch. A crash in between leaves
    fewer tables that lag, and the next opening goes on."""
    names = list(book.facts["writes"])
    heads = {name: tables.named(name).head() for name in names}
    refuse_ahead(tables, book.last_batch, heads)
    lagging = [name for name in names if heads[name].batch < book.last_batch]
    if lagging:
        _finish(tables, book, feed, history, lagging)
        heads = {name: tables.named(name).head() for name in names}
    versions = {name: head.commit_version for name, head in heads.items()}
    return replace(book, versions={**book.versions, **versions})


def _finish(tables: Tables, book: Book, feed: AnyFeed, history: AnyHistory, lagging: Sequence[str]) -> None:
    facts = book.facts
    event_time = dt.datetime.fromisoformat(facts["event_time"]) if facts["event_time"] else None
    moment = Moment(book.last_batch, dt.datetime.fromisoformat(facts["system_time"]), event_time)
    incoming = StructType([*book.known.data, *book.known.kept])
    if feed.on_missing_column == "fail":  # it was judged when it came; what is not stored is missing here
        feed = feed.model_copy(update={"on_missing_column": "null"})
    shape = shape_of(incoming, feed, history, book.known, batch_time_declared=bool(book.timed))
    staging = Staging.beside(tables.spark, book.location)
    truth = tables.named(tables.truth).read()
    try:
        ctx = Context(shape, moment, staging, before_at(tables, facts["reads"], facts["base"]))
        if tables.truth == "journal":
            mine = journal_events(ctx, truth.where(F.col(BATCH) == moment.batch)).drop(BUCKET)
            mine = mine.withColumn(COPIES, F.lit(1).cast("bigint"))
            counts = {"n": F.count(F.lit(1)), "t": F.count_if(F.col(KIND) == TRUNCATE)}
            mine, found = staging.write(mine, "mine", counts)
            size = Size(
                max(int(found["n"]), int(facts["report"]["read"]))
            )  # parted as it was, so numbered as it was
            sorted_ = sort_events(ctx, mine, size=size, has_truncates=bool(found["t"]))
            plan = fold_sorted(ctx, sorted_, deletes=True)
        else:
            plan = WritePlan(counts={}, state=state_of_log(ctx, truth))
        commit = Commit(moment.batch, uuid.uuid4().hex)
        write_followers(tables, plan, shape, commit, lagging, first="target" not in facts["reads"])
    finally:
        staging.clear()


def before_at(
    tables: Tables,
    reads: Mapping[str, int],
    base: int,
    *,
    newest_snapshot: str | None = None,
    batch_times: bool = False,
) -> Before:
    """The tables at these versions; -1 is the newest one."""
    frames = {
        name: tables.named(name).read(None if version < 0 else version) for name, version in reads.items()
    }
    return Before(**frames, next_number=base, newest_snapshot=newest_snapshot, batch_times=batch_times)
