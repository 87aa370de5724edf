"""A small project that is right, to be broken in one place by each test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

PROJECT = """\
project: shop
landing: ./landing
warehouse: ./warehouse
control: sqlite:///.lakebed/control.db
spark:
  master: "local[*]"
  conf: {spark.sql.shuffle.partitions: 4}
profiles:
  prod:
    landing: "s3a://raw/shop"
    control: "postgresql://lakebed:${env:CONTROL_PASSWORD}@db/control"
    spark: {master: "spark://host:7077"}
"""
CUSTOMERS = """\
dataset: crm.customers
source:
  files: crm/customers/{date:%Y%m%d}.csv
  format: csv
  options: {header: true}
  schema: "id bigint, name string, address string, country string"
  event_time: {from: path, part: date}
feed: {kind: snapshot, key: [id]}
history: {kind: versions, track: [address]}
partition_by: [country]
files: {target_size: 128MiB}
"""

WriteProject = Callable[..., Path]


@pytest.fixture
def write_project(tmp_path: Path) -> WriteProject:
    """Writes the project, with the given texts of files instead of its own; None leaves a file out."""

    def write(files: dict[str, str | bytes | None] | None = None) -> Path:
        texts: dict[str, str | bytes | None] = {
            "lakebed.yaml": PROJECT,
            "datasets/crm.customers.yaml": CUSTOMERS,
            **(files or {}),
        }
        for name, text in texts.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text is not None:
                path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path

    return write
