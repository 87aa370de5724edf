"""CSV: columns by header, records as RFC 4180 has them, every value a text first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from lakebed.errors import BatchError
from lakebed.history.columns import LINE, POSITION, RAW
from lakebed.manifest import Dms, LandingFiles
from lakebed.sources import encodings
from lakebed.sources.envelopes import dms_files
from lakebed.sources.first_bytes import blank_returns, first_record, has_mark, line_end, read_header, unnamed
from lakebed.sources.reading import (
    FIRST_LINE,
    Reading,
    kept_type,
    load,
    no_rows,
    not_in_path,
    raw_text,
    typed_rows,
)
from lakebed.sources.record_ends import filled, without_returns

# RFC 4180, which Spark's defaults are not: a quote is doubled, whatever sign it is, and a quoted value may hold line breaks.
CSV_DEFAULTS = {"header": "true", "multiline": "true"}


def csv_defaults(source: LandingFiles, given: Mapping[str, str]) -> dict[str, str]:
    """DMS tells by the first record whether there is a header, so nothing is said of it beforehand. Elsewhere an empty value is NULL, quoted or
    not, also beside a text that is given for it."""
    defaults = CSV_DEFAULTS | {"escape": given.get("quote") or '"'}
    if not isinstance(source.envelope, Dms):
        return defaults | ({"emptyvalue": given["nullvalue"]} if "nullvalue" in given else {})
    return {name: value for name, value in defaults.items() if name != "header"} | dms_files.CSV_DEFAULTS


def csv_rows(reading: Reading) -> DataFrame:
    """Every column as text first; what a declared type makes of it is decided, and judged, here."""
    if isinstance(reading.source.envelope, Dms):
        reading, names = _laid_out(reading)
    else:
        names = _names(reading)
    if names is None:
        return _empty(reading)
    texts = StructType([StructField(name, StringType()) for name in [*names, RAW]])
    how = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": RAW, "inferSchema": "false"}
    if checked := encodings.is_checked(reading.options, marked=has_mark(reading.start)):
        how["encoding"] = encodings.BYTES
    parted = reading.options["multiline"].lower() == "true" and "linesep" not in reading.options
    if parted:
        how["lineSep"] = line_end(reading.start)
    above = blank_returns(reading.start) if parted and reading.options["header"].lower() == "true" else 0
    if above:  # Spark would take the first of them for the header, and the header for a record
        how["header"] = "false"
    frame = load(reading, texts, **how).withColumn(RAW, raw_text(names))
    frame = frame.where(F.col(LINE) > above + FIRST_LINE) if above else frame
    frame = encodings.decoded(frame, names) if checked else frame
    frame = filled(frame, names, reading.options) if reading.source.short_records == "fill" else frame
    frame = without_returns(frame, names, reading.options) if parted else frame
    if reading.declared is None and reading.options.get("inferschema", "false").lower() == "true":
        return typed_rows(reading, frame, [kept_type(reading, f) for f in _inferred(reading, names)])
    return typed_rows(reading, frame, reading.declared)


def _laid_out(reading: Reading) -> tuple[Reading, list[str] | None]:
    """A file of DMS, with a header or without, with the operation or, of a first load, without it."""
    envelope = reading.source.envelope
    assert isinstance(envelope, Dms)
    first = first_record(reading.start, {**reading.options, "header": "false"}, where=reading.where)
    if first is None:
        return reading, None
    said = reading.options.get("header")
    layout = dms_files.csv_layout(
        first,
        not_in_path(reading, [f.name for f in reading.declared or () if f.name != envelope.operation]),
        envelope.operation,
        header=None if said is None else said.lower() == "true",
        of_changes=not dms_files.is_load(reading.file.path),
        where=reading.where,
    )
    options = {**reading.options, "header": str(layout.header).lower()}
    return replace(reading, options=options), list(layout.names)


def _inferred(reading: Reading, names: Sequence[str]) -> list[StructField]:
    """The types Spark sees in the file; they are then held to as declared ones are."""
    seen = load(reading, None).drop(LINE, POSITION).schema
    return [StructField(name, f.dataType) for name, f in zip(names, seen, strict=True)]


def _names(reading: Reading) -> list[str] | None:
    if reading.options["header"].lower() == "true":
        return read_header(reading.start, reading.options, where=reading.where)
    first = first_record(reading.start, reading.options, where=reading.where)
    if first is None:
        return None
    if reading.declared is not None:
        names = [f.name for f in reading.declared]
        return names if len(first) >= len(names) else not_in_path(reading, names)
    return [unnamed(place) for place in range(len(first))]


def _empty(reading: Reading) -> DataFrame:
    """A file without even a header is a file without rows, if the manifest or the table tells the columns."""
    columns = reading.declared or reading.known
    if not columns:
        raise BatchError(
            "the file is empty, so its columns are not known",
            code="unreadable_file",
            where=reading.where,
            hint="declare them: source.schema",
        )
    return no_rows(reading, columns)
