"""What the runner knows of a source: it finds what is new, decides the next batch, and reads it. One file per source.

An *input* is one thing that a batch reads: a file, a query at a moment, a range of offsets. Each source has its own class
for it. What a plan keeps of an input are three values: a path that names it, a size, a time; together they say which
input it is, and a source makes its own class of them again. A batch is planned, and the plan stored, before any of it is
read; so whatever a source must remember to read the same thing again has to be in these three.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructField


@dataclass(frozen=True)
class Rows:
    """A batch as read, lazily, and what a person should know about the reading."""

    frame: DataFrame
    notes: tuple[str, ...] = ()


class Input(Protocol):
    """One thing that a batch reads, as a plan keeps it."""

    @property
    def path(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def modified_ns(self) -> int: ...


I = TypeVar("I", bound=Input)  # noqa: E741 - an input, as in the name


class Bookmarks(Protocol):
    """What a dataset has taken before; the control store tells."""

    def not_taken(self, inputs: Sequence[I]) -> list[I]:
        """Those that no batch has, and nobody has skipped, in their order."""
        ...

    def taken_paths(self, paths: Iterable[str]) -> dict[str, int]:
        """Those of the paths that a batch has, whatever size and time they had then, with its number."""
        ...

    def known_paths(self) -> Mapping[str, int | None]:
        """All paths that a batch has, with its number, and those that were only ever skipped, with None. Also of inputs that are
        no longer there; there may be very many."""
        ...

    def last_planned(self) -> datetime | None:
        """The system time of the newest batch."""
        ...


@dataclass(frozen=True)
class Look:
    """What a source may use when it looks for something new. `asked` tells that somebody wants a run now, and that this is
    not only a glance."""

    bookmarks: Bookmarks
    now: Callable[[], datetime]
    pause: Callable[[float], None]
    asked: bool = True
    notes: list[str] = field(default_factory=list)


class Source(Protocol[I]):
    """Where the rows of one dataset come from, for the time of one run."""

    @property
    def immutable(self) -> bool:
        """Whether an input gives the same rows whenever it is read."""
        ...

    @property
    def needs_spark(self) -> bool:
        """Whether Spark must run for a look."""
        ...

    def input(self, path: str, size: int, modified_ns: int) -> I:
        """An input as a plan has kept it."""
        ...

    def new(self, look: Look) -> list[I]:
        """All that is there and in no batch yet. Looks only."""
        ...

    def ready(self, new: Sequence[I], look: Look) -> list[I]:
        """Those of the new ones that may be taken now, in the order in which they are to be."""
        ...

    def next_batch(self, ready: Sequence[I]) -> list[I]:
        """The inputs of the next batch, in the order of their rows; none if there are none. `ready` is in the order in which
        the method of that name gave them, without those that earlier batches have."""
        ...

    def event_time(self, batch: Sequence[I]) -> datetime | None:
        """The event time of a batch, as far as the inputs themselves tell it (G3)."""
        ...

    def check(self, batch: Sequence[I]) -> None:
        """Refuse inputs that are no longer those that were planned (G10)."""
        ...

    def read(self, spark: SparkSession, batch: Sequence[I], known: Sequence[StructField] = ()) -> Rows:
        """The rows, nothing computed yet. `known` are the columns that the table has, for sources that infer types."""
        ...

    def errors(self) -> AbstractContextManager[None]:
        """Around all that reads the rows: Spark's errors that come from this source, in the user's words."""
        ...

    def remarks(self) -> list[str]:
        """What a person should know of the last look, such as names that nearly fit."""
        ...


AnySource = Source[Any]
