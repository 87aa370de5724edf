"""Envelopes taken off: rows as a change-data tool wraps them → rows as the feed wants them.

Each envelope is a pure function of the rows, the manifest's options and what is given beside (`given.py`). It adds the
columns that `lakebed.manifest.envelopes` names; the dataset's `declared_feed` uses exactly these. A record that cannot
be used stays, marked as bad with its reason and its raw text (G5); none of them fails a job.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField

from lakebed.manifest import Dataset, Debezium, Dms, LandingFiles, Plain
from lakebed.sources.declared import fields_of
from lakebed.sources.envelopes import debezium, dms, plain
from lakebed.sources.envelopes.debezium_messages import as_messages
from lakebed.sources.envelopes.given import ARRIVED, Given

__all__ = ["Given", "one_file", "reads_lines", "unwrap"]


def reads_lines(dataset: Dataset) -> bool:
    """Whether the envelope wants each line of a file as text, in the raw-text column, instead of columns."""
    source = dataset.source
    assert isinstance(source, LandingFiles)
    return isinstance(source.envelope, Debezium) and source.format in ("json", "ndjson")


def one_file(rows: DataFrame, dataset: Dataset, arrived: dt.datetime) -> DataFrame:
    """The rows of one file, ready to be united with those of others. `arrived` is the file's modification time: the time
    of changes that tell none themselves."""
    envelope = dataset.source.envelope
    if isinstance(envelope, Plain):
        return rows
    named = dms.with_operation(rows, envelope) if isinstance(envelope, Dms) else as_messages(rows)
    return named.withColumn(ARRIVED, F.lit(arrived).cast("timestamp"))


def unwrap(rows: DataFrame, dataset: Dataset, beside: Iterable[str] = ()) -> DataFrame:
    """The rows of a batch without their envelope. Once for a batch, not for each file: Spark takes a while to plan it. `beside` are
    the columns that come from the files' paths."""
    envelope = dataset.source.envelope
    given = Given(
        declared=_declared(dataset),
        key=tuple(getattr(dataset.feed, "key", ())),
        keep_missing=dataset.feed.on_missing_column == "keep",
        beside=tuple(beside),
    )
    if isinstance(envelope, Debezium):
        return debezium.changes(rows, envelope, given)
    if isinstance(envelope, Dms):
        return dms.changes(rows, envelope, given)
    return plain.changes(rows, envelope, given)


def _declared(dataset: Dataset) -> tuple[StructField, ...]:
    if dataset.source.schema_ is None:
        return ()
    return tuple(fields_of(dataset.source.schema_))
