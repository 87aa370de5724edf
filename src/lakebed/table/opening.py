"""What a table holds before a batch: its settings, its newest batch, its columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructField, StructType

from lakebed.errors import SettingsChangedError, TableError
from lakebed.history.columns import FROM, ORDER, internal, same
from lakebed.history.hashing import RECIPE
from lakebed.history.shape import Known, Shape
from lakebed.manifest import Append, Log, Versions
from lakebed.manifest.dataset import Files
from lakebed.manifest.histories import AnyFeed, AnyHistory
from lakebed.manifest.partitions import Partition
from lakebed.table.context import journaled
from lakebed.tables.delta import DeltaTable, Head, settings_of
from lakebed.tables.place import Place

FORMAT = 1


@dataclass(frozen=True)
class Tables:
    """The tables of one dataset. The truth is append-only where there is a journal or a log, and is written first."""

    target: DeltaTable
    journal: DeltaTable
    heads: DeltaTable
    state: DeltaTable
    rejected: DeltaTable
    truth: str

    @classmethod
    def of(
        cls, spark: SparkSession, place: Place, feed: AnyFeed, history: AnyHistory, files: Files | None = None
    ) -> Tables:
        others = {
            name: DeltaTable(spark, place.sibling(f"__{name}"))
            for name in ("journal", "heads", "state", "rejected")
        }
        truth = "journal" if journaled(feed, history) else "target"
        return cls(target=DeltaTable(spark, place, files), truth=truth, **others)

    @property
    def spark(self) -> SparkSession:
        return self.target.spark

    def named(self, name: str) -> DeltaTable:
        table: DeltaTable = getattr(self, name)
        return table

    @property
    def newest(self) -> Head:
        return self.named(self.truth).head()


@dataclass(frozen=True)
class Book:
    """What is known of a dataset when it is opened. `facts` are those of the newest batch's commit of the truth."""

    exists: bool = False
    replaceable: bool = False  # made, but no batch was ever applied
    last_batch: int = 0
    attempt: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    timed: bool | None = None
    location: str = ""
    known: Known = field(default_factory=Known)
    versions: Mapping[str, int] = field(default_factory=dict)  # of each table, as of the newest batch


def settings_for(
    feed: AnyFeed, history: AnyHistory, partitions: Sequence[Partition], *, timed: bool
) -> dict[str, Any]:
    """What is recorded in the table (G9)."""
    return {
        "format": FORMAT,
        "hash_recipe": RECIPE,
        "feed": feed.recorded(),
        "history": history.recorded(),
        "partition_by": [one.recorded() for one in partitions],
        "event_time_declared": timed,
    }


def open_book(tables: Tables, feed: AnyFeed, history: AnyHistory, partitions: Sequence[Partition]) -> Book:
    """Look at the tables; raises `SettingsChangedError` where the options that shape rows are not those recorded, and `TableError`
    where one of the tables is gone and others still hold batches, or rows are there that no batch tells of."""
    properties = tables.target.properties()
    if properties is None:
        _refuse_left_behind(tables, _beside(feed, history))
        return Book()
    recorded = settings_of(properties, tables.target.place)
    newest = tables.newest
    timed = bool(recorded["event_time_declared"])
    wanted = settings_for(feed, history, partitions, timed=timed)
    # The table that the wanted settings take for the truth may be another one than the recorded ones did.
    if recorded != wanted and max(tables.target.head().batch, tables.journal.head().batch) > 0:
        raise _changed(tables.target.place.text, recorded, wanted)
    if newest.batch == 0:
        refuse_ahead(
            tables, newest.batch, _heads(tables, {"target", *_beside(feed, history)} - {tables.truth})
        )
        _refuse_rows(tables)
    return Book(
        exists=True,
        replaceable=newest.batch == 0,
        last_batch=newest.batch,
        attempt=newest.attempt,
        facts=newest.facts,
        timed=timed if newest.batch > 0 else None,
        location=properties["location"],
        known=_known(tables, newest, feed, history, partitions) if newest.batch > 0 else Known(),
        versions={**newest.facts.get("reads", {}), tables.truth: newest.commit_version}
        if newest.batch
        else {},
    )


def refuse_ahead(tables: Tables, truth: int, heads: Mapping[str, Head]) -> None:
    """The truth is written first, so no other table holds a batch that it lacks, unless one of them was dropped, moved, copied or
    brought back without the other. `truth` is the batch that it held before the heads were read."""
    ahead = {name: head.batch for name, head in heads.items() if head.batch > truth}
    if not ahead:
        return
    truth = tables.newest.batch  # another writer may have gone on in between
    if max(ahead.values()) > truth:
        raise _torn(tables, ahead, f"{tables.named(tables.truth).place.text} holds {truth or 'none'}")


def _beside(feed: AnyFeed, history: AnyHistory) -> list[str]:
    """The tables that the next batch needs besides the one itself. Rejected rows are none: they may outlive their table."""
    found = ["journal"] if journaled(feed, history) else []
    if isinstance(history, Log):
        return found if isinstance(feed, Append) else [*found, "state"]
    return [*found, "heads"] if found else []


