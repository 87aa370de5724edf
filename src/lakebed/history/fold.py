"""Seed 000's function: change events folded to the newest state of each key. DataFrames in and out, no table."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakebed.history.changes import collapse, distinct_events, events_of, with_row
from lakebed.history.columns import KIND, ORDER, REASON, UPSERT, key_names, unpack
from lakebed.history.normalise import Moment, normalise
from lakebed.history.shape import Known, shape_of
from lakebed.manifest import Changes, Current


def fold(
    df: DataFrame,
    *,
    key: Sequence[str],
    order_by: Sequence[str],
    delete_when: str | None = None,
    except_columns: Sequence[str] = (),
) -> DataFrame:
    """One row per key: its newest event by `order_by`; keys whose newest event is a delete are left out (G6, C1, C2).

    To fold new events into rows that are there, pass the union of both. A NULL in key or order fails the query that uses
    the result, with a sentence that says so.
    """
    feed = Changes(
        key=list(key), order_by=list(order_by), delete_when=delete_when, except_columns=list(except_columns)
    )
    shape = shape_of(df.schema, feed, Current(), Known(), batch_time_declared=False)
    moment = Moment(batch=1, system_time=dt.datetime(1970, 1, 1, tzinfo=dt.UTC))
    rows = normalise(df, shape, moment)
    sentence = F.concat(
        F.lit("lakebed.fold: a row has "), F.col(REASON), F.lit("; filter such rows out before folding")
    )
    rows = rows.withColumn(
        KIND, F.when(F.col(REASON).isNotNull(), F.raise_error(sentence)).otherwise(F.col(KIND))
    )
    keys = key_names(shape.key)
    events = with_row(collapse(distinct_events(events_of(rows, shape), keys), keys), shape)
    newest = events.groupBy(*keys).agg(F.max_by(F.struct(KIND, "_lb_row"), F.col(ORDER)).alias("_lb_last"))
    last = F.col("_lb_last")
    kept = newest.where(last.getField(KIND) == UPSERT).select(last.getField("_lb_row").alias("_lb_row"))
    return kept.select(*unpack(shape.data))
