"""`lakebed show`, `lakebed run` and `lakebed status --rows` over real tables."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.cli.conftest import Lakebed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VERSIONS = """\
dataset: demo.versions
source: {files: "v/{date:%Y-%m-%d}.csv", format: csv, schema: "id bigint, v string", event_time: {from: path, part: date}}
feed: {kind: snapshot, key: [id]}
history: {kind: versions}
"""


@pytest.fixture
def two_datasets(project: Path) -> Path:
    (project / "datasets" / "demo.versions.yaml").write_text(VERSIONS)
    (project / "landing" / "v").mkdir()
    (project / "landing" / "v" / "2024-01-01.csv").write_text("id,v\n2,b\n1,a\n")
    (project / "landing" / "v" / "2024-01-02.csv").write_text("id,v\n1,A\n2,b\n")
    return project


def test_from_landing_to_show(lakebed: Lakebed, spark: SparkSession, two_datasets: Path) -> None:
    before = lakebed("--project", two_datasets, "show", "demo.cities", "--format", "json")
    assert before.code == 1
    assert json.loads(before.err)["error"]["code"] == "no_table"

    ran = lakebed("--project", two_datasets, "run", "--format", "json")
    assert ran.code == 0, ran.err
    states = {one["dataset"]: (one["state"], len(one["batches"])) for one in json.loads(ran.out)["datasets"]}
    assert states == {"demo.cities": ("done", 1), "demo.versions": ("done", 2)}

    shown = lakebed("--project", two_datasets, "show", "demo.cities", "--format", "ndjson")
    assert [json.loads(line)["city"] for line in shown.out.splitlines()] == ["Vancouver", "Seattle"]

    shown = lakebed(
        "--project",
        two_datasets,
        "show",
        "demo.versions",
        "--all-versions",
        "--limit",
        "0",
        "--format",
        "csv",
    )
    rows = list(csv.DictReader(io.StringIO(shown.out)))
    assert [(row["id"], row["v"], row["valid_from"][:10], row["is_current"]) for row in rows] == [
        ("1", "a", "2024-01-01", "false"),
        ("1", "A", "2024-01-02", "true"),
        ("2", "b", "2024-01-01", "true"),
    ]
    assert not any(name.startswith("_lb_") for name in rows[0])

    limited = lakebed("--project", two_datasets, "show", "demo.versions", "--all-versions", "--limit", "2")
    assert "only the first 2 rows are shown; --limit 20 shows more, --limit 0 all" in limited.err
    assert limited.out.count("2024-01-0") == 3

    now = lakebed("--project", two_datasets, "show", "demo.versions", "--format", "ndjson")
    assert [json.loads(line)["v"] for line in now.out.splitlines()] == ["A", "b"]
    then = lakebed(
        "--project", two_datasets, "show", "demo.versions", "--as-of", "2024-01-01", "--format", "ndjson"
    )
    assert [json.loads(line)["v"] for line in then.out.splitlines()] == ["a", "b"]

    told = json.loads(lakebed("--project", two_datasets, "status", "--rows", "--format", "json").out)
    assert [(one["dataset"], one["rows"], one["waiting"]) for one in told["datasets"]] == [
        ("demo.cities", 2, []),
        ("demo.versions", 3, []),
    ]


def test_a_batch_that_fails_leaves_its_table_and_the_others_alone(
    lakebed: Lakebed, spark: SparkSession, two_datasets: Path
) -> None:
    (two_datasets / "landing" / "v" / "2024-01-02.csv").write_text("id,v\n1,x\n1,y\n")
    ended = lakebed("--project", two_datasets, "run")
    assert ended.code == 1
    assert "demo.cities: batch 1 from demo/cities/2024-01-01.csv: 2 read, 2 applied" in ended.err
    assert "demo.versions: batch 1 from v/2024-01-01.csv: 2 read, 2 applied" in ended.err
    assert "[duplicate_key]" in ended.err
    assert "shop: 2 batches applied, 1 of 2 datasets failed" in ended.err
    assert "Traceback" not in ended.err

    (two_datasets / "landing" / "v" / "2024-01-02.csv").write_text("id,v\n1,x\n2,b\n")
    again = lakebed("--project", two_datasets, "run")
    assert again.code == 1
    assert "[waiting]" in again.err
    assert "lakebed retry demo.versions" in again.err
    mended = lakebed("--project", two_datasets, "retry", "demo.versions")
    assert mended.code == 0, mended.err
    assert "demo.versions: batch 2 from v/2024-01-02.csv: 2 read, 1 applied, 1 unchanged" in mended.err


def test_what_contradicts_itself_is_refused(lakebed: Lakebed, project: Path) -> None:
    for options, why in (
        (["--limit", "-1"], "--limit"),
        (["--all-versions", "--as-of", "2024-01-01"], "contradict"),
        (["--as-of", "yesterday"], "is no time"),
    ):
        ended = lakebed("--project", project, "show", "demo.cities", *options)
        assert ended.code == 2
        assert why in ended.err


def test_G5_rows_that_were_set_aside_are_shown(lakebed: Lakebed, spark: SparkSession, project: Path) -> None:
    (project / "datasets" / "demo.cities.yaml").write_text(
        "dataset: demo.cities\n"
        "source: {files: 'c/{day:%Y-%m-%d}.csv', format: csv, schema: 'id int, n int', "
        "event_time: {from: path, part: day}}\n"
        "feed: {kind: updates, key: [id], max_bad_rows: 2}\n"
        "history: {kind: current}\n"
    )
    landing = project / "landing" / "c"
    landing.mkdir(parents=True)
    (landing / "2024-01-01.csv").write_text("id,n\n1,1\n2,x\n,3\n")
    assert lakebed("--project", project, "run").code == 0
    told = json.loads(lakebed("--project", project, "rejected", "demo.cities", "--format", "json").out)
    assert [(one["reason"], one["rows"]) for one in told["reasons"]] == [("bad_cast", 1), ("null_key", 1)]
    only = lakebed(
        "--project", project, "rejected", "demo.cities", "--reason", "bad_cast", "--format", "ndjson"
    )
    assert [json.loads(line)["raw"] for line in only.out.splitlines()] == ["2,x"]

    (landing / "2024-01-02.csv").write_text("id,n\n1,a\n2,b\n3,c\n4,4\n")
    refused = lakebed("--project", project, "run")
    assert refused.code == 1
    assert "3 of 4 rows of the batch cannot be used" in refused.err
    assert "max_bad_rows" in refused.err
