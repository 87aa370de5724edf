"""What the rows of a batch and of its table look like: every name resolved, every type decided, before anything is read.

`shape_of` is the whole of G9 that can be told from schemas alone. It raises before anything is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql.types import (
    BooleanType,
    DataType,
    DateType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from lakebed.errors import BatchError
from lakebed.history.batch_columns import needed_columns, refuse_names, refuse_own_names, require_columns
from lakebed.history.columns import FROM_SOURCE, find, same
from lakebed.history.types import is_time, plain, reconcile
from lakebed.manifest import Append, Changes, Ledger, Log, Snapshot, Updates, Versions
from lakebed.manifest.histories import AnyFeed as Feed
from lakebed.manifest.histories import AnyHistory as History


@dataclass(frozen=True)
class Known:
    """What a table has so far: its stored columns, and those that its journal keeps besides."""

    data: tuple[StructField, ...] = ()
    kept: tuple[StructField, ...] = ()
    order: StructType | None = None
    from_type: DataType | None = None
    # Some event left columns out, which kept their value (F6): that option may have changed since.
    keeps: bool = False


@dataclass(frozen=True)
class Shape:
    """Rows of one table, as they are from this batch on. Names are in the table's own case."""

    feed: Feed
    history: History
    columns: tuple[StructField, ...]  # all columns of a change, stored or not
    data: tuple[StructField, ...]  # the stored ones
    sources: dict[str, str]  # column → its name in this batch; a missing column is not in it
    widened: tuple[StructField, ...]
    event_time: str | None
    from_column: str | None  # the column that valid_from comes from; None: the batch's time
    from_type: DataType
    kept_before: bool = False

    @property
    def key(self) -> tuple[str, ...]:
        return self.names(getattr(self.feed, "key", ()))

    @property
    def order(self) -> tuple[str, ...]:
        return self.names(getattr(self.feed, "order_by", ()))

    def names(self, options: Sequence[str]) -> tuple[str, ...]:
        """Columns named in options, in the table's case; those that nobody has yet are left out."""
        found = (find(name, [f.name for f in self.columns]) for name in options)
        return tuple(name for name in found if name is not None)

    def field(self, name: str) -> StructField:
        return next(f for f in self.columns if same(f.name, name))

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.data if f.name not in self.sources)

    @property
    def partial(self) -> bool:
        """Whether a change may set only some columns (F6)."""
        feed = self.feed
        if isinstance(feed, (Updates, Changes)):
            return (
                feed.ignore_nulls is not False
                or feed.present_columns is not None
                or feed.on_missing_column == "keep"
            )
        return isinstance(feed, (Snapshot, Ledger)) and feed.on_missing_column == "keep"

    @property
    def keeps(self) -> bool:
        """Whether an event, of this batch or one before, may lack columns that keep their value (F6)."""
        return self.kept_before or self.feed.on_missing_column == "keep"

    @property
    def carries(self) -> bool:
        """Whether what an event does not set must be looked up in those before it."""
        return self.partial or self.keeps

    @property
    def ignores_deletes(self) -> bool:
        """V5: deletes and truncates do nothing at all."""
        return isinstance(self.history, Versions) and self.history.deletes == "ignore"

    @property
    def nulls_keep(self) -> frozenset[str] | None:
        """F6: the lower-cased names that `ignore_nulls` lists; None where it is no list, but all columns or none."""
        listed = self.feed.ignore_nulls if isinstance(self.feed, (Updates, Changes)) else False
        return None if isinstance(listed, bool) else frozenset(name.lower() for name in listed)

    @property
    def optional(self) -> frozenset[str]:
        """F6: the lower-cased names of the columns that a change may leave unset. Any other column that an event lacks, because the
        table got it later, is NULL in it (G9)."""
        if not self.carries:
            return frozenset()
        free = frozenset(f.name.lower() for f in self.data if f.name not in self.key)
        if self.nulls_keep is None or self.keeps:
            return free
        return free & self.nulls_keep

    @property
    def order_type(self) -> StructType:
        if self.order:
            parts = [StructField(f"o{i}", self.field(name).dataType) for i, name in enumerate(self.order)]
        elif isinstance(self.feed, Ledger):
            parts = [
                StructField("batch", LongType()),
                StructField("time", TimestampType()),
                StructField("position", LongType()),
            ]
        else:
            parts = [StructField("batch", LongType()), StructField("position", LongType())]
        return StructType([*parts, StructField("t", IntegerType())])

    @property
    def tracked(self) -> tuple[StructField, ...]:
        """V4: the columns that make a new version."""
        if not isinstance(self.history, Versions):
            return self.data
        never = {name.lower() for name in (*self.key, *self.order)}
        never |= {name.lower() for name in (self.event_time, self.from_column) if name}
        if isinstance(self.feed, (Updates, Changes)) and self.feed.present_columns:
            never.add(self.feed.present_columns.lower())
        free = tuple(f for f in self.data if f.name.lower() not in never)
        if self.history.track is not None:
            wanted = {name.lower() for name in self.history.track}
            return tuple(f for f in free if f.name.lower() in wanted)
        unwanted = {name.lower() for name in self.history.track_except or ()}
        return tuple(f for f in free if f.name.lower() not in unwanted)

    @property
    def hashed(self) -> tuple[StructField, ...]:
        """G11: what `row_hash` covers, the key and the tracked columns."""
        key = tuple(f for f in self.data if f.name in self.key)
        return key + tuple(f for f in self.tracked if f.name not in self.key)

    @property
    def compared(self) -> tuple[StructField, ...]:
        """F3: the columns whose change counts."""
        compare = self.feed.compare if isinstance(self.feed, Snapshot) else None
        if compare is None:
            return self.data
        wanted = {name.lower() for name in compare}
        return tuple(f for f in self.data if f.name.lower() in wanted)

    @property
    def event_time_is_own(self) -> bool:
        """L1: a declared event-time column that has the name of the log's own is that column."""
        return (
            isinstance(self.history, Log)
            and self.event_time is not None
            and same(self.event_time, self.history.own("event_time"))
            and any(same(f.name, self.event_time) for f in self.data)
        )


