"""From nothing to the first Delta result, each time in a process of its own: lakebed's session against a bare one.

"Bare" is what Delta's own pages show: `configure_spark_with_delta_pip`, with the packages fetched beforehand.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from bench.result import Result, Timing
from lakebed.prepare import prepare

REPETITIONS = 3

_BARE = """
from delta import configure_spark_with_delta_pip
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[*]").config("spark.jars.ivy", IVY)
builder = builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
builder = builder.config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
spark = configure_spark_with_delta_pip(builder).getOrCreate()
"""
_LAKEBED = """
from lakebed.session import session
spark = session()
"""
_SHORT = _LAKEBED.replace("session()", "session(short=True)")
_FIRST_RESULT = """
import tempfile, time
with tempfile.TemporaryDirectory() as folder:
    spark.range(5).write.format("delta").save(folder + "/table")
    assert spark.read.format("delta").load(folder + "/table").count() == 5
    print(time.monotonic())
"""


def run() -> Iterator[Result]:
    prepare()
    with tempfile.TemporaryDirectory() as ivy:
        ways = {
            "configure_spark_with_delta_pip": f"IVY = {ivy!r}\n{_BARE}",
            "lakebed": _LAKEBED,
            "lakebed, short": _SHORT,
        }
        _seconds(ways["configure_spark_with_delta_pip"])  # fetches the packages; not counted
        measured: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(REPETITIONS):  # the ways take turns, so that a busy minute hits all of them
            for way, script in ways.items():
                measured[way].append(_seconds(script))
    timings = tuple(Timing(way, tuple(seconds)) for way, seconds in measured.items())
    yield Result("start", timings, (__doc__ or "").strip())


def _seconds(script: str) -> float:
    begin = time.monotonic()
    ran = subprocess.run(
        [sys.executable, "-c", script + _FIRST_RESULT], capture_output=True, text=True, check=False
    )
    if ran.returncode:
        raise RuntimeError(f"a start failed:\n{ran.stderr}")
    return float(ran.stdout.split()[-1]) - begin
