"""Data that nobody here made up, where LAKEBED_REAL_DATA names its folder: 14 years of a list of companies, and
change events of Debezium."""

from __future__ import annotations

import json
import os
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.end_to_end import plain_changes
from tests.end_to_end.plain_loop import versions

from lakebed.cli.rows import first_rows
from lakebed.manifest import load_project
from lakebed.runner import run_project

DATA = os.environ.get("LAKEBED_REAL_DATA", "")
STATES = int(os.environ.get("LAKEBED_REAL_STATES", "4"))
DATASET = """\
dataset: market.companies
source:
  files: "constituents_{time:%Y%m%dT%H%M%SZ}.csv"
  format: csv
  event_time: {from: path, part: time}
feed: {kind: snapshot, key: [Symbol], on_bad_rows: quarantine}
history: {kind: versions}
"""
needs_data = pytest.mark.skipif(not DATA, reason="LAKEBED_REAL_DATA names no folder with the real data")


@needs_data
def test_F3_states_of_a_real_list_are_those_of_a_plain_loop(spark: SparkSession, tmp_path: Path) -> None:
    """A share of the states, spread over all years; LAKEBED_REAL_STATES=0 takes all."""
    every = sorted(Path(DATA, "sp500").glob("*.csv"))
    files = every[:: max(1, len(every) // STATES)] if STATES else every
    landing = tmp_path / "landing"
    landing.mkdir()
    for file in files:
        (landing / file.name).write_bytes(file.read_bytes())
    (tmp_path / "lakebed.yaml").write_text("project: market\nspark: {conf: {spark.driver.memory: 2g}}\n")
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "market.companies.yaml").write_text(DATASET)
    assert run_project(load_project(tmp_path), spark=lambda: spark).failed == ()
    table = spark.read.format("delta").load(str(tmp_path / "warehouse" / "market" / "companies"))
    found = [json.loads(line) for line in first_rows(table, None).lines]
    expected = versions(((time_of(file), file) for file in files), "Symbol")
    assert len(expected) > len(files)
    assert Counter(_text(row, expected[0]) for row in found) == Counter(
        _text(row, expected[0]) for row in expected
    )


def time_of(file: Path) -> datetime:
    return datetime.strptime(file.stem.partition("_")[2], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)


def _text(row: dict[str, object], columns: dict[str, object]) -> str:
    return json.dumps({name: row.get(name) for name in columns}, sort_keys=True)


EVENTS = """\
dataset: shop.{name}
source:
  files: "{name}/{{file}}.txt"
  format: ndjson
  schema: "id bigint, name string, description string, weight double"
  envelope: debezium
feed: {{kind: changes, key: [id]}}
history: {{kind: versions}}
"""


@needs_data
def test_F5_change_events_of_debezium_are_those_of_a_plain_loop(spark: SparkSession, tmp_path: Path) -> None:
    """Each file is a dataset. One of them comes backwards, in two files: the same table as in order (G6)."""
    texts = {
        file.stem.replace("-", "_"): file.read_text(encoding="utf-8").splitlines()
        for file in sorted(Path(DATA, "events").glob("debezium-*.txt"))
    }
    assert len(texts) == 5
    (tmp_path / "datasets").mkdir()
    (tmp_path / "lakebed.yaml").write_text("project: shop\n")
    for name, lines in texts.items():
        (tmp_path / "datasets" / f"shop.{name}.yaml").write_text(EVENTS.format(name=name))
        (tmp_path / "landing" / name).mkdir(parents=True)
        half, backwards = len(lines) // 2, list(reversed(lines))
        turned = name == "debezium_data_schema_exclude"
        for place, part in enumerate([backwards[:half], backwards[half:]] if turned else [lines]):
            (tmp_path / "landing" / name / f"{place}.txt").write_text("\n".join(part), encoding="utf-8")
    outcome = run_project(load_project(tmp_path), spark=lambda: spark)
    assert outcome.failed == ()
    columns = [*plain_changes.COLUMNS, "valid_from", "is_current", "is_deleted"]
    for one in outcome.datasets:
        name = one.dataset.partition(".")[2]
        table = spark.read.format("delta").load(str(tmp_path / "warehouse" / "shop" / name))
        found = [tuple(row) for row in table.select(*columns).collect()]
        expected, lost = plain_changes.versions(texts[name])
        assert Counter(found) == Counter(expected), name
        assert sum(batch.report["rejected"] for batch in one.batches) == lost, name
