"""The write plan of a batch → commits, the truth first (ARCHITECTURE, decision 3).

A crash before the truth's commit leaves every table as it was (rejected rows may be there already, under this batch's
number, and the next attempt at it puts its own in their place). A crash after it leaves tables that lag; opening the dataset finishes
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from lakebed.history import current, log, versions
from lakebed.history.columns import CARRIED, FILE, LINE, RAW, REASON, as_json, pack
from lakebed.history.normalise import Moment
from lakebed.history.shape import Shape
from lakebed.manifest import Log, Versions
from lakebed.table.context import WritePlan
from lakebed.table.opening import Tables
from lakebed.tables.at_once import at_once
from lakebed.tables.delta import Commit, Head, empty_frame
from lakebed.tables.replacement import equals, replace


def target_schema(shape: Shape) -> StructType:
    if isinstance(shape.history, Versions):
        return versions.schema_of(shape)
    if isinstance(shape.history, Log):
        return log.schema_of(shape)
    return current.schema_of(shape)


def rejected_rows(bad: DataFrame, moment: Moment, columns: Sequence[StructField]) -> DataFrame:
    """Bad rows of a batch as rows of `__rejected` (G5)."""
    raw = F.coalesce(F.col(RAW), as_json(pack(columns), nulls=False))
    return bad.select(
        F.col(REASON).alias("reason"),
        raw.alias("raw"),
        F.col(FILE).alias("file"),
        F.col(LINE).alias("line"),
        F.lit(moment.batch).cast("bigint").alias("batch"),
        F.lit(moment.system_time).cast("timestamp").alias("system_time"),
    )


def late_rows(late: DataFrame, moment: Moment) -> DataFrame:
    """Late events that change nothing (G7), as rows of `__rejected`."""
    return late.select(
        F.lit("late").alias("reason"),
        as_json(CARRIED, nulls=False).alias("raw"),
        F.lit(None).cast("string").alias("file"),
        F.lit(None).cast("bigint").alias("line"),
        F.lit(moment.batch).cast("bigint").alias("batch"),
        F.lit(moment.system_time).cast("timestamp").alias("system_time"),
    )


def write_rejected(tables: Tables, rows: DataFrame | None, commit: Commit) -> None:
    """Once per batch: these rows, or none, stand for its number. What an attempt left that did not get to the truth may be of other
    files, where that one was skipped or a file was written anew."""
    if tables.rejected.head().batch >= commit.batch:
        kept = tables.rejected.schema()
        tables.rejected.append_again(
            empty_frame(tables.spark, kept) if rows is None else rows, "batch", commit
        )
    elif rows is not None:
        tables.rejected.append(rows, commit)


def written_tables(tables: Tables, plan: WritePlan, *, grows: bool) -> list[str]:
    """Which tables a batch writes besides the truth. `grows`: it brings a new column or a wider type, which the table gets in any case (G9)."""
    named = {"heads": plan.heads, "state": plan.state}
    names = [name for name, rows in named.items() if rows is not None and not rows.is_empty]
    if tables.truth != "target" and (
        grows or plan.appended is not None or (plan.target is not None and not plan.target.is_empty)
    ):
        names.append("target")
    return names


def write_truth(tables: Tables, plan: WritePlan, shape: Shape, commit: Commit, *, first: bool) -> Head:
    if tables.truth == "journal":
        assert plan.journal is not None
        return tables.journal.append(plan.journal, commit)
    return write_target(tables, plan, shape, commit, first=first)


def write_followers(
    tables: Tables, plan: WritePlan, shape: Shape, commit: Commit, names: Sequence[str], *, first: bool
) -> dict[str, Head]:
    """Bring the named tables to this batch, at the same time, since none depends on another; one that is there already is left
    as it is. A crash leaves any of them behind."""

    def write(name: str) -> Head:
        if name == "target":
            return write_target(tables, plan, shape, commit, first=first)
        table = tables.named(name)
        replacement = plan.heads if name == "heads" else plan.state
        assert replacement is not None
        return replace(table, replacement, "", commit, empty=not table.exists())

    return at_once(tables.spark, {name: partial(write, name) for name in names})


def write_target(tables: Tables, plan: WritePlan, shape: Shape, commit: Commit, *, first: bool) -> Head:
    table = tables.target
    if plan.appended is not None:
        return table.append(plan.appended, commit)
    if plan.target is None:
        empty = empty_frame(table.spark, target_schema(shape))
        return table.append(empty, commit)
    is_open = ""
    if isinstance(shape.history, Versions) and plan.target.open_only:
        is_open = equals(
            shape.history.own("is_current"), shape.history.flag[0] if shape.history.flag else None
        )
    return replace(table, plan.target, is_open, commit, empty=first)


def facts_of(
    moment: Moment,
    report: Mapping[str, Any],
    inputs: Sequence[Mapping[str, Any]],
    reads: Mapping[str, int],
    writes: Sequence[str],
    more: Mapping[str, Any],
) -> dict[str, Any]:
    return {
        "system_time": moment.system_time.isoformat(),
        "event_time": moment.event_time.isoformat() if moment.event_time else None,
        "report": dict(report),
        "inputs": [dict(each) for each in inputs],
        "reads": dict(reads),
        "writes": list(writes),
        **more,
    }
