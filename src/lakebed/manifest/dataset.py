"""One dataset: where its rows come from, what they mean, what the table keeps. The model of `datasets/*.yaml`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from lakebed.errors import OptionsError
from lakebed.manifest.envelope_checks import check_envelope
from lakebed.manifest.envelopes import with_envelope
from lakebed.manifest.explain import Explained, found_text, nearest
from lakebed.manifest.feeds import Append, EventTimeColumn, Feed, Snapshot
from lakebed.manifest.histories import AnyFeed, History, check_combination, name_taken
from lakebed.manifest.options import Columns, Size, Strict, lower, wrong
from lakebed.manifest.partitions import Partitions
from lakebed.manifest.patterns import PARTITIONS
from lakebed.manifest.sources import FromColumn, FromMessage, FromPath, LandingFiles, Source

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\.[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_NAME = 128
_PART_OF_NAME = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


def _name(name: str) -> str:
    """`database.table`; a part in braces, such as `{table}`, stands for whatever the path has there."""
    plain = _PART_OF_NAME.sub("x", name)
    if not _NAME.fullmatch(plain) or len(name) > _LONGEST_NAME:
        raise wrong(f"expected `database.table`, each of letters, digits and _, found {found_text(name)}")
    if "__" in plain.partition(".")[2]:
        raise wrong(
            f"a table name with two _ in a row is kept for lakebed's own tables, found {found_text(name)}"
        )
    return name


DatasetName = Annotated[str, AfterValidator(_name)]


TARGET_SIZE = 128 * 2**20


class Files(Strict):
    """D15. How many files a write makes: by size, or a number of them per partition."""

    target_size: Size | None = None
    count: Annotated[int, Field(ge=1)] | None = None
    by: Columns = ()

    @model_validator(mode="after")
    def _one_way(self) -> Files:
        if self.target_size is not None and self.count is not None:
            raise wrong("target_size and count contradict each other: give one of them (D15)")
        if self.by and self.count is None:
            raise wrong("'by' needs a 'count' beside it (D15)")
        return self


class Dataset(Strict):
    """An ingested dataset."""

    name: DatasetName = Field(alias="dataset")
    source: Source
    feed: Feed
    history: History
    partition_by: Partitions | None = None
    files: Files = Files(target_size=TARGET_SIZE)

    @property
    def partition_columns(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.partition_by or ())

    @property
    def name_parts(self) -> tuple[str, ...]:
        """The parts of paths that the name is made of; none for a dataset of its own, some for a template of many."""
        return tuple(_PART_OF_NAME.findall(self.name))

    def made_of(self, parts: Mapping[str, str]) -> Dataset:
        """The dataset that this template is for these parts of a path. Raises pydantic's ValidationError where no name can
        be made of them."""
        name = _PART_OF_NAME.sub(lambda part: parts[part[1]], self.name)
        written = self.model_dump(by_alias=True, exclude_unset=True)
        assert isinstance(self.source, LandingFiles)
        files = self.source.pattern.fixed(parts)
        return Dataset.model_validate(
            written | {"dataset": name, "source": {**written["source"], "files": files}}
        )

    @property
    def declared_feed(self) -> AnyFeed:
        """The feed with all that the source says of its rows: the event-time column, and what the envelope tells."""
        return with_envelope(self.timed_feed, self.source.envelope)

    @property
    def timed_feed(self) -> AnyFeed:
        """The feed with the event-time column that the source may name."""
        time = self.source.event_time
        if not isinstance(time, FromColumn):
            return self.feed
        return self.feed.model_copy(
            update={"event_time": EventTimeColumn(column=time.column, format=time.format)}
        )


def check_dataset(dataset: Dataset) -> Iterator[Explained]:
    """What no field can tell alone: do the parts of a dataset fit together?"""
    try:
        check_combination(dataset.declared_feed, dataset.history)
    except OptionsError as error:
        where = ("history", "kind") if error.code == "unsupported_combination" else ("history", "track")
        yield Explained(where, error.what, error.hint, code=error.code)
    yield from _check_template(dataset)
    if isinstance(dataset.source, LandingFiles):
        yield from _check_path_time(dataset.source)
        yield from _check_snapshot_unit(dataset, dataset.source)
        yield from check_envelope(dataset, dataset.source)
        if dataset.source.format != "csv" and "short_records" in dataset.source.model_fields_set:
            what = f"only records of csv can be short, and the format is {dataset.source.format}"
            yield Explained(("source", "short_records"), what, "take the option out")
    elif isinstance(dataset.feed, Append):
        what = "a query gives the complete state again and again, and 'append' would take it for new facts each time"
        yield Explained(("feed", "kind"), what, "use snapshot; or ledger, updates or changes")
    if dataset.source.event_time is not None and dataset.feed.event_time is not None:
        what = "the event time is given twice: here and in 'source.event_time'"
        yield Explained(("feed", "event_time"), what, "take one of them out")
    yield from _check_columns(dataset)
    yield from _check_own_names(dataset)


def _check_template(dataset: Dataset) -> Iterator[Explained]:
    formats = dataset.source.pattern.formats if isinstance(dataset.source, LandingFiles) else {}
    for part in dataset.name_parts:
        if part not in formats or formats[part] is not None or part == PARTITIONS:
            known = [name for name, format_ in formats.items() if format_ is None and name != PARTITIONS]
            what = f"'source.files' has no part {{{part}}} without a format; it has: {', '.join(known) or 'none'}"
            yield Explained(("dataset",), what, nearest(part, known))


def _check_path_time(source: LandingFiles) -> Iterator[Explained]:
    time, here = source.event_time, ("source", "event_time")
    if isinstance(time, FromMessage):
        hint = "for files use {from: path, part: ...}, {from: column, column: ...}, {from: file} or {from: system}"
        yield Explained((*here, "from"), "files have no messages, so their time is not available here", hint)
    if isinstance(time, FromPath):
        formats = source.pattern.formats
        if time.part not in formats:
            names = ", ".join(formats) or "none"
            what = f"'source.files' has no part {time.part!r}; its named parts are: {names}"
            yield Explained((*here, "part"), what, nearest(time.part, list(formats)))
        elif formats[time.part] is None:
            hint = f"give it one in 'source.files', such as {{{time.part}:%Y%m%d}}"
            yield Explained((*here, "part"), f"the part {time.part!r} has no format, so it is no time", hint)


def _check_snapshot_unit(dataset: Dataset, source: LandingFiles) -> Iterator[Explained]:
    unit, here = source.snapshot_unit, ("source", "snapshot_unit")
    if unit != "file" and not isinstance(dataset.feed, Snapshot):
        yield Explained(here, f"a feed of kind {dataset.feed.kind} has no snapshots", "take the option out")
    if unit == "time" and not isinstance(source.event_time, FromPath):
        what = "files of one time are one snapshot, but the time is not in their names"
        yield Explained(here, what, "add source.event_time: {from: path, part: ...}")


def _check_columns(dataset: Dataset) -> Iterator[Explained]:
    """Columns that an option names, against the schema where there is one."""
    source = dataset.source
    if source.columns is None:
        return
    known = [column.name for column in source.columns]
    if isinstance(source, LandingFiles):
        if PARTITIONS in source.pattern.formats:
            return
        known += source.pattern.columns
    for path, name in _named_columns(dataset):
        if name.lower() not in lower(known):
            what = f"the column {name!r} is not in 'source.schema'"
            yield Explained(path, what, nearest(name, lower(known)))


def _check_own_names(dataset: Dataset) -> Iterator[Explained]:
    time, hidden = dataset.timed_feed.event_time_column, lower(dataset.declared_feed.except_columns)
    for column in dataset.source.columns or ():
        taken = name_taken(dataset.history, column.name, time.column if time else None)
        if taken and column.name.lower() not in hidden:
            yield Explained(("source", "schema"), *taken)


def _named_columns(dataset: Dataset) -> Iterator[tuple[tuple[str | int, ...], str]]:
    options: dict[tuple[str, str], Any] = {
        (part, option): getattr(getattr(dataset, part), option, None)
        for part, option in (
            ("feed", "key"), ("feed", "order_by"), ("feed", "except_columns"), ("feed", "ignore_nulls"), ("feed", "compare"),
            ("feed", "scope"), ("history", "track"), ("history", "track_except"),
        )
    }  # fmt: skip
    for path, names in options.items():
        if isinstance(names, (list, tuple)):
            yield from (((*path, index), name) for index, name in enumerate(names))
    singles: dict[tuple[str, ...], str | None] = {
        ("feed", "present_columns"): getattr(dataset.feed, "present_columns", None),
        ("history", "valid_from"): getattr(dataset.history, "valid_from", None),
    }
    time = dataset.timed_feed.event_time_column
    if time:
        singles[("feed", "event_time") if dataset.feed.event_time else ("source", "event_time", "column")] = (
            time.column
        )
    yield from ((path, name) for path, name in singles.items() if name is not None)
    for index, partition in enumerate(dataset.partition_by or ()):
        own = getattr(dataset.history, "own_columns", ())
        if not partition.is_made:
            yield ("partition_by", index), partition.name
        elif partition.source and partition.source.lower() not in lower(
            dataset.history.own(name) for name in own
        ):
            yield ("partition_by", index), partition.source
    yield from ((("files", "by", index), name) for index, name in enumerate(dataset.files.by))
