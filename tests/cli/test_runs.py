"""`lakebed runs`, `waiting`, `dead`, `gaps`, `why`, `backfill --dry-run`, `redrive`: over logs without rows, without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Lakebed
from tests.runner.written_logs import World

from lakebed.manifest import load_project
from lakebed.runner import derive_project

DAILY = """\
dataset: a.daily
dependencies:
  - {table_name: a.source, usage: overwrite, field_column: day, date_expression: "%Y%m%d"}
partition_column: day
partition_python_mask: "%Y%m%d"
steps: [{info: totals, sql: "SELECT count(*) AS n FROM a.source WHERE day = '$day'"}]
date_substitutions: [{token: $day, format: "%Y%m%d"}]
"""
BOTH = DAILY.replace("a.daily", "a.both").replace(
    "partition_column",
    '  - {table_name: a.other, usage: overwrite, field_column: day, date_expression: "%Y%m%d"}\nwhen: all\npartition_column',
    1,
)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """a.source has three days; a.daily is computed for two of them, its run of the third is broken; a.both waits."""
    (tmp_path / "datasets").mkdir()
    (tmp_path / "lakebed.yaml").write_text("project: shop\n")
    (tmp_path / "datasets" / "daily.yaml").write_text(DAILY)
    (tmp_path / "datasets" / "both.yaml").write_text(BOTH)
    world = World(tmp_path)
    monkeypatch.setattr("lakebed.runner.derive.derive", world.derive)
    plans = tmp_path / "warehouse" / "a" / "source__lakebed" / "batches"
    plans.mkdir(parents=True)
    world.table("a.source").add("20220120", "20220122", user={"batch": 1})
    file = {"path": "source/20220120.csv", "size": 1, "modified_ns": 1}
    plan = {"dataset": "a.source", "number": 1, "inputs": [file], "event_time": None}
    (plans / "00000001.json").write_text(json.dumps({**plan, "system_time": "2022-01-20T00:00:00+00:00"}))
    _pass(world)
    world.broken = {"a.daily"}
    world.table("a.source").add("20220123")
    _pass(world)
    return world


def _pass(world: World) -> None:
    derive_project(load_project(world.root), spark=lambda: None, edges=world.edges)


def test_runs(lakebed: Lakebed, shop: World) -> None:
    ended = lakebed("--project", shop.root, "runs", "--sql")
    assert ended.code == 0
    assert "failed at step 1" in ended.out
    assert "a.source day=20220122" in ended.out
    assert "SELECT count(*) AS n FROM a.source WHERE day = '20220120'" in ended.out
    newest, *others = json.loads(lakebed("--project", shop.root, "runs", "a.daily", "--format", "json").out)
    assert (newest["partition"], newest["state"], newest["failed_step"], len(others)) == (
        "20220123",
        "failed",
        1,
        2,
    )
    assert newest["roots"] == ["a.source@1#0f0f0f0f"]


def test_waiting(lakebed: Lakebed, shop: World) -> None:
    ended = lakebed("--project", shop.root, "waiting", "--format", "json")
    found = json.loads(ended.out)
    assert [(one["partition"], one["missing"]) for one in found] == [
        (day, ["a.other"]) for day in ("20220120", "20220122", "20220123")
    ]
    assert "a.other" in lakebed("--project", shop.root, "waiting").out


def test_dead_letters_are_shown_and_discarded(lakebed: Lakebed, shop: World) -> None:
    ended = lakebed("--project", shop.root, "dead")
    assert "broken [sql]" in ended.out
    (letter,) = json.loads(lakebed("--project", shop.root, "dead", "--format", "json").out)
    assert (letter["dataset"], letter["partition"], letter["step"]) == ("a.daily", "20220123", 1)
    assert lakebed("--project", shop.root, "redrive", "a.both").code == 2
    ended = lakebed("--project", shop.root, "redrive", "--id", letter["id"][:6], "--discard")
    assert (ended.code, ended.err) == (0, "1 dead letter discarded\n")
    assert lakebed("--project", shop.root, "dead").err == "no dead letters\n"


def test_redrive_tells_by_its_code_whether_it_worked(lakebed: Lakebed, shop: World) -> None:
    ended = lakebed("--project", shop.root, "redrive")
    assert ended.code == 1
    assert "broken [sql]" in ended.err
    shop.broken = set()
    ended = lakebed("--project", shop.root, "redrive", "--format", "json")
    assert (ended.code, json.loads(ended.out)["runs"][0]["state"]) == (0, "done")


def test_gaps_tells_what_is_missing_and_why(lakebed: Lakebed, shop: World) -> None:
    ended = lakebed("--project", shop.root, "gaps", "a.daily", "--format", "json")
    assert [(one["partition"], one["state"], one["lacks"]) for one in json.loads(ended.out)] == [
        ("20220121", "missing", ["a.source"]),
        ("20220123", "failed", []),
    ]
    ended = lakebed("--project", shop.root, "gaps", "a.daily", "--from", "20220122", "--to", "20220122")
    assert ended.err == "no gaps\n"


def test_why_leads_back_to_the_file(lakebed: Lakebed, shop: World) -> None:
    ended = lakebed("--project", shop.root, "why", "a.daily", "--partition", "20220120")
    first, second, third = ended.out.splitlines()
    assert first.startswith("a.daily day=20220120, version ")
    assert second.startswith("└─ a.source day=20220120, version 0, batch 1, at ")
    assert third == "   └─ source/20220120.csv"
    assert lakebed("--project", shop.root, "why", "a.daily", "--partition", "20220101").code == 1
    assert lakebed("--project", shop.root, "why", "a.daily").code == 2


def test_D14_a_backfill_of_what_is_missing_takes_the_failed_ones_and_says_what_it_would_do(
    lakebed: Lakebed, shop: World
) -> None:
    options = ["backfill", "a.daily", "--from", "20220120", "--to", "20220123", "--missing-only"]
    ended = lakebed("--project", shop.root, *options, "--dry-run", "--format", "json")
    plan = json.loads(ended.out)
    assert [run["partition"]["day"] for run in plan["runs"]] == ["20220123"]
    assert [one["partition"]["day"] for one in plan["waiting"]] == ["20220121"]
    shop.broken = set()
    shop.ran.clear()
    assert lakebed("--project", shop.root, *options).code == 0
    assert shop.ran == [("a.daily", "20220123")]


def test_refresh_computes_one_partition(lakebed: Lakebed, shop: World) -> None:
    shop.broken = set()
    shop.ran.clear()
    ended = lakebed("--project", shop.root, "refresh", "a.daily", "--partition", "20220120")
    assert (ended.code, shop.ran) == (0, [("a.daily", "20220120")])
    assert lakebed("--project", shop.root, "refresh", "a.source", "--partition", "20220120").code == 2
    assert lakebed("--project", shop.root, "refresh", "a.daily", "--partition", "today").code == 2
