"""Files of a batch as one DataFrame: columns by name, types as declared, and for every row where it came from.

Each file is a frame of its own, and the frames are united by name: two files with other headers, or the same columns
in another order, are never mixed up (decision 11 of docs/architecture.md). A text that does not fit its column's type
makes the row bad, never the value NULL (G5); which rows are bad is for the table to judge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DataType,
    StringType,
    StructField,
)

from lakebed.errors import BatchError
from lakebed.history.columns import BAD, FILE, FROM_SOURCE, LINE, POSITION, RAW, col, find
from lakebed.manifest import Dataset, Debezium, LandingFiles
from lakebed.manifest.sources import MOST_FILES
from lakebed.sources import envelopes
from lakebed.sources.batches import may_set_aside
from lakebed.sources.csv_files import csv_defaults, csv_rows
from lakebed.sources.declared import BAD_CAST, UNREADABLE
from lakebed.sources.encodings import as_java_names_it, named_encoding
from lakebed.sources.envelopes.debezium_messages import row_names
from lakebed.sources.first_bytes import first_object
from lakebed.sources.folders import Folder, FoundFile
from lakebed.sources.json_files import json_rows, nothing_unread
from lakebed.sources.reading import BLOCK_BITS, ROW_BITS, Reading, line_number, load, position, typed_rows
from lakebed.sources.remote_folder import escaped
from lakebed.sources.source import Rows
from lakebed.sources.spark_errors import first_sentence, is_about_access, out_of_reach, unreadable_file
from lakebed.sources.uniting import made_texts, united


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
    given |= {name: as_java_names_it(given[name]) for name in ("encoding", "charset") if name in given}
    options = (csv_defaults(source, given) | given) if source.format == "csv" else given
    notes: list[str] = []
    readings = [
        Reading(spark, dataset, source, folder, place, file, options, notes, known)
        for place, file in enumerate(files)
    ]
    tried = [_tried(one, unreadable) for one in readings]
    if texts := made_texts([one for one in tried if isinstance(one, DataFrame)]):
        readings = [replace(one, known=[*known, *texts]) for one in readings]
        tried = [_tried(one, unreadable) for one in readings]
    rows = united(_set_aside(readings, tried))
    beside = {name for one in readings for name in one.in_path}
    rows = envelopes.unwrap(rows, dataset, beside)
    if source.format in ("json", "ndjson") and not envelopes.reads_lines(dataset):
        read = [one for one, found in zip(readings, tried, strict=True) if isinstance(found, DataFrame)]
        for checked in nothing_unread(read):
            rows = rows.unionByName(checked, allowMissingColumns=True)
    return Rows(rows, tuple(dict.fromkeys(notes)))


def _tried(reading: Reading, unreadable: Mapping[str, str] | None) -> DataFrame | BatchError:
    """The file's rows, or why there are none."""
    known = (unreadable or {}).get(reading.file.path)
    try:
        if known is None:
            return _one(reading)
    except BatchError as error:
        return error
    except (PySparkException, Py4JError) as error:
        if is_about_access(error):
            raise out_of_reach(first_sentence(error), reading.where) from error
        known = first_sentence(error)
    return unreadable_file(known, reading.where)


def _set_aside(readings: Sequence[Reading], tried: Sequence[DataFrame | BatchError]) -> list[DataFrame]:
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


def _aside(reading: Reading, error: BatchError) -> DataFrame:
    spark, place = reading.spark, reading.place << (BLOCK_BITS + ROW_BITS)
    marks: dict[str, Column] = {
        FILE: F.lit(reading.file.path),
        LINE: F.lit(None).cast("bigint"),
        POSITION: F.lit(place).cast("bigint"),
        RAW: F.lit(f"(the whole file) {error.what}"),
        BAD: F.lit(UNREADABLE),
    }
    row = spark.range(1).select(*[value.alias(name) for name, value in marks.items()])
    return envelopes.one_file(row, reading.dataset, reading.modified)


def _one(reading: Reading) -> DataFrame:
    reader = {"csv": csv_rows, "json": json_rows, "ndjson": json_rows}.get(reading.source.format, _columnar)
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


def _lines(reading: Reading) -> DataFrame:
    """Each line as a text, for an envelope to take apart. Spark takes its bytes for UTF-8 whatever they are."""
    _note_new_fields(reading)
    frame = reading.spark.read.format("text").load(escaped(reading.start.address))
    marks = {LINE: line_number(reading), POSITION: position(reading.place)}
    encoding, text = named_encoding(reading.options), F.col("value")
    if encoding is not None:
        text, wrong = F.decode(text.cast("binary"), encoding), F.lit(False)
    else:
        text, wrong = F.make_valid_utf8(text), ~F.is_valid_utf8(text)
    unreadable = F.when(wrong, F.lit(UNREADABLE)).cast("string")
    return frame.withColumns({**marks, RAW: text, BAD: unreadable}).drop("value")


def _note_new_fields(reading: Reading) -> None:
    """A column that the source has and the manifest has not shows inside the messages only. The first one of each file is looked at, where
    that costs no job of Spark."""
    envelope = reading.source.envelope
    if reading.start.needs_spark or not isinstance(envelope, Debezium):
        return
    message = first_object(reading.start, encoding=named_encoding(reading.options), where=reading.where)
    known = [f.name for f in reading.declared or ()]
    names = row_names(message, envelope)
    new = [name for name in names if find(name, known) is None]
    if len(new) < len(names):  # else it is another kind of message
        said = "is in the messages, but not in source.schema: it is not read"
        reading.notes.extend(f"the column {name!r} {said}" for name in new)


def _columnar(reading: Reading) -> DataFrame:
    """Parquet and ORC know their own types. What is declared of an envelope's messages stands inside them."""
    declared = None if isinstance(reading.source.envelope, Debezium) else reading.declared
    return typed_rows(reading, load(reading, None).withColumn(RAW, F.lit(None).cast("string")), declared)


def _path_columns(reading: Reading, frame: DataFrame) -> tuple[list[Column], str | None]:
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
