"""One dataset in one run: all that its batches need, and where the runner meets the world."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lakebed.control import ControlStore
from lakebed.errors import SetupError
from lakebed.manifest import Dataset, Project
from lakebed.runner.plan_files import PlanFiles
from lakebed.runner.report import Progress, Silent
from lakebed.runner.sessions import own_session, set_for_size
from lakebed.sources import FoundFile, local_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakebed.sources.formats import Rows

Clock = Callable[[], datetime]


class Table(Protocol):
    """What the runner needs of a table; `lakebed.table` has it."""

    @property
    def last_batch(self) -> int: ...
    @property
    def apply(self) -> Callable[..., Any]: ...
    @property
    def preview(self) -> Callable[..., Any]: ...


def open_table(spark: SparkSession, dataset: Dataset, path: Path) -> Table:
    """The dataset's table, as the library opens it."""
    from lakebed.table import table  # noqa: PLC0415  without anything new, Spark is not even imported

    partition_by = dataset.partition_by or ()
    return table(
        spark, str(path), feed=dataset.declared_feed, history=dataset.history, partition_by=partition_by
    )


def read_rows(spark: SparkSession, dataset: Dataset, root: Path, files: Sequence[FoundFile]) -> Rows:
    from lakebed.sources.formats import read_files  # noqa: PLC0415

    return read_files(spark, dataset, root, files)


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
    open_table: Callable[[Any, Dataset, Path], Table] = open_table
    read: Callable[[Any, Dataset, Path, Sequence[FoundFile]], Rows] = read_rows
    session: Callable[[Any], Any] = own_session
    set_for_size: Callable[[Any, Sequence[FoundFile], Path], None] = set_for_size
    pause: Callable[[float], None] = time.sleep
    stopping: Callable[[], bool] = bool  # whether to end after the batch that is under way; no by default


@dataclass
class Work:
    """One dataset in one run: all that its batches need."""

    dataset: Dataset
    store: ControlStore
    landing: Path
    path: Path
    edges: Edges
    backlog: list[FoundFile] = field(default_factory=list)  # listed, and in no plan yet
    notes: list[str] = field(default_factory=list)  # for the user, with the next batch or at the end

    @classmethod
    def of(cls, project: Project, dataset: Dataset, store: ControlStore, edges: Edges) -> Work:
        """The table lies at `<warehouse>/<database>/<table>`."""
        landing = local_folder(project.landing, setting="landing")
        warehouse = local_folder(project.warehouse, setting="warehouse")
        return cls(dataset, store, landing, warehouse.joinpath(*dataset.name.split(".")), edges)

    @property
    def name(self) -> str:
        return self.dataset.name

    @property
    def plans(self) -> PlanFiles:
        return PlanFiles.beside(self.path)

    def reopen(self) -> None:
        """Forget the opened table: the next use opens it anew."""
        self.__dict__.pop("table", None)

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

    def read(self, files: Sequence[FoundFile]) -> Rows:
        """The rows of these files, in a session that is set for their size."""
        self.edges.set_for_size(self.session, files, self.path)
        return self.edges.read(self.session, self.dataset, self.landing, files)
