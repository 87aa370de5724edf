"""Files of a batch as one DataFrame: columns by name, types as declared, and for every row where it came from.

Each file is a frame of its own, and the frames are united by name: two files with other headers, or the same columns
in another order, are never mixed up (decision 11 of docs/architecture.md). A text that does not fit its column's type
makes the row bad, never the value NULL (G5); which rows are bad is for the table to judge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import reduce

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DataType,
    DateType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from lakebed.errors import BatchError
from lakebed.history.columns import BAD, FILE, FROM_SOURCE, LINE, POSITION, RAW, col, find
from lakebed.history.types import reconcile
from lakebed.manifest import Dataset, Dms, LandingFiles
from lakebed.manifest.sources import MOST_FILES
from lakebed.sources import encodings, envelopes
from lakebed.sources.batches import EPOCH, may_set_aside
from lakebed.sources.declared import BAD_CAST, UNREADABLE, Reader, fields_of, typed
from lakebed.sources.envelopes import dms_files
from lakebed.sources.first_bytes import (
    Start,
    first_names,
    first_record,
    has_mark,
    line_end,
    read_header,
    starts_with,
    unnamed,
)
from lakebed.sources.folders import Folder, FoundFile
from lakebed.sources.remote_folder import escaped
from lakebed.sources.source import Rows
from lakebed.sources.spark_errors import first_sentence, unreadable_file
from lakebed.sources.uniting import united

# RFC 4180, which Spark's defaults are not: a quote is doubled, and a quoted value may hold line breaks.
CSV_DEFAULTS = {"header": "true", "multiline": "true", "escape": '"'}
# A position: the file's place in the batch, its split, the row in the split. Spark orders splits by size, not by place.
ROW_BITS, BLOCK_BITS, BLOCK_SIZE_BITS = 31, 20, 20
ONE_SPLIT = 2**BLOCK_SIZE_BITS


@dataclass
class _Reading:
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

    @property
    def where(self) -> str:
        return f"{self.dataset.name}, {self.file.path}"

    @property
    def start(self) -> Start:
        """How the file begins."""
        return Start(self.spark, self.folder.address(self.file.path), self.folder.local(self.file.path))

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


def read_files(
    spark: SparkSession,
    dataset: Dataset,
    folder: Folder,
    files: Sequence[FoundFile],
    unreadable: Mapping[str, str] | None = None,
    known: Sequence[StructField] = (),
) -> Rows:
    """The rows of these files, in this order. Nothing is read until the frame is used, but for headers and schemas. `known` are the
    columns that the table has: where types are inferred, those are kept.

    A file that cannot be read, or is known as `unreadable` (path and reason), is one bad row where bad rows are set aside,
    and fails the batch where they are not, or where no file can be read at all: then it is not the files that are wrong.
    """
    source = dataset.source
    assert isinstance(source, LandingFiles)
    if len(files) > MOST_FILES:
        raise BatchError(
            f"the snapshot has {len(files)} files, and a batch can have {MOST_FILES}",
            code="too_many_files",
            where=dataset.name,
            hint="deliver it in fewer, larger files",
        )
    given = {name.lower(): value for name, value in source.options.items()}
    options = (_csv_defaults(source) | given) if source.format == "csv" else given
    notes: list[str] = []
    readings = [
        _Reading(spark, dataset, source, folder, place, file, options, notes, known)
        for place, file in enumerate(files)
    ]
    rows = united(_set_aside(readings, [_tried(one, unreadable) for one in readings]))
    beside = {name for one in readings for name in one.in_path}
    return Rows(envelopes.unwrap(rows, dataset, beside), tuple(dict.fromkeys(notes)))


def _tried(reading: _Reading, unreadable: Mapping[str, str] | None) -> DataFrame | BatchError:
    """The file's rows, or why there are none."""
    known = (unreadable or {}).get(reading.file.path)
    try:
        if known is None:
            return _one(reading)
    except BatchError as error:
        return error
    except (PySparkException, Py4JError) as error:
        known = first_sentence(error)
    return unreadable_file(known, reading.where)


def _set_aside(readings: Sequence[_Reading], tried: Sequence[DataFrame | BatchError]) -> list[DataFrame]:
    """The frames, and in place of each that could not be had a frame with one bad row, which says why (G5)."""
    errors = [one for one in tried if isinstance(one, BatchError)]
    allowed = may_set_aside(readings[0].dataset) and len(errors) < len(tried)
    if errors and not allowed:
        raise errors[0]
    frames = []
    for reading, one in zip(readings, tried, strict=True):
        if isinstance(one, BatchError):
            reading.notes.append(f"{reading.file.path} was set aside: {one.what}")
            one = _aside(reading, one)  # noqa: PLW2901
        frames.append(one)
    return frames


