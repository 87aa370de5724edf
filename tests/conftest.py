"""One Spark session for all tests, with settings for small data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakebed.jars import postgresql_jar
from lakebed.session import end, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL = {
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    # A few rows are done before code for them is compiled, or a plan is looked at twice.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
}


# The slow ones, slowest first: begun last, they would leave one core idle at the end.
SLOW = ("conformance/test_conformance", "crash/", "end_to_end/", "properties/test_engine", "cli/", "table/")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """After the shuffling: slow files first, the rest in the shuffled order."""

    def place(item: pytest.Item) -> int:
        return next((rank for rank, part in enumerate(SLOW) if f"tests/{part}" in item.nodeid), len(SLOW))

    items.sort(key=place)


@pytest.fixture(scope="session")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that Spark knows as viewfs://elsewhere/files: another file system, as far as lakebed can see."""
    return tmp_path_factory.mktemp("elsewhere")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory, elsewhere: Path) -> Iterator[SparkSession]:
    """A local session over an empty warehouse; started when the first test asks for it."""
    settings = {
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.jars": str(postgresql_jar()),
        "spark.hadoop.fs.viewfs.mounttable.elsewhere.link./files": elsewhere.as_uri(),
    }
    running = session("local[2]", SMALL | settings)
    yield running
    end(running)
