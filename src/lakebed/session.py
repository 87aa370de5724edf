"""The Spark session: pinned jars, sane local defaults, any master.

This is the one module that may touch Spark's private sides. Importing it starts nothing.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from lakebed.errors import SetupError
from lakebed.jars import cache_folder, delta_jars
from lakebed.java import require_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
_LOGS_KEPT = 10
_log: Path | None = None


def session(master: str | None = None, conf: Mapping[str, str] | None = None) -> SparkSession:
    """A session that knows Delta: the one that is active already, untouched, else a new one.

    `master` is `local[*]` unless given; `conf` wins over every default.
    """
    from pyspark.sql import SparkSession  # noqa: PLC0415  importing lakebed must stay quick

    if (active := SparkSession.getActiveSession()) is not None:
        return _with_delta(active)
    require_java()
    given = dict(conf or {})
    master = master or given.pop("spark.master", None) or "local[*]"
    builder = SparkSession.builder.master(master)
    settings = _settings(master, given)
    for name, value in settings.items():
        builder = builder.config(name, value)
    _start_jvm({"spark.master": master} | settings)
    return _with_delta(builder.getOrCreate())


def log_file() -> Path | None:
    """Where Spark's log of this process goes; None if lakebed started no JVM here."""
    return _log


def _settings(master: str, given: Mapping[str, str]) -> dict[str, str]:
    jars = delta_jars(given)
    settings = {
        "spark.app.name": "lakebed",
        "spark.sql.extensions": _EXTENSION,
        "spark.sql.catalog.spark_catalog": _CATALOG,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "true",
        "spark.ui.showConsoleProgress": "false",
    }
    if not master.startswith("local"):
        return settings | {"spark.jars": ",".join(map(str, jars))} | dict(given)
    cores = _cores(master)
    settings |= {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.driver.memory": f"{_memory_mib()}m",
        "spark.driver.extraClassPath": os.pathsep.join(map(str, jars)),
        "spark.sql.shuffle.partitions": str(cores),
        "spark.default.parallelism": str(cores),
        "spark.databricks.delta.snapshotPartitions": str(min(cores, 4)),
    }
    return settings | dict(given)


def _cores(master: str) -> int:
    match = re.match(r"local\[(\d+)", master)
    if match:
        return int(match[1])
    return 1 if master == "local" else len(os.sched_getaffinity(0))


def _memory_mib() -> int:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    return max(1024, min(total // 2, 30 * 1024))


def _start_jvm(settings: Mapping[str, str]) -> None:
    """Starts the JVM with its output going to a file; does nothing if this process has one already."""
    global _log  # noqa: PLW0603
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415

    if SparkContext._gateway is not None:
        return
    folder = cache_folder() / "logs"
    folder.mkdir(parents=True, exist_ok=True)
    for old in sorted(folder.glob("spark-*.log"))[: -_LOGS_KEPT + 1]:
        old.unlink(missing_ok=True)
    _log = folder / f"spark-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}.log"
    spark_conf = SparkConf(loadDefaults=False)
    spark_conf.setAll(list(settings.items()))
    log4j = resources.files("lakebed").joinpath("log4j2.properties")
    options = f'"-Dlog4j2.configurationFile={log4j}" {settings.get("spark.driver.extraJavaOptions", "")}'
    spark_conf.set("spark.driver.extraJavaOptions", options)
    with _log.open("ab") as file:
        gateway = launch_gateway(spark_conf, {"stdout": file, "stderr": file})
    SparkContext._ensure_initialized(gateway=gateway)


def _with_delta(spark: SparkSession) -> SparkSession:
    extensions = spark.conf.get("spark.sql.extensions", "") or ""
    if _EXTENSION not in extensions or not spark.conf.get("spark.sql.catalog.spark_catalog", ""):
        raise SetupError(
            "The Spark session that is active does not know Delta.",
            code="session_without_delta",
            hint=f"start it with spark.sql.extensions={_EXTENSION}, spark.sql.catalog.spark_catalog={_CATALOG} and "
            "Delta's jars, or stop it and let lakebed.session() start one",
        )
    return spark
