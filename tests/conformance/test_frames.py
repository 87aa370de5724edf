"""Rows of cases through Spark and back: nested values, and times whatever the zone of the machine."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.compare import difference
from tests.conformance.frames import collected, frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TIME = "2024-10-27T01:30:00Z"  # by the clocks of Berlin it is 2:30 for the second time
SCHEMA = """id int, at timestamp, a array<timestamp>, s struct<at:timestamp,x:array<struct<`a.b`:timestamp>>>,
 m map<timestamp,timestamp>, n map<int,boolean>, z timestamp_ntz, b binary"""
ROWS: list[dict[str, Any]] = [
    {
        "ID": 1,
        "at": TIME,
        "a": [TIME, None],
        "s": {"at": TIME, "X": [{"a.b": TIME}, None]},
        "m": {TIME: TIME},
        "n": {"1": True},
        "z": "2024-03-31T02:30:00",  # an hour that Berlin has not
        "b": "\xff",
    },
    {"ID": 2, "a": [], "s": {"at": None}, "m": {}},
]


@pytest.fixture(params=["Europe/Berlin", "America/St_Johns"])
def _elsewhere(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("_elsewhere")
def test_rows_come_back_as_they_are(spark: SparkSession) -> None:
    assert difference(collected(frame(spark, ROWS, SCHEMA.replace("\n", ""))), ROWS) is None
