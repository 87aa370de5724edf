"""What an envelope asks of the rest of a dataset's manifest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lakebed.manifest.envelopes import PREFIX, Debezium, Dms, Plain
from lakebed.manifest.explain import Explained, nearest
from lakebed.manifest.options import lower

if TYPE_CHECKING:
    from lakebed.manifest.dataset import Dataset
    from lakebed.manifest.sources import LandingFiles

_FORMATS = {"debezium": ("json", "ndjson", "parquet", "orc"), "dms": ("csv", "parquet")}
_CONDITIONS = ("delete_when", "truncate_when", "upsert_when", "present_columns")


def check_envelope(dataset: Dataset, source: LandingFiles) -> Iterator[Explained]:
    """Every setting that an envelope other than `plain` lacks or contradicts."""
    envelope = source.envelope
    if isinstance(envelope, Plain):
        return
    if dataset.feed.kind != "changes":
        what = f"the envelope {envelope.kind!r} holds changes, and the feed is {dataset.feed.kind!r}"
        yield Explained(("feed", "kind"), what, "use feed: {kind: changes, key: [...]}")
    formats = _FORMATS[envelope.kind]
    if source.format not in formats:
        what = f"the envelope {envelope.kind!r} comes as {' or '.join(formats)}, not as {source.format}"
        yield Explained(("source", "format"), what)
    if source.schema_ is None and (isinstance(envelope, Debezium) or source.format == "csv"):
        what = f"'schema' is missing: the envelope {envelope.kind!r} needs the columns of the table"
        yield Explained(("source",), what, 'write them as schema: "id bigint, name string, ..."')
    yield from _check_feed(dataset)
    yield from _check_names(source)


def _check_feed(dataset: Dataset) -> Iterator[Explained]:
    envelope, feed, time = dataset.source.envelope, dataset.feed, dataset.source.event_time
    for option in _CONDITIONS:
        if getattr(feed, option, None) is not None:
            what = f"the envelope {envelope.kind!r} tells this already"
            yield Explained(("feed", option), what, "take it out")
    if isinstance(envelope, Debezium) and getattr(feed, "ignore_nulls", False) is not False:
        what = "the envelope 'debezium' tells which columns a change sets, and a NULL in it is a value (F6)"
        yield Explained(("feed", "ignore_nulls"), what, "take it out")
    if time is not None and time.from_ != "column":
        what = f"the envelope {envelope.kind!r} tells the time of each change"
        yield Explained(("source", "event_time"), what, "take it out, or name a column")


def _check_names(source: LandingFiles) -> Iterator[Explained]:
    """Names of columns, against the declared ones where there are any."""
    if source.columns is None:
        return
    known = lower(column.name for column in source.columns)
    for name in known:
        if name.startswith(PREFIX):
            what = f"the column {name!r} has the prefix of the columns that an envelope adds"
            yield Explained(("source", "schema"), what, "rename it")
    envelope, here = source.envelope, ("source", "envelope")
    named: dict[tuple[str, ...], str] = {}
    if isinstance(envelope, Dms):
        if envelope.operation.lower() in known:
            what = (
                f"the column {envelope.operation!r} is the one that DMS puts in front, not one of the table"
            )
            yield Explained(("source", "schema"), what, "take it out of the schema")
        named = {
            (*here, option): name
            for option in ("timestamp", "sequence")
            if (name := getattr(envelope, option)) is not None
        }
    if isinstance(envelope, Debezium) and isinstance(envelope.times, dict):
        named = {(*here, "times", name): name for name in envelope.times}
    for path, name in named.items():
        if name.lower() not in known:
            yield Explained(path, f"the column {name!r} is not in 'source.schema'", nearest(name, known))
