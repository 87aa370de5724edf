"""Tables of a dataset that were dropped, moved or copied without the others: refused when it is opened, and nothing is emptied."""

from __future__ import annotations

import datetime as dt
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lakebed as lb
from lakebed.errors import TableError
from lakebed.tables.commit_log import UNKNOWN_VERSION, told_by

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOW = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


def test_G1_a_clone_a_table_without_its_journal_and_a_journal_without_its_table_are_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    def opened(name: str) -> lb.Table:
        feed = lb.Updates(key=["id"], order_by=["id"])
        return lb.table(spark, str(tmp_path / name), feed=feed, history=lb.Current())

    opened("t").apply(spark.range(3), batch=1, system_time=NOW)
    spark.sql(f"CREATE TABLE delta.`{tmp_path}/clone` SHALLOW CLONE delta.`{tmp_path}/t`")
    with pytest.raises(TableError, match="the table holds rows, and its log tells of no batch"):
        opened("clone").apply(spark.range(1), batch=1, system_time=NOW)
    assert spark.read.format("delta").load(str(tmp_path / "clone")).count() == 3
    shutil.move(tmp_path / "t", tmp_path / "moved")
    with pytest.raises(TableError, match=r"moved holds batch 1, and .*moved__journal holds none") as error:
        opened("moved").apply(spark.range(1), batch=1, system_time=NOW)
    assert error.value.code == "torn_dataset"
    assert spark.read.format("delta").load(str(tmp_path / "moved")).count() == 3
    with pytest.raises(TableError, match=r"t__journal holds batch 1, and .*t does not exist"):
        opened("t").apply(spark.range(1), batch=1, system_time=NOW)
    shutil.move(tmp_path / "t__journal", tmp_path / "moved__journal")
    assert opened("moved").state().count() == 3


def test_G1_a_table_that_was_restored_to_before_its_newest_batch_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Delta would skip the batches that it knows by number, and the rows of a batch would be gone for good."""
    table = lb.table(spark, str(tmp_path / "t"), feed=lb.Append(), history=lb.Log())
    restore = f"RESTORE TABLE delta.`{tmp_path}/t` TO VERSION AS OF "
    first, second = (
        table.apply(spark.range(batch), batch=batch, system_time=NOW).version for batch in (1, 2)
    )
    spark.sql(f"{restore}{first}")
    with pytest.raises(TableError, match="a version before that of batch 2") as error:
        table.apply(spark.range(3), batch=3, system_time=NOW)
    assert error.value.code == "torn_dataset"
    assert f"{restore}{second}" in (error.value.hint or "")
    spark.sql(f"{restore}{second}")
    table.apply(spark.range(3), batch=3, system_time=NOW)
    assert table.read().count() == 1 + 2 + 3


@pytest.mark.parametrize(
    ("operation", "chosen", "restored_to"),
    [
        ("WRITE", {}, None),
        ("RESTORE", {"version": 5, "timestamp": None}, 5),
        ("RESTORE", {"version": "5"}, 5),  # as Spark's history has it
        ("RESTORE", {"version": None, "timestamp": "2024-01-01"}, UNKNOWN_VERSION),
    ],
)
def test_G1_a_restore_is_told_by_its_commit(operation: str, chosen: Any, restored_to: int | None) -> None:
    assert told_by(7, {"operation": operation, "operationParameters": chosen}) == (7, None, restored_to)


def test_L4_a_state_that_is_ahead_of_its_log_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    def opened(name: str) -> lb.Table:
        return lb.table(spark, str(tmp_path / name), feed=lb.Snapshot(key=["id"]), history=lb.Log())

    opened("t").apply(spark.range(1), batch=1, system_time=NOW)
    shutil.copytree(tmp_path / "t", tmp_path / "older")
    opened("t").apply(spark.range(2), batch=2, system_time=NOW)
    shutil.copytree(tmp_path / "t__state", tmp_path / "older__state")
    shutil.copytree(tmp_path / "t__state", tmp_path / "dropped__state")
    with pytest.raises(TableError, match=r"older__state holds batch 2, and .*older holds 1"):
        opened("older").apply(spark.range(3), batch=2, system_time=NOW)
    with pytest.raises(TableError, match=r"dropped__state holds batch 2, and .*dropped does not exist"):
        opened("dropped").apply(spark.range(3), batch=1, system_time=NOW)
    assert not (tmp_path / "dropped").exists()