def shape_of(
    incoming: StructType, feed: Feed, history: History, known: Known, *, batch_time_declared: bool
) -> Shape:
    """The shape of a table after a batch with these columns; raises `BatchError` where G9 refuses them."""
    given = [f for f in incoming if f.name not in FROM_SOURCE]
    refuse_names(given)
    excepted = {name.lower() for name in feed.except_columns}
    event_time = _event_time_column(feed, given)
    if event_time and isinstance(history, Log) and same(event_time.name, history.own("event_time")):
        # L1: it is the log's own column, a timestamp, whatever the batch has.
        given = [StructField(f.name, TimestampType()) if f is event_time else f for f in given]
    columns, sources, widened = _merge_columns(given, known, feed, history)
    data = tuple(f for f in columns if f.name.lower() not in excepted)
    require_columns(feed, history, columns, sources, data)
    refuse_own_names(data, history, event_time.name if event_time else None)
    from_column, from_type = _valid_from(feed, history, columns, batch_time_declared=batch_time_declared)
    if isinstance(history, Versions) and known.from_type is not None:
        from_type = _wider_start(history, known.from_type, from_type, widened)
    shape = Shape(
        feed=feed,
        history=history,
        columns=tuple(columns),
        data=data,
        sources=sources,
        widened=tuple(widened),
        event_time=(find(event_time.name, sources) or event_time.name) if event_time else None,
        from_column=from_column,
        from_type=from_type,
        kept_before=known.keeps,
    )
    if known.order is not None and shape.order and plain(known.order) != plain(shape.order_type):
        raise _incompatible(", ".join(shape.order), known.order, shape.order_type, "order")
    return shape


def _wider_start(
    history: Versions, known: DataType, arrived: DataType, widened: list[StructField]
) -> DataType:
    """G9 for `valid_from`, whose column need not be stored."""
    wider, name = reconcile(known, arrived), history.own("valid_from")
    if wider is None:
        raise _incompatible(name, known, arrived, "column")
    if wider != plain(known):
        widened.append(StructField(name, wider))
    return wider


def _unchangeable(feed: Feed) -> set[str]:
    return {name.lower() for option in ("key", "order_by") for name in getattr(feed, option, ())}


