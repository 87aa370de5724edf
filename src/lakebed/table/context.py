"""All that one batch is applied with: the shape, the moment, what the tables held before it, and where to stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.history import current, heads, versions
from lakebed.history.columns import FIRST, OPENED, SEED, SK, key_names, with_key
from lakebed.history.normalise import Moment
from lakebed.history.shape import Shape
from lakebed.manifest import Changes, Log, Versions
from lakebed.tables.replacement import Replacement
from lakebed.tables.staging import Staging

BROADCAST_ROWS = 1_000_000
ONE_PART_ROWS = 20_000
ROWS_PER_PART = 250_000


@dataclass(frozen=True)
class Size:
    """How many rows a batch works on, and what follows from it for the plan."""

    rows: int

    @property
    def few(self) -> bool:
        """So few keys that they are sent to every task, and the table itself is not shuffled."""
        return self.rows <= BROADCAST_ROWS

    @property
    def parts(self) -> int:
        """How many parts to write them in. It follows from the rows alone, so that another try parts them alike."""
        return 1 if self.rows <= ONE_PART_ROWS else max(2, -(-self.rows // ROWS_PER_PART))


@dataclass(frozen=True)
class Before:
    """The tables as of the batch before; None where a table does not exist yet, or holds nothing."""

    target: DataFrame | None = None
    state: DataFrame | None = None
    heads: DataFrame | None = None
    journal: DataFrame | None = None
    next_number: int = 0
    newest_snapshot: str | None = None
    batch_times: bool = False  # some batch was given an event time of its own


@dataclass(frozen=True)
class Context:
    shape: Shape
    moment: Moment
    staging: Staging
    before: Before
    least_from: Any = None  # the smallest valid_from in the batch

    @property
    def keys(self) -> list[str]:
        return key_names(self.shape.key)

    @property
    def live(self) -> DataFrame | None:
        """The table that holds a row per known live key."""
        if isinstance(self.shape.history, Log):
            return self.before.state
        return self.before.target

    def align(self, rows: DataFrame, fields_: list[Any]) -> DataFrame:
        """Rows of a table as they are after this batch: new columns NULL, wider types cast."""
        have = {name.lower(): name for name in rows.columns}
        columns: list[Column] = []
        for f in fields_:
            name = have.get(f.name.lower())
            value = F.col(f"`{name.replace('`', '``')}`") if name else F.lit(None)
            columns.append(value.cast(f.dataType).alias(f.name))
        return rows.select(*columns)

    def open_rows(self) -> DataFrame | None:
        """Rows of live keys, as rows of the table."""
        rows = self.live
        if rows is None:
            return None
        if isinstance(self.shape.history, Versions):
            return self.align(rows.where(versions.is_open(self.shape)), versions.target_fields(self.shape))
        return self.align(rows, current.target_fields(self.shape))

    def seeds(self, keys: DataFrame | None, *, size: Size) -> DataFrame | None:
        """What is known of these keys (None: of all): live rows and dead heads, as seeds with every seed column."""
        found: list[DataFrame] = []
        rows = self.open_rows()
        if rows is not None:
            if keys is not None:
                rows = matching(with_key(rows, self.shape.key), keys, self.keys, size=size)
            make = versions.seeds_of if isinstance(self.shape.history, Versions) else current.seeds_of
            found.append(seed_columns(make(rows, self.shape), self.shape))
        if self.before.heads is not None:
            rows = with_key(self.align(self.before.heads, list(heads.schema_of(self.shape))), self.shape.key)
            if keys is not None:
                rows = matching(rows, keys, self.keys, size=size)
            found.append(seed_columns(heads.seeds_of(rows, self.shape), self.shape))
        if not found:
            return None
        return found[0] if len(found) == 1 else found[0].unionByName(found[1])


def matching(rows: DataFrame, keys: DataFrame, names: list[str], *, size: Size | None = None) -> DataFrame:
    """Rows whose key is among `keys`: the rows are streamed past the few, never the other way round."""
    return rows.join(F.broadcast(keys) if size is not None and size.few else keys, names, "left_semi")


def seed_columns(events: DataFrame, shape: Shape) -> DataFrame:
    """Events with the columns that only seeds fill."""
    defaults: Mapping[str, Column] = {
        SEED: F.lit(False),
        SK: F.lit(None).cast("bigint"),
        FIRST: F.lit(None).cast(shape.order_type),
        OPENED: F.lit(None).cast("bigint"),
        versions.INITIAL: F.lit(False),
    }
    missing = {name: value for name, value in defaults.items() if name not in events.columns}
    return events.withColumns(missing) if missing else events


def journaled(shape_feed: Any, history: Any) -> bool:
    """Whether the changes are kept in a journal: where late events are possible, and where the first batch's keys must be
    known for good although no version shows them (V3)."""
    if getattr(shape_feed, "order_by", ()):
        return True
    initial = history.initial if isinstance(history, Versions) else None
    return isinstance(shape_feed, Changes) and initial is not None and initial.keys == "first_batch"


@dataclass
class WritePlan:
    """All that a batch writes, computed and staged before the first commit."""

    counts: dict[str, int]
    rejected: DataFrame | None = None
    journal: DataFrame | None = None
    appended: DataFrame | None = None
    target: Replacement | None = None
    state: Replacement | None = None
    heads: Replacement | None = None
    next_number: int = 0
    facts: dict[str, Any] = field(default_factory=dict)
