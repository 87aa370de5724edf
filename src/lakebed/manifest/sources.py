"""Where the rows of a dataset come from: files under the landing folder, or a query to a database. The models of `source:`."""

from __future__ import annotations

import datetime as dt
import re
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from lakebed.manifest.ddl import Column, DdlError, parse_ddl
from lakebed.manifest.envelopes import Envelope, Plain
from lakebed.manifest.explain import found_text
from lakebed.manifest.feeds import ColumnFormat
from lakebed.manifest.options import Settings, Size, Strict, Text, lower, readable, wrong
from lakebed.manifest.patterns import PathPattern, PatternError, compile_pattern

_DURATION = re.compile(r"([1-9][0-9]*) ?(s|m|h|d)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
# Options of Spark's readers that would pass over files or rows, or say what something else here says.
_OTHERWISE = {
    **dict.fromkeys(
        ("pathglobfilter", "recursivefilelookup", "basepath"), "which files are taken is said by 'files'"
    ),
    **dict.fromkeys(("modifiedbefore", "modifiedafter"), "every file is taken once, whatever its time"),
    **dict.fromkeys(
        ("ignorecorruptfiles", "ignoremissingfiles"),
        "a file that cannot be read is told, and set aside where 'on_bad_rows' says so",
    ),
    **dict.fromkeys(
        ("mode", "columnnameofcorruptrecord"), "what becomes of bad rows is said by 'on_bad_rows'"
    ),
    "locale": "numbers are read with a point; declare a column as string where it has others",
}
PARTITIONS_READ = 4
MOST_FILES = 4096  # in one batch: a row's position has room for so many


def _marker(name: str) -> str:
    if not name.strip() or "/" in name or name in (".", ".."):
        raise wrong(f"expected the name of a file such as _SUCCESS, found {found_text(name)}")
    return name


def _duration(value: object) -> object:
    if isinstance(value, dt.timedelta):
        return value
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if not found:
        raise wrong(f"expected a time such as 30s, 15m, 6h or 1d, found {found_text(value)}")
    return dt.timedelta(seconds=int(found[1]) * _SECONDS[found[2]])


def _jdbc_url(url: str) -> str:
    if not re.match(r"jdbc:[a-z0-9]+:", url):
        raise wrong("expected an address such as jdbc:postgresql://host:5432/database")
    return url


def _known_encoding(name: str) -> None:
    try:
        "".encode(name)
    except (LookupError, ValueError):
        raise wrong(f"there is no encoding {name!r}: expected a name such as windows-1252") from None


def _bound(value: object) -> object:
    """A number, or a day or time as text: Spark reads it in the type of the column."""
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise wrong(f"expected a whole number, or a day or time as text, found {found_text(value)}")
    return str(value)


Duration = Annotated[
    dt.timedelta, BeforeValidator(_duration), WithJsonSchema({"type": "string", "examples": ["6h"]})
]
Bound = Annotated[str, BeforeValidator(_bound), WithJsonSchema({"type": ["string", "integer"]})]
Ddl = Annotated[str, readable(parse_ddl, DdlError, "the schema cannot be used: {why}")]


class FromPath(Strict):
    """A named part of the file's path, with a format."""

    from_: Literal["path"] = Field(default="path", alias="from")
    part: Text


class FromColumn(Strict):
    """A column of the rows."""

    from_: Literal["column"] = Field(default="column", alias="from")
    column: Text
    format: ColumnFormat | None = None


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


class _Source(Strict):
    """What every source has."""

    schema_: Ddl | None = Field(default=None, alias="schema")

    @cached_property
    def columns(self) -> tuple[Column, ...] | None:
        """The declared columns; None where the source tells."""
        return parse_ddl(self.schema_) if self.schema_ is not None else None


class LandingFiles(_Source):
    """Files under the landing folder."""

    files: Annotated[str, readable(compile_pattern, PatternError, "the pattern cannot be used: {why}")]
    format: Literal["csv", "json", "ndjson", "parquet", "orc"]
    options: Settings = Field(default_factory=dict)
    envelope: Envelope = Plain()
    event_time: SourceEventTime | None = None
    snapshot_unit: Literal["file", "folder", "time"] = "file"
    max_files: Annotated[int, Field(ge=1, le=MOST_FILES)] = 100
    max_bytes: Size = 4 * 2**30
    on_changed_file: Literal["fail", "reload", "ignore"] = "fail"
    wait_for: Annotated[str, AfterValidator(_marker)] | None = None
    short_records: Literal["bad", "fill"] = "bad"

    @field_validator("options")
    @classmethod
    def _meant(cls, options: dict[str, str]) -> dict[str, str]:
        for name, value in options.items():
            if name.lower() in _OTHERWISE:
                raise wrong(f"the option {name!r} cannot be used: {_OTHERWISE[name.lower()]}")
            if name.lower() in ("encoding", "charset"):
                _known_encoding(value)
        return options

    @cached_property
    def pattern(self) -> PathPattern:
        return compile_pattern(self.files)


class Jdbc(Strict):
    """A database, and what to ask it for. Address and password are never shown."""

    url: Annotated[Text, AfterValidator(_jdbc_url)] = Field(repr=False)
    table: Text | None = None
    query: Text | None = None
    user: Text | None = None
    password: Text | None = Field(default=None, repr=False)
    driver: Text | None = None
    partition_column: Text | None = None
    lower: Bound | None = None
    upper: Bound | None = None
    partitions: Annotated[int, Field(ge=1, le=1000)] = PARTITIONS_READ
    fetch_size: Annotated[int, Field(ge=1)] = 10_000
    every: Duration | None = None
    options: Settings = Field(default_factory=dict)

    @field_validator("options")
    @classmethod
    def _others(cls, options: dict[str, str]) -> dict[str, str]:
        own = {"url", "dbtable", "query", "user", "password", "driver", "partitioncolumn", "lowerbound", "upperbound", "numpartitions", "fetchsize"}  # fmt: skip
        taken = next((name for name in options if name.lower() in own), None)
        if taken:
            raise wrong(f"the option {taken!r} has a name of its own here: take it out of 'options'")
        return options

    @model_validator(mode="after")
    def _one_question(self) -> Jdbc:
        if (self.table is None) == (self.query is None):
            raise wrong("expected either 'table' or 'query', one of them")
        if (self.lower is None) != (self.upper is None):
            raise wrong("'lower' and 'upper' belong together: give both, or none to have them looked up")
        if self.partition_column is None and ("partitions" in self.model_fields_set or self.lower):
            raise wrong("'partitions', 'lower' and 'upper' need a 'partition_column'")
        return self

    @property
    def is_postgresql(self) -> bool:
        return self.url.startswith("jdbc:postgresql:")


class JdbcQuery(_Source):
    """A complete state by query, each time it is asked for."""

    jdbc: Jdbc
    event_time: Annotated[FromColumn | FromSystem, Field(discriminator="from_")] | None = None

    @property
    def envelope(self) -> Plain:
        return Plain()


AnySource = LandingFiles | JdbcQuery


def _form(value: Any) -> str:
    """Which source is meant: files, unless it says otherwise."""
    is_jdbc = "jdbc" in lower(map(str, value)) if isinstance(value, dict) else isinstance(value, JdbcQuery)
    return "JdbcQuery" if is_jdbc else "LandingFiles"


Source = Annotated[
    Annotated[LandingFiles, Tag("LandingFiles")] | Annotated[JdbcQuery, Tag("JdbcQuery")],
    Discriminator(_form),
]
