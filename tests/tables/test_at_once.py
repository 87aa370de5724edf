"""Things that are done at the same time."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from lakebed.tables.at_once import at_once

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_tasks_run_side_by_side_and_each_gives_its_own(spark: SparkSession) -> None:
    meeting = threading.Barrier(2, timeout=30)

    def met(name: str) -> str:
        meeting.wait()  # breaks unless the other comes too
        return name

    assert at_once(spark, {"a": lambda: met("one"), "b": lambda: met("two")}) == {"a": "one", "b": "two"}


def test_one_that_fails_is_told_after_all_have_ended(spark: SparkSession) -> None:
    ended = threading.Event()

    def fails() -> None:
        raise ValueError("broken")

    def comes_later() -> None:
        time.sleep(0.2)
        ended.set()

    with pytest.raises(ValueError, match="broken"):
        at_once(spark, {"a": fails, "b": comes_later})
    assert ended.is_set()