def _aside(reading: _Reading, error: BatchError) -> DataFrame:
    spark, position = reading.spark, reading.place << (BLOCK_BITS + ROW_BITS)
    marks: dict[str, Column] = {
        FILE: F.lit(reading.file.path),
        LINE: F.lit(None).cast("bigint"),
        POSITION: F.lit(position).cast("bigint"),
        RAW: F.lit(f"(the whole file) {error.what}"),
        BAD: F.lit(UNREADABLE),
    }
    row = spark.range(1).select(*[value.alias(name) for name, value in marks.items()])
    return envelopes.one_file(row, reading.dataset, reading.modified)


def _csv_defaults(source: LandingFiles) -> dict[str, str]:
    """DMS tells by the first record whether there is a header, so nothing is said of it beforehand."""
    if not isinstance(source.envelope, Dms):
        return CSV_DEFAULTS
    return {name: value for name, value in CSV_DEFAULTS.items() if name != "header"} | dms_files.CSV_DEFAULTS


def _one(reading: _Reading) -> DataFrame:
    reader = {"csv": _csv, "json": _json, "ndjson": _json}.get(reading.source.format, _columnar)
    frame = (_lines if envelopes.reads_lines(reading.dataset) else reader)(reading)
    frame = envelopes.one_file(frame, reading.dataset, reading.modified)
    data = [col(name) for name in frame.columns if name not in FROM_SOURCE]
    path_columns, misfit = _path_columns(reading, frame)
    bad, raw = F.col(BAD), F.col(RAW)
    if misfit is not None:
        bad = F.coalesce(bad, F.lit(BAD_CAST))
        raw = F.coalesce(raw, F.lit(f"(the path) {misfit}"))
    marks = [
        F.lit(reading.file.path).alias(FILE),
        F.col(LINE),
        F.col(POSITION),
        raw.alias(RAW),
        bad.alias(BAD),
    ]
    return frame.select(*data, *path_columns, *marks)


def _load(reading: _Reading, schema: StructType | None, **more: str) -> DataFrame:
    """The file as Spark reads it, and each row's place, taken before anything can move the row."""
    format_ = "json" if reading.source.format == "ndjson" else reading.source.format
    reader = reading.spark.read.format(format_).options(**{**reading.options, **more})
    frame = (reader.schema(schema) if schema else reader).load(escaped(reading.start.address))
    return frame.withColumns({LINE: _line(reading), POSITION: _position(reading.place)})


def _csv(reading: _Reading) -> DataFrame:
    """Every column as text first; what a declared type makes of it is decided, and judged, here."""
    if isinstance(reading.source.envelope, Dms):
        reading, names = _laid_out(reading)
    else:
        names = _csv_names(reading)
    if names is None:
        return _empty(reading)
    texts = StructType([StructField(name, StringType()) for name in [*names, RAW]])
    how = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": RAW, "inferSchema": "false"}
    if checked := encodings.is_checked(reading.options, marked=has_mark(reading.start)):
        how["encoding"] = encodings.BYTES
    parted = reading.options["multiline"].lower() == "true" and "linesep" not in reading.options
    if parted:
        how["lineSep"] = line_end(reading.start)
    frame = _load(reading, texts, **how).withColumn(RAW, _raw_text(names))
    frame = encodings.decoded(frame, names) if checked else frame
    frame = _without_returns(reading, frame, names) if parted else frame
    if reading.declared is None and reading.options.get("inferschema", "false").lower() == "true":
        return _typed(reading, frame, [_kept(reading, f) for f in _inferred(reading, names)])
    return _typed(reading, frame, reading.declared)


