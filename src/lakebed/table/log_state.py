"""The state beside a log, from the log's own rows (L4): used where a crash left it behind."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from lakebed.history.columns import (
    BATCH,
    DELETE,
    EVENT_TIME,
    FROM,
    KIND,
    ORDER,
    ROW,
    UPSERT,
    col,
    pack,
    with_key,
)
from lakebed.manifest import Log, Snapshot
from lakebed.table.context import Context
from lakebed.table.write_sets import current_write_set
from lakebed.tables.replacement import Replacement


def state_of_log(ctx: Context, log_rows: DataFrame) -> Replacement:
    """The keys that this batch's rows of the log speak of, each with its last row."""
    shape = ctx.shape
    assert isinstance(shape.history, Log)
    own = shape.history.own
    mine = with_key(log_rows.where(F.col(BATCH) == ctx.moment.batch), shape.key)
    newest = Window.partitionBy(*ctx.keys).orderBy(col(own("offset")).desc())
    last = mine.withColumn("_lb_rank", F.row_number().over(newest)).where("_lb_rank = 1")
    time = col(shape.event_time) if shape.event_time_is_own and shape.event_time else col(own("event_time"))
    dead = col(own("op")) == "-R"
    order = F.struct(
        F.lit(ctx.moment.batch).cast("bigint").alias("batch"),
        *([time.alias("time")] if "time" in shape.order_type.fieldNames() else []),
        # As `normalise` has it: the rows of a snapshot have no place. Elsewhere the offset keeps their order.
        (F.lit(0).cast("bigint") if isinstance(shape.feed, Snapshot) else col(own("offset"))).alias(
            "position"
        ),
        F.lit(1).cast("int").alias("t"),
    )
    finals = last.select(
        *ctx.keys,
        F.when(dead, F.lit(DELETE)).otherwise(F.lit(UPSERT)).alias(KIND),
        pack(shape.data).alias(ROW),
        order.alias(ORDER),
        F.lit(None).cast(shape.from_type).alias(FROM),
        time.alias(EVENT_TIME),
    )
    replacement, _ = current_write_set(ctx, finals, "state")
    return replacement
