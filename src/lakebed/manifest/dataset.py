"""One dataset: where its rows come from, what they mean, what the table keeps. The model of `datasets/*.yaml`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from lakebed.errors import OptionsError
from lakebed.manifest.ddl import Column, DdlError, parse_ddl
from lakebed.manifest.envelope_checks import check_envelope
from lakebed.manifest.envelopes import Envelope, Plain, with_envelope
from lakebed.manifest.explain import Explained, found_text, nearest
from lakebed.manifest.feeds import EventTimeColumn, Feed, Snapshot
from lakebed.manifest.formats import problem_with_column_format
from lakebed.manifest.histories import AnyFeed, History, check_combination
from lakebed.manifest.options import Columns, Strict, Text, lower, wrong
from lakebed.manifest.partitions import Partitions
from lakebed.manifest.patterns import PARTITIONS, PathPattern, PatternError, compile_pattern

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\.[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_NAME = 128
_SIZE = re.compile(r"([1-9][0-9]*) ?(B|KiB|MiB|GiB)")
_UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


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


def _pattern(text: str) -> str:
    try:
        compile_pattern(text)
    except PatternError as error:
        raise wrong(f"the pattern cannot be used: {error}") from None
    return text


def _marker(name: str) -> str:
    if not name.strip() or "/" in name or name in (".", ".."):
        raise wrong(f"expected the name of a file such as _SUCCESS, found {found_text(name)}")
    return name


def _ddl(text: str) -> str:
    try:
        parse_ddl(text)
    except DdlError as error:
        raise wrong(f"the schema cannot be used: {error}") from None
    return text


def _setting(value: object) -> object:
    """A setting of Spark or of one of its readers: whatever is written, Spark gets a text."""
    if not isinstance(value, (str, int, float)):
        raise wrong(f"expected a text, a number, true or false, found {found_text(value)}")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _size(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    found = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if not found:
        raise wrong(f"expected a size such as 128MiB (B, KiB, MiB, GiB), found {found_text(value)}")
    return int(found[1]) * _UNITS[found[2]]


DatasetName = Annotated[str, AfterValidator(_name)]
Setting = Annotated[str, BeforeValidator(_setting), WithJsonSchema({"type": ["string", "number", "boolean"]})]
Settings = dict[str, Setting]
Size = Annotated[
    int,
    BeforeValidator(_size),
    PlainSerializer(int),
    WithJsonSchema({"type": ["string", "integer"], "examples": ["128MiB"]}),
]


class FromPath(Strict):
    """A named part of the file's path, with a format."""

    from_: Literal["path"] = Field(default="path", alias="from")
    part: Text


class FromColumn(Strict):
    """A column of the rows."""

    from_: Literal["column"] = Field(default="column", alias="from")
    column: Text
    format: Text | None = None

    @field_validator("format")
    @classmethod
    def _check_format(cls, format_: str | None) -> str | None:
        problem = problem_with_column_format(format_) if format_ is not None else None
        if problem:
            raise wrong(f"the format cannot be used: {problem}")
        return format_


class FromFile(Strict):
    """The file's modification time."""

    from_: Literal["file"] = Field(default="file", alias="from")


class FromSystem(Strict):
    """The batch's system time."""

    from_: Literal["system"] = Field(default="system", alias="from")


class FromMessage(Strict):
    """The message's own time: for sources that have messages."""

    from_: Literal["message"] = Field(default="message", alias="from")


SourceEventTime = Annotated[
    FromPath | FromColumn | FromFile | FromSystem | FromMessage, Field(discriminator="from_")
]


class Source(Strict):
    """Files under the landing folder."""

    files: Annotated[str, AfterValidator(_pattern)]
    format: Literal["csv", "json", "ndjson", "parquet", "orc"]
    options: Settings = Field(default_factory=dict)
    schema_: Annotated[str, AfterValidator(_ddl)] | None = Field(default=None, alias="schema")
    envelope: Envelope = Plain()
    event_time: SourceEventTime | None = None
    snapshot_unit: Literal["file", "folder", "time"] = "file"
    max_files: Annotated[int, Field(ge=1)] = 100
    max_bytes: Size = 4 * 2**30
    on_changed_file: Literal["fail", "reload", "ignore"] = "fail"
    wait_for: Annotated[str, AfterValidator(_marker)] | None = None

    @cached_property
    def pattern(self) -> PathPattern:
        return compile_pattern(self.files)

    @cached_property
    def columns(self) -> tuple[Column, ...] | None:
        """The declared columns; None where the files tell."""
        return parse_ddl(self.schema_) if self.schema_ is not None else None


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
    files: Files = Files(target_size=128 * 2**20)

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
    yield from _check_event_time(dataset)
    yield from _check_snapshot_unit(dataset)
    yield from _check_columns(dataset)
    yield from check_envelope(dataset)


def _check_template(dataset: Dataset) -> Iterator[Explained]:
    formats = dataset.source.pattern.formats
    for part in dataset.name_parts:
        if part not in formats or formats[part] is not None or part == PARTITIONS:
            known = [name for name, format_ in formats.items() if format_ is None and name != PARTITIONS]
            what = f"'source.files' has no part {{{part}}} without a format; it has: {', '.join(known) or 'none'}"
            yield Explained(("dataset",), what, nearest(part, known))


def _check_event_time(dataset: Dataset) -> Iterator[Explained]:
    time, here = dataset.source.event_time, ("source", "event_time")
    if isinstance(time, FromMessage):
        hint = "for files use {from: path, part: ...}, {from: column, column: ...}, {from: file} or {from: system}"
        yield Explained((*here, "from"), "files have no messages, so their time is not available here", hint)
    if isinstance(time, FromPath):
        formats = dataset.source.pattern.formats
        if time.part not in formats:
            names = ", ".join(formats) or "none"
            what = f"'source.files' has no part {time.part!r}; its named parts are: {names}"
            yield Explained((*here, "part"), what, nearest(time.part, list(formats)))
        elif formats[time.part] is None:
            hint = f"give it one in 'source.files', such as {{{time.part}:%Y%m%d}}"
            yield Explained((*here, "part"), f"the part {time.part!r} has no format, so it is no time", hint)
    if time is not None and dataset.feed.event_time is not None:
        what = "the event time is given twice: here and in 'source.event_time'"
        yield Explained(("feed", "event_time"), what, "take one of them out")


def _check_snapshot_unit(dataset: Dataset) -> Iterator[Explained]:
    unit, here = dataset.source.snapshot_unit, ("source", "snapshot_unit")
    if unit != "file" and not isinstance(dataset.feed, Snapshot):
        yield Explained(here, f"a feed of kind {dataset.feed.kind} has no snapshots", "take the option out")
    if unit == "time" and not isinstance(dataset.source.event_time, FromPath):
        what = "files of one time are one snapshot, but the time is not in their names"
        yield Explained(here, what, "add source.event_time: {from: path, part: ...}")


def _check_columns(dataset: Dataset) -> Iterator[Explained]:
    """Columns that an option names, against the schema where there is one."""
    if dataset.source.columns is None or PARTITIONS in dataset.source.pattern.formats:
        return
    known = [column.name for column in dataset.source.columns] + list(dataset.source.pattern.columns)
    for path, name in _named_columns(dataset):
        if name.lower() not in lower(known):
            what = f"the column {name!r} is not in 'source.schema'"
            yield Explained(path, what, nearest(name, lower(known)))


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
