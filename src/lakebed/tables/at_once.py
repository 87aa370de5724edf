"""Several things at the same time, where each mostly waits for Spark's driver."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from pyspark import inheritable_thread_target
from pyspark.sql import SparkSession

Result = TypeVar("Result")


def at_once(spark: SparkSession, tasks: Mapping[str, Callable[[], Result]]) -> dict[str, Result]:
    """What each task gives. All have ended when this returns, or raises what the first of them raised that failed."""
    if len(tasks) < 2:
        return {name: task() for name, task in tasks.items()}
    # Wrapped one by one: each gets a copy of this thread's properties, which Spark writes into.
    wrapped = {name: inheritable_thread_target(spark)(task) for name, task in tasks.items()}
    with ThreadPoolExecutor(len(tasks)) as pool:
        begun = {name: pool.submit(task) for name, task in wrapped.items()}
    return {name: future.result() for name, future in begun.items()}