def _refuse_left_behind(tables: Tables, beside: Sequence[str]) -> None:
    """There is no table: those beside it would be taken for parts of the new one."""
    left = {name: head.batch for name, head in _heads(tables, beside).items() if head.batch}
    if left and tables.target.properties() is None:  # else another writer has just made it
        raise _torn(tables, left, f"{tables.target.place.text} does not exist")


def _refuse_rows(tables: Tables) -> None:
    """A clone has the rows and none of the commits that tell their batches; the same after a log was cut."""
    if tables.target.read().isEmpty() or tables.newest.batch:  # or another writer has just applied one
        return
    raise TableError(
        "the table holds rows, and its log tells of no batch: it is a clone, or its log was cut",
        code="torn_dataset",
        where=tables.target.place.text,
        hint="choose another place for the dataset; a copy of all files of all its tables would go on where it is",
    )


def _heads(tables: Tables, names: Iterable[str]) -> dict[str, Head]:
    return {name: tables.named(name).head() for name in sorted(names)}


def _torn(tables: Tables, held: Mapping[str, int], lacks: str) -> TableError:
    holding = [f"{tables.named(name).place.text} holds batch {batch}" for name, batch in held.items()]
    return TableError(
        f"tables of one dataset do not belong together: {', '.join(holding)}, and {lacks}",
        code="torn_dataset",
        where=tables.target.place.text,
        hint="bring back the one that is gone or older (a dataset's tables are moved and copied together), or remove all of them "
        "and load from the start",
    )


def _changed(where: str, recorded: Mapping[str, Any], wanted: Mapping[str, Any]) -> SettingsChangedError:
    parts = [(part, recorded[part], wanted[part]) for part in ("feed", "history")]
    whole = {name: recorded[name] for name in ("partition_by", "hash_recipe", "format")}
    parts.append(("table", whole, {name: wanted[name] for name in whole}))
    differences = [
        f"{part}.{name} was {before.get(name)!r}, is {after.get(name)!r}"
        for part, before, after in parts
        for name in sorted(set(before) | set(after))
        if before.get(name) != after.get(name)
    ]
    return SettingsChangedError(
        f"the table was made with other settings: {'; '.join(differences)}",
        where=where,
        hint="take the change back, or name another dataset for the new settings and load it from the start",
    )


def known_of(shape: Shape, *, kept: bool) -> Known:
    """The same after a batch of this shape, without looking."""
    stored = {f.name for f in shape.data}
    others = tuple(f for f in shape.columns if f.name not in stored) if kept else ()
    return Known(shape.data, others, shape.order_type, shape.from_type, shape.keeps)


def _known(
    tables: Tables, newest: Head, feed: AnyFeed, history: AnyHistory, partitions: Sequence[Partition]
) -> Known:
    return replace(
        known_columns(tables, feed, history, partitions), keeps=bool(newest.facts.get("keeps", False))
    )


def known_columns(
    tables: Tables, feed: AnyFeed, history: AnyHistory, partitions: Sequence[Partition]
) -> Known:
    """The stored columns of the table, and those that only its journal has. Where there is a journal, it tells types and new columns
    first: a batch that changes no row of the table does not change its schema either."""
    schema = tables.target.schema()
    own = {*history.own_names, *(one.name.lower() for one in partitions if one.is_made)}
    merged = _merged_event_time(schema, feed, history)
    data = tuple(
        f for f in schema if not internal(f.name) and (f.name.lower() not in own or f.name == merged)
    )
    kept: tuple[StructField, ...] = ()
    order_holder = schema
    if tables.truth == "journal":
        order_holder = tables.journal.schema()
        excepted = {name.lower() for name in feed.except_columns}
        in_journal = {f.name.lower(): f for f in order_holder if not internal(f.name)}
        newest = [StructField(f.name, in_journal.pop(f.name.lower(), f).dataType) for f in data]
        data = (*newest, *(f for name, f in in_journal.items() if name not in excepted))
        kept = tuple(f for name, f in in_journal.items() if name in excepted)
    order = next((f.dataType for f in order_holder if f.name == ORDER), None)
    starts = {FROM, history.own("valid_from")} if isinstance(history, Versions) else {FROM}
    from_type = next((f.dataType for f in order_holder if f.name in starts), None)
    return Known(data, kept, order if isinstance(order, StructType) else None, from_type)


def _merged_event_time(schema: StructType, feed: AnyFeed, history: AnyHistory) -> str | None:
    """L1: the name of the log's event time where that is a column of the data."""
    declared = feed.event_time_column
    if (
        not isinstance(history, Log)
        or declared is None
        or not same(declared.column, history.own("event_time"))
    ):
        return None
    if any(same(name, declared.column) for name in feed.except_columns):
        return None
    return next((f.name for f in schema if same(f.name, declared.column)), None)
