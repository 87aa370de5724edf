"""One dataset in one run: all that its batches need, and where the runner meets the world."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from lakebed.control import BatchPlan, ControlStore
from lakebed.errors import SetupError
from lakebed.manifest import Dataset, Project
from lakebed.runner.bookmarks import StoreBookmarks
from lakebed.runner.plan_files import Plans, plans_beside
from lakebed.runner.report import Progress, Silent
from lakebed.runner.sessions import own_session, set_for_size
from lakebed.sources import AnySource, Input, Look, Rows, is_local, local_folder, open_source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Clock = Callable[[], datetime]


class Table(Protocol):
    """What the runner needs of a table; `lakebed.table` has it."""

    @property
    def last_batch(self) -> int: ...
    @property
    def known_columns(self) -> Sequence[Any]: ...
    @property
    def batches_told(self) -> Callable[[], Iterator[Mapping[str, Any]]]: ...
    @property
    def apply(self) -> Callable[..., Any]: ...
    @property
    def preview(self) -> Callable[..., Any]: ...


def open_table(spark: SparkSession, dataset: Dataset, path: str) -> Table:
    """The dataset's table, as the library opens it."""
    from lakebed.table import table  # noqa: PLC0415  without anything new, Spark is not even imported

    return table(
        spark,
        path,
        feed=dataset.declared_feed,
        history=dataset.history,
        partition_by=dataset.partition_by or (),
        # Unless asked for, a batch is not shuffled once more for the sake of its files.
        files=dataset.files if "files" in dataset.model_fields_set else None,
    )


def system_clock() -> datetime:
    return datetime.now(UTC)


def no_spark() -> Any:
    raise SetupError("this needs Spark, and the caller gave none")


@dataclass(frozen=True)
class Edges:
    """Where the runner meets the world; a test puts its own here. `spark` is called only when there is work."""

    spark: Callable[[], Any] = no_spark
    now: Clock = system_clock
    progress: Progress = field(default_factory=Silent)
    open_table: Callable[[Any, Dataset, str], Table] = open_table
    open_source: Callable[[Dataset, str, Callable[[], Any]], AnySource] = open_source
    session: Callable[[Any], Any] = own_session
    set_for_size: Callable[[Any, int | None, str], None] = set_for_size
    pause: Callable[[float], None] = time.sleep
    stopping: Callable[[], bool] = bool  # whether to end after the batch that is under way; no by default


@dataclass
class Work:
    """One dataset in one run: all that its batches need."""

    dataset: Dataset
    store: ControlStore
    landing: str
    path: str  # of the table: a folder or a URL
    edges: Edges
    backlog: list[Input] = field(default_factory=list)  # new, and in no plan yet
    looked_at: datetime | None = None  # when the backlog was found
    notes: list[str] = field(default_factory=list)  # for the user, with the next batch or at the end

    @classmethod
    def of(cls, project: Project, dataset: Dataset, store: ControlStore, edges: Edges) -> Work:
        """The table lies at `<warehouse>/<database>/<table>`."""
        place = project.warehouse
        warehouse = str(local_folder(place, setting="warehouse")) if is_local(place) else place.rstrip("/")
        path = "/".join([warehouse, *dataset.name.split(".")])
        return cls(dataset, store, project.landing, path, edges)

    @property
    def name(self) -> str:
        return self.dataset.name

    @cached_property
    def plans(self) -> Plans:
        return plans_beside(self.path, lambda: self.session)

    @cached_property
    def source(self) -> AnySource:
        return self.edges.open_source(self.dataset, self.landing, lambda: self.session)

    def look(self, *, asked: bool = True) -> Look:
        """What the source may use to find what is new; what it has to tell goes to the notes."""
        bookmarks = StoreBookmarks(self.store, self.name)
        return Look(bookmarks, self.edges.now, self.edges.pause, asked, self.notes)

    def inputs_of(self, plan: BatchPlan) -> list[Input]:
        return [self.source.input(**one.as_dict()) for one in plan.inputs]

    def reopen(self) -> None:
        """Forget the opened table and the backlog: the next use opens and looks anew. What was taken out of the backlog may be in no
        plan yet."""
        self.__dict__.pop("table", None)
        self.backlog = []

    def told(self) -> tuple[str, ...]:
        """The notes so far, each told once."""
        notes, self.notes = tuple(self.notes), []
        return notes

    @cached_property
    def table(self) -> Table:
        """Opened at the first need, for all batches: it notices by itself what others have committed since."""
        return self.edges.open_table(self.session, self.dataset, self.path)

    @cached_property
    def session(self) -> Any:
        """Spark, started at the first need."""
        return self.edges.session(self.edges.spark())

    def read(self, inputs: Sequence[Input]) -> Rows:
        """The rows of these inputs, in a session that is set for their size."""
        size = sum(one.size for one in inputs) if self.source.immutable else None
        self.edges.set_for_size(self.session, size, self.path)
        return self.source.read(self.session, inputs, self.table.known_columns)
