"""Files that cannot be read, in part or at all: no traceback, nothing lost, the good ones beside them arrive."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.end_to_end.breaking import as_text, live_with, make_project
from tests.sources.datasets import dataset, put

from lakebed.errors import BatchError, TransientError
from lakebed.manifest import load_project
from lakebed.runner import preview_project, run_project
from lakebed.sources import FileSource, LocalFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES = 20
BREAKS_OFF = """\
dataset: a.t
source: {files: "in/{file}", format: csv, schema: id bigint}
feed: {kind: append}
history: {kind: log}
"""


def test_G5_every_file_and_row_is_accounted_for(spark: SparkSession, tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # noqa: T201  shown if the test fails
    root, good = make_project(tmp_path / "broken", seed, FILES, spark)
    accounts = live_with(root, good, spark)
    print(accounts)  # noqa: T201
    assert accounts.unexpected == []
    assert accounts.not_accounted == []
    assert accounts.rows["read"] == accounts.rows["applied"] + accounts.rows["rejected"]
    assert accounts.good_rows_doubled == 0
    if not accounts.files["skipped"]:
        assert accounts.good_rows_lost == 0


def test_G5_a_file_that_breaks_off_is_set_aside_or_named(spark: SparkSession, tmp_path: Path) -> None:
    whole = gzip.compress(as_text("csv", [(n, "x" * 50, n / 7) for n in range(20_000)]))
    files = [put(tmp_path, "in/a.csv", "id\n1\n"), put(tmp_path, "in/b.csv.gz", whole[: len(whole) // 2])]

    def count(source: FileSource) -> list[tuple[int | None, str | None]]:
        with source.errors():
            rows = source.read(spark, files).frame.orderBy("_lb_position")
            return [(row["id"], row["_lb_bad"]) for row in rows.collect()]

    source = FileSource(dataset("in/{file}", schema="id bigint"), LocalFolder(tmp_path))
    with pytest.raises(TransientError, match="cannot be read"):
        count(source)
    assert count(source) == [(1, None), (None, "unreadable")]
    strict = dataset("in/{file}", schema="id bigint", feed={"kind": "append", "on_bad_rows": "fail"})
    with pytest.raises(BatchError, match=r"in/b\.csv\.gz") as caught:
        count(FileSource(strict, LocalFolder(tmp_path)))
    assert caught.value.code == "unreadable_file"


def test_a_dry_run_tells_what_the_run_does_with_a_file_that_breaks_off(
    spark: SparkSession, tmp_path: Path
) -> None:
    whole = gzip.compress(as_text("csv", [(n, "x" * 50, n / 7) for n in range(20_000)]))
    (tmp_path / "datasets").mkdir()
    (tmp_path / "lakebed.yaml").write_text("project: broken\n")
    (tmp_path / "datasets" / "t.yaml").write_text(BREAKS_OFF)
    put(tmp_path / "landing", "in/a.csv", "id\n1\n")
    put(tmp_path / "landing", "in/b.csv.gz", whole[: len(whole) // 2])
    project = load_project(tmp_path)
    [shown] = preview_project(project, spark=lambda: spark)
    assert shown.error is None
    [ran] = run_project(project, spark=lambda: spark).datasets
    counts = ("read", "applied", "rejected")
    assert [(shown.report or {})[name] for name in counts] == [2, 1, 1]
    assert [ran.batches[0].report[name] for name in counts] == [2, 1, 1]


def test_G5_where_no_file_can_be_read_the_batch_fails(spark: SparkSession, tmp_path: Path) -> None:
    files = [put(tmp_path, f"in/{n}.csv", "a;b\n1;2\n") for n in range(2)]
    source = FileSource(dataset(schema="id bigint"), LocalFolder(tmp_path))
    with pytest.raises(BatchError, match="none of the columns"):
        source.read(spark, files)
    rows = source.read(spark, [*files, put(tmp_path, "in/good.csv")])
    assert rows.frame.where("_lb_bad is not null").count() == 2
    assert "in/0.csv was set aside" in rows.notes[0]
    kept = {"kind": "snapshot", "key": ["id"], "on_bad_rows": "quarantine"}
    states = FileSource(dataset(schema="id bigint", feed=kept), LocalFolder(tmp_path))
    with pytest.raises(BatchError, match="none of the columns"):  # its rows would read as deleted
        states.read(spark, [*files, put(tmp_path, "in/good.csv")])