def _without_returns(reading: _Reading, frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Records end with a line feed, whatever the file's first line ends with: Spark, left alone, would take that for all of them. The
    carriage return before one is no part of the last value, nor is a line that has nothing else a record."""
    last, null = col(names[-1]), reading.options.get("nullvalue", "")
    text = F.regexp_replace(last, r"\r\z", "")
    ended = F.coalesce(last.endswith("\r"), F.lit(False))
    value = F.when(~ended, last).when(~text.isin("", null), text)
    blank = reduce(lambda one, name: one & col(name).isNull(), names[1:], col(names[0]) == "\r")
    return frame.where(~F.coalesce(blank, F.lit(False))).withColumn(names[-1], value)


def _kept(reading: _Reading, seen: StructField) -> StructField:
    """A column whose type was inferred, in the type that it has from now on: the table's, unless that can be widened to what was
    seen (G9). What does not fit it makes its row bad."""
    name = find(seen.name, [f.name for f in reading.known])
    if name is None:
        return seen
    known = next(f.dataType for f in reading.known if f.name == name)
    feed = reading.dataset.feed
    fixed = [*getattr(feed, "key", ()), *getattr(feed, "order_by", ())]
    widens = find(name, fixed) is None and reconcile(known, seen.dataType) is not None
    return seen if widens else StructField(seen.name, known)


def _laid_out(reading: _Reading) -> tuple[_Reading, list[str] | None]:
    """A file of DMS, with a header or without, with the operation or, of a first load, without it."""
    envelope = reading.source.envelope
    assert isinstance(envelope, Dms)
    first = first_record(reading.start, {**reading.options, "header": "false"}, where=reading.where)
    if first is None:
        return reading, None
    said = reading.options.get("header")
    layout = dms_files.csv_layout(
        first,
        _not_in_path(reading, [f.name for f in reading.declared or () if f.name != envelope.operation]),
        envelope.operation,
        header=None if said is None else said.lower() == "true",
        of_changes=not dms_files.is_load(reading.file.path),
        where=reading.where,
    )
    options = {**reading.options, "header": str(layout.header).lower()}
    return replace(reading, options=options), list(layout.names)


def _lines(reading: _Reading) -> DataFrame:
    """Each line as a text, for an envelope to take apart."""
    reader = reading.spark.read.format("text")
    frame = reader.load(escaped(reading.start.address))
    marks = {LINE: _line(reading), POSITION: _position(reading.place)}
    frame = frame.withColumns(marks).withColumnRenamed("value", RAW)
    return frame.withColumn(BAD, F.lit(None).cast("string"))


def _inferred(reading: _Reading, names: Sequence[str]) -> list[StructField]:
    """The types Spark sees in the file; they are then held to as declared ones are."""
    seen = _load(reading, None).drop(LINE, POSITION).schema
    return [StructField(name, f.dataType) for name, f in zip(names, seen, strict=True)]


def _csv_names(reading: _Reading) -> list[str] | None:
    if reading.options["header"].lower() == "true":
        return read_header(reading.start, reading.options, where=reading.where)
    first = first_record(reading.start, reading.options, where=reading.where)
    if first is None:
        return None
    if reading.declared is not None:
        names = [f.name for f in reading.declared]
        return names if len(first) >= len(names) else _not_in_path(reading, names)
    return [unnamed(place) for place in range(len(first))]


def _not_in_path(reading: _Reading, names: Sequence[str]) -> list[str]:
    """Those that must be in the file itself."""
    return [name for name in names if find(name, reading.in_path) is None]


def _empty(reading: _Reading) -> DataFrame:
    """A file without even a header is a file without rows, if the manifest tells the columns."""
    if reading.declared is None:
        raise BatchError(
            "the file is empty, so its columns are not known",
            code="unreadable_file",
            where=reading.where,
            hint="declare them: source.schema",
        )
    marks = "_lb_raw string, _lb_bad string, _lb_line bigint, _lb_position bigint"
    fields = [*reading.declared, *fields_of(marks)]
    return reading.spark.createDataFrame([], StructType(fields))


def _raw_text(names: Sequence[str]) -> Column:
    """The corrupt-record column. Spark refuses a query that needs this column and no other, and which one a later step
    needs is not known here; so it always takes the first letters, none of them, of another column along."""
    nothing = F.substring(F.coalesce(col(names[0]).cast("string"), F.lit("")), 1, 0)
    return F.concat(F.col(RAW), nothing)


def _json(reading: _Reading) -> DataFrame:
    """One object a line; a file of `format: json` may also be one array of objects."""
    may_be_array = reading.source.format == "json" and "multiline" not in reading.options
    if may_be_array and starts_with(reading.start, b"[", where=reading.where):
        reading = replace(reading, options={**reading.options, "multiline": "true"})
    how = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": RAW}
    if reading.declared is not None:
        schema = _json_schema(reading, reading.declared, how)
        frame = _load(reading, StructType([*schema, StructField(RAW, StringType())]), **how)
        return _typed(reading, frame.withColumn(RAW, _raw_text([f.name for f in schema])), reading.declared)
    if reading.dataset.feed.on_missing_column == "null":
        how["dropFieldIfAllNull"] = "true"  # Spark would call it a text, whatever it is in other files
    frame = _load(reading, None, **how)
    seen = [f for f in frame.schema if f.name not in FROM_SOURCE]
    names = [f.name for f in seen]
    if not names:
        raise BatchError(
            "the file has no readable record, so its columns are not known",
            code="unreadable_file",
            where=reading.where,
            hint="is it JSON, one object a line? Declare the columns, or set options: {multiLine: true}",
        )
    kept = [_kept(reading, f) for f in seen]
    if kept != seen:  # as texts: a number with a fraction would become a whole one
        texts = [f if f in seen else StructField(f.name, StringType()) for f in kept]
        frame = _load(reading, StructType([*texts, StructField(RAW, StringType())]), **how)
        return _typed(reading, frame.withColumn(RAW, _raw_text(names)), kept)
    raw = _raw_text(names) if RAW in frame.columns else F.lit(None).cast("string")
    return _typed(reading, frame.withColumn(RAW, raw), None)


def _json_schema(
    reading: _Reading, declared: Sequence[StructField], how: Mapping[str, str]
) -> list[StructField]:
    """What Spark is told to look for: names as the file spells them, since it goes by case; times as texts, to be judged as those of
    other formats are; without the columns of the path, which it would give as NULL, and without those that no record has, where
    that has a meaning of its own (G9)."""
    inside = _not_in_path(reading, [f.name for f in declared])
    spelled = first_names(reading.start, where=reading.where)
    everywhere = set(inside) <= set(spelled)
    if (
        not everywhere
    ):  # later records may have what the first one lacks, in any spelling: it takes a pass to tell
        spelled = [name for name in _load(reading, None, **how).columns if name not in FROM_SOURCE]
    times = (DateType, TimestampType, TimestampNTZType)
    schema = [
        StructField(
            find(f.name, spelled) or f.name, StringType() if isinstance(f.dataType, times) else f.dataType
        )
        for f in declared
        if f.name in inside
    ]
    if everywhere or reading.dataset.feed.on_missing_column == "null":
        return schema
    return [f for f in schema if f.name in spelled] or schema


def _columnar(reading: _Reading) -> DataFrame:
    """Parquet and ORC know their own types."""
    return _typed(reading, _load(reading, None).withColumn(RAW, F.lit(None).cast("string")), reading.declared)


def _typed(reading: _Reading, frame: DataFrame, declared: list[StructField] | None) -> DataFrame:
    return typed(frame, declared, Reader(reading.where, reading.options, reading.notes))


def _path_columns(reading: _Reading, frame: DataFrame) -> tuple[list[Column], str | None]:
    """`country=DE/` in the path is the column country, unless the file has it itself; and the one, if any, that does not fit
    its declared type."""
    misfit = None
    wanted = {f.name: f.dataType for f in reading.declared or ()}
    columns: list[Column] = []
    for name, value in reading.in_path.items():
        if find(name, frame.columns):
            continue
        declared = find(name, wanted)
        kind = wanted[declared] if declared else StringType()
        if value is not None and not isinstance(kind, StringType) and not _fits(reading.spark, value, kind):
            misfit, value = f"{name}={value}", None  # noqa: PLW2901
        columns.append(F.lit(value).cast(kind).alias(declared or name))
    return columns, misfit


def _fits(spark: SparkSession, value: str, kind: DataType) -> bool:
    found = spark.range(1).select(F.lit(value).try_cast(kind).isNotNull()).first()
    return found is not None and bool(found[0])


def _line(reading: _Reading) -> Column:
    """The record's number in its file, the header counted; known where Spark reads the file in one piece."""
    whole = reading.options.get("multiline", "false").lower() == "true" or reading.file.size < ONE_SPLIT
    if reading.source.format not in ("csv", "json", "ndjson") or not whole:
        return F.lit(None).cast("bigint")
    first = 2 if reading.options.get("header", "false").lower() == "true" else 1
    return _row_in_partition() + F.lit(first)


def _row_in_partition() -> Column:
    return F.monotonically_increasing_id().bitwiseAND(F.lit(2**33 - 1))


def _position(place: int) -> Column:
    block = F.shiftright(F.col("_metadata.file_block_start"), BLOCK_SIZE_BITS)
    return (
        F.lit(place << (BLOCK_BITS + ROW_BITS)).cast("bigint")
        + F.shiftleft(block.cast("bigint"), ROW_BITS)
        + _row_in_partition()
    )
