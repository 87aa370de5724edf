"""Envelopes taken off: rows as a change-data tool wraps them → rows as the feed wants them.

Each envelope is a pure function of the rows, the manifest's options and what is given beside (`given.py`). It adds the
columns that `lakebed.manifest.envelopes` names; the dataset's `declared_feed` uses exactly these. A record that cannot
be used stays, marked as bad with its reason and its raw text (G5); none of them fails a job.
"""

from __future__ import annotations

import datetime as dt

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from lakebed.manifest import Dataset, Debezium, Dms
from lakebed.sources.envelopes import debezium, dms, plain
from lakebed.sources.envelopes.given import Given

__all__ = ["Given", "reads_lines", "unwrap"]


def reads_lines(dataset: Dataset) -> bool:
    """Whether the envelope wants each line of a file as text, in the raw-text column, instead of columns."""
    return isinstance(dataset.source.envelope, Debezium) and dataset.source.format == "json"


def unwrap(rows: DataFrame, dataset: Dataset, arrived: dt.datetime | None = None) -> DataFrame:
    """The rows of one file without their envelope. `arrived` is the file's modification time: the time of changes that
    tell none themselves."""
    envelope = dataset.source.envelope
    given = Given(
        declared=_declared(dataset),
        key=tuple(getattr(dataset.feed, "key", ())),
        arrived=arrived,
        keep_missing=dataset.feed.on_missing_column == "keep",
    )
    if isinstance(envelope, Debezium):
        return debezium.changes(rows, envelope, given)
    if isinstance(envelope, Dms):
        return dms.changes(rows, envelope, given)
    return plain.changes(rows, envelope, given)


def _declared(dataset: Dataset) -> tuple[StructField, ...]:
    if dataset.source.schema_ is None:
        return ()
    parsed = StructType.fromDDL(dataset.source.schema_)
    assert isinstance(parsed, StructType)
    return tuple(parsed.fields)
