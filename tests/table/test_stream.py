"""`each_batch` and `stream`: a table fed by Structured Streaming, exactly once whatever becomes of checkpoints."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import lakebed as lb

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
