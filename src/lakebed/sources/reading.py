"""One file of a batch while it is read: what is known of it beforehand, and the steps that all formats share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from lakebed.history.columns import BAD, LINE, POSITION, RAW, col, find
from lakebed.history.types import plain, reconcile
from lakebed.manifest import Dataset, Dms, LandingFiles
from lakebed.sources.batches import EPOCH
from lakebed.sources.declared import Reader, fields_of, typed
from lakebed.sources.encodings import named_encoding
from lakebed.sources.first_bytes import Start, starts_with
from lakebed.sources.folders import Folder, FoundFile
from lakebed.sources.remote_folder import escaped

# A position: the file's place in the batch, its split, the row in the split. Spark orders splits by size, not by place.
ROW_BITS, BLOCK_BITS, BLOCK_SIZE_BITS = 31, 20, 20
ONE_SPLIT = 2**BLOCK_SIZE_BITS
FIRST_LINE = 2  # of the records behind a header


@dataclass
class Reading:
    """What reading one file needs to know."""

    spark: SparkSession
    dataset: Dataset
    source: LandingFiles
    folder: Folder
    place: int
    file: FoundFile
    options: Mapping[str, str]
    notes: list[str] = field(default_factory=list)
    known: Sequence[StructField] = ()  # columns that the table has
    looked_for: list[str] = field(
        default_factory=list
    )  # of JSON: the names as Spark is told them, or saw them

    @property
    def where(self) -> str:
        return f"{self.dataset.name}, {self.file.path}"

    @property
    def start(self) -> Start:
        """How the file begins."""
        return Start(self.spark, self.folder.address(self.file.path), self.folder.local(self.file.path))

    @cached_property
    def is_one_value(self) -> bool:
        """Of JSON: whether Spark takes the whole file for one value, and not each line."""
        if self.source.format == "ndjson" or "multiline" in self.options:
            return self.options.get("multiline", "false").lower() == "true"
        return starts_with(self.start, "[", encoding=named_encoding(self.options), where=self.where)

    @property
    def modified(self) -> datetime:
        return EPOCH + timedelta(microseconds=self.file.modified_ns // 1000)

    @property
    def in_path(self) -> dict[str, str | None]:
        """The columns that the file's path tells, and their values."""
        return self.source.pattern.values(self.file.path)

    @property
    def declared(self) -> list[StructField] | None:
        """The columns of the manifest; of DMS the operation before them."""
        if self.source.schema_ is None:
            return None
        envelope = self.source.envelope
        operation = [StructField(envelope.operation, StringType())] if isinstance(envelope, Dms) else []
        return [*operation, *fields_of(self.source.schema_)]


def load(reading: Reading, schema: StructType | None, **more: str) -> DataFrame:
    """The file as Spark reads it, and each row's place, taken before anything can move the row."""
    format_ = "json" if reading.source.format == "ndjson" else reading.source.format
    reader = reading.spark.read.format(format_).options(**{**reading.options, **more})
    frame = (reader.schema(schema) if schema else reader).load(escaped(reading.start.address))
    return frame.withColumns({LINE: line_number(reading), POSITION: position(reading.place)})


def not_in_path(reading: Reading, names: Sequence[str]) -> list[str]:
    """Those that must be in the file itself."""
    return [name for name in names if find(name, reading.in_path) is None]


def raw_text(names: Sequence[str]) -> Column:
    """The corrupt-record column. Spark refuses a query that needs this column and no other, and which one a later step
    needs is not known here; so it always takes the first letters, none of them, of another column along."""
    nothing = F.substring(F.coalesce(col(names[0]).cast("string"), F.lit("")), 1, 0)
    return F.concat(F.col(RAW), nothing)


def typed_rows(reading: Reading, frame: DataFrame, declared: list[StructField] | None) -> DataFrame:
    return typed(frame, declared, Reader(reading.where, reading.options, reading.notes))


def kept_type(reading: Reading, seen: StructField) -> StructField:
    """A column whose type was inferred, in the type that it has from now on: the table's, unless that can be widened to what was
    seen (G9). What does not fit it makes its row bad."""
    name = find(seen.name, [f.name for f in reading.known])
    if name is None:
        return seen
    known = next(f.dataType for f in reading.known if f.name == name)
    feed = reading.dataset.feed
    fixed = [*getattr(feed, "key", ()), *getattr(feed, "order_by", ())]
    wider = None if find(name, fixed) else reconcile(known, seen.dataType)
    # A text takes anything, and is not what was seen: a number would have lost the zeros it began with.
    return StructField(seen.name, known) if wider in (None, plain(known)) else seen


def no_rows(reading: Reading, columns: Sequence[StructField]) -> DataFrame:
    """A file without a record, as a frame with these columns and what every reader adds."""
    marks = fields_of(f"{RAW} string, {BAD} string, {LINE} bigint, {POSITION} bigint")
    return reading.spark.createDataFrame([], StructType([*columns, *marks]))


def line_number(reading: Reading) -> Column:
    """The record's number in its file, the header counted; known where Spark reads the file in one piece."""
    whole = reading.options.get("multiline", "false").lower() == "true" or reading.file.size < ONE_SPLIT
    if reading.source.format not in ("csv", "json", "ndjson") or not whole:
        return F.lit(None).cast("bigint")
    first = FIRST_LINE if reading.options.get("header", "false").lower() == "true" else 1
    return _row_in_partition() + F.lit(first)


def _row_in_partition() -> Column:
    return F.monotonically_increasing_id().bitwiseAND(F.lit(2**33 - 1))


def position(place: int) -> Column:
    block = F.shiftright(F.col("_metadata.file_block_start"), BLOCK_SIZE_BITS)
    return (
        F.lit(place << (BLOCK_BITS + ROW_BITS)).cast("bigint")
        + F.shiftleft(block.cast("bigint"), ROW_BITS)
        + _row_in_partition()
    )
