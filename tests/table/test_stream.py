"""`each_batch` and `stream`: a table fed by Structured Streaming, exactly once whatever becomes of checkpoints."""

from __future__ import annotations

import datetime as dt
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lakebed as lb
from lakebed.errors import ConflictError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def drain(spark: SparkSession, root: Path, feed_batch: object) -> None:
    """All files that have landed, by one stream with its own checkpoint."""
    rows = spark.readStream.schema("id int").json(str(root / "in"))
    query = rows.writeStream.foreachBatch(feed_batch).option("checkpointLocation", str(root / "checkpoint"))  # type: ignore[arg-type]
    query.trigger(availableNow=True).start().awaitTermination()


def test_G1_a_stream_is_applied_once_also_when_its_checkpoint_is_lost(
    spark: SparkSession, tmp_path: Path
) -> None:
    def opened() -> lb.Table:
        return lb.table(spark, str(tmp_path / "t"), feed=lb.Append(), history=lb.Log())

    def ids() -> list[int]:
        return [row.id for row in opened().read().orderBy("offset").collect()]

    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text('{"id": 1}\n')
    drain(spark, tmp_path, opened().each_batch)
    assert (ids(), opened().last_batch) == ([1], 1)
    shutil.rmtree(tmp_path / "checkpoint")  # the stream counts from 0 again, and the pair is known
    drain(spark, tmp_path, opened().each_batch)
    assert (ids(), opened().last_batch) == ([1], 1)
    shutil.rmtree(tmp_path / "checkpoint")  # a new name makes it a new stream
    drain(spark, tmp_path, opened().stream("again"))
    assert (ids(), opened().last_batch) == ([1, 1], 2)


def test_G1_a_stream_that_another_writer_overtakes_fails_and_loses_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    def opened() -> lb.Table:
        return lb.table(spark, str(tmp_path / "t"), feed=lb.Append(), history=lb.Log())

    def overtaken_by(stream: str, batch_id: int) -> Callable[[], dt.datetime]:
        """A clock that is asked once the number is chosen: another writer takes it in that moment."""

        def now() -> dt.datetime:
            opened().stream(stream)(spark.range(1), batch_id)
            return dt.datetime.now(dt.UTC)

        return now

    mine = spark.range(7, 8)
    with pytest.raises(ConflictError, match="batch 4 of the stream 'mine'"):
        opened().stream("mine", overtaken_by("other", 0))(mine, 4)
    assert [row.id for row in opened().read().collect()] == [0]
    opened().stream("mine")(mine, 4)
    # Where the other writer was the same stream, its rows are there.
    opened().stream("mine", overtaken_by("mine", 5))(spark.range(1), 5)
    assert [row.id for row in opened().read().orderBy("offset").collect()] == [0, 7, 0]