def _merge_columns(
    given: Sequence[StructField], known: Known, feed: Feed, history: History
) -> tuple[list[StructField], dict[str, str], list[StructField]]:
    """The table's columns first, then the new ones; which column of the batch each comes from; which widen."""
    unchangeable = _unchangeable(feed)
    needed = unchangeable | {name.lower() for name, _, _ in needed_columns(feed, history)}
    columns: list[StructField] = []
    sources: dict[str, str] = {}
    widened: list[StructField] = []
    arriving = {f.name.lower(): f for f in given}
    for old in (*known.data, *known.kept):
        new = arriving.pop(old.name.lower(), None)
        kind: DataType | None = old.dataType
        if new is not None:
            changed = plain(new.dataType) != plain(old.dataType)
            fixed = changed and old.name.lower() in unchangeable
            kind = None if fixed else reconcile(old.dataType, new.dataType)
            if kind is not None:
                sources[old.name] = new.name
            elif old in known.data or old.name.lower() in needed:
                raise _incompatible(old.name, old.dataType, new.dataType, "column")
            # Else only conditions and the journal want it: the batch goes on, and it is NULL in the journal.
        column = StructField(old.name, kind or old.dataType, True)
        if column.dataType != plain(old.dataType):
            widened.append(column)
        columns.append(column)
    for f in given:
        if f.name.lower() in arriving:
            columns.append(StructField(f.name, plain(f.dataType), True))
            sources[f.name] = f.name
    return columns, sources, widened


def _incompatible(name: str, table: DataType, incoming: DataType, what: str) -> BatchError:
    return BatchError(
        f"{what} {name!r} is {table.simpleString()} in the table and {incoming.simpleString()} in the batch",
        code="incompatible_type",
        hint="cast it in the source, or declare its type; key and order columns never change type",
    )


def _event_time_column(feed: Feed, given: Sequence[StructField]) -> StructField | None:
    """G3: the declared one, also where the batch lacks it."""
    declared = feed.event_time_column
    if declared is None:
        return None
    column = next((f for f in given if same(f.name, declared.column)), None)
    if column is None:
        return StructField(declared.column, TimestampType())
    if declared.format is None and not is_time(column.dataType):
        raise BatchError(
            f"the event time column {column.name!r} is {column.dataType.simpleString()}, and no format is declared",
            code="incompatible_type",
            hint="declare event_time: {column: …, format: …}, such as '%Y-%m-%d' or epoch_ms",
        )
    return column


def _valid_from(
    feed: Feed, history: History, columns: Sequence[StructField], *, batch_time_declared: bool
) -> tuple[str | None, DataType]:
    """V3: where valid_from comes from, and its type."""
    if not isinstance(history, Versions):
        return None, TimestampType()
    name: str | None = history.valid_from
    if name is None and not isinstance(feed, (Snapshot, Append, Ledger)):
        declared = feed.event_time_column
        if declared is None and not batch_time_declared and feed.order_by:
            name = feed.order_by[0]
    column = next((f for f in columns if name and same(f.name, name)), None)
    kind: DataType = column.dataType if column else TimestampType()
    if history.initial is not None and not is_time(kind):
        raise BatchError(
            f"initial_valid_from is a time, and valid_from is {kind.simpleString()}",
            code="invalid_options",
            hint="name a date or timestamp column in valid_from, or take initial_valid_from out",
        )
    if history.end == "inclusive_day":
        if not is_time(kind):
            raise BatchError(
                f"end: inclusive_day needs dates or times, and valid_from is {kind.simpleString()}",
                code="invalid_options",
                hint="name a date or timestamp column in valid_from, or use end: exclusive",
            )
        kind = DateType()
    if column is not None and not is_time(kind) and _deletes_may_lack_it(feed, history, column.name):
        raise BatchError(
            f"valid_from {column.name!r} is {kind.simpleString()}; a delete without one takes its event time, a timestamp",
            code="invalid_options",
            hint="use a date or timestamp column for valid_from (G3)",
        )
    return (column.name if column else None), kind


def _deletes_may_lack_it(feed: Feed, history: Versions, column: str) -> bool:
    """Of ignored deletes nobody asks when they were."""
    if isinstance(feed, Changes):
        ordered = any(same(name, column) for name in feed.order_by)
        return not ordered and history.deletes != "ignore" and bool(feed.delete_when or feed.truncate_when)
    return isinstance(feed, Snapshot)


def flag_type(history: Versions) -> DataType:
    return StringType() if history.flag else BooleanType()
