"""Rows without an envelope: they are what they say, and the feed's declared conditions tell the rest."""

from __future__ import annotations

from pyspark.sql import DataFrame

from lakebed.manifest import Plain
from lakebed.sources.envelopes.given import Given


def changes(rows: DataFrame, envelope: Plain, given: Given) -> DataFrame:  # noqa: ARG001 - as every envelope
    """The rows as they are."""
    return rows
