"""`lakebed dependents`, `lakebed lineage`, `lakebed plan`: about what depends on what, without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Lakebed

WEEKLY = """\
dataset: shop.weekly
dependencies:
  - table_name: demo.cities
    usage: overwrite
    field_column: day
    date_expression: "%Y%m%d"
    relativedelta_attributes: {weekday: SA(-1)}
  - {table_name: ref.country, usage: validate}
partition_column: week
partition_python_mask: "%Y%m%d"
steps:
  - {info: totals, sql: "SELECT *\\nFROM demo.cities WHERE day >= '$week'"}
date_substitutions:
  - {token: $week, format: "%Y-%m-%d"}
"""
REPORT = """\
dataset: shop.report
dependencies:
  - {table_name: shop.weekly, usage: overwrite}
  - {table_name: demo.cities, usage: append}
steps: [{sql: SELECT 1}]
"""


@pytest.fixture
def shop(project: Path) -> Path:
    """The project of `lakebed init`, with two derived datasets."""
    cities = project / "datasets" / "demo.cities.yaml"
    text = cities.read_text().replace('schema: "', 'schema: "day string, ')
    cities.write_text(text + "partition_by: [day]\n")
    (project / "datasets" / "shop.weekly.yaml").write_text(WEEKLY)
    (project / "datasets" / "shop.report.yaml").write_text(REPORT)
    return project


def test_validate_lists_derived_datasets(lakebed: Lakebed, shop: Path) -> None:
    ended = lakebed("--project", shop, "validate")
    assert ended.code == 0
    assert "demo.cities, ref.country" in ended.out
    assert "3 datasets, no mistakes" in ended.out
    assert ended.err == ""


def test_validate_warns(lakebed: Lakebed, shop: Path) -> None:
    file = shop / "datasets" / "shop.report.yaml"
    file.write_text(REPORT.replace("SELECT 1", "SELECT $x"))
    ended = lakebed("--project", shop, "validate")
    assert ended.code == 0
    assert ended.err == (
        "warning: shop.report: no date_substitutions give a value to $x, so its runs will fail (D5)\n"
    )
    told = json.loads(lakebed("--project", shop, "validate", "--format", "json").out)
    assert [one["dataset"] for one in told["derived"]] == ["shop.report", "shop.weekly"]
    assert len(told["warnings"]) == 1


def test_dependents(lakebed: Lakebed, shop: Path) -> None:
    ended = lakebed("--project", shop, "dependents", "Demo.Cities", "--format", "json")
    assert json.loads(ended.out) == [
        {"dataset": "shop.report", "hops": 1, "usage": "append"},
        {"dataset": "shop.weekly", "hops": 1, "usage": "overwrite"},
    ]
    assert json.loads(lakebed("--project", shop, "dependents", "ref.country", "--format", "json").out) == [
        {"dataset": "shop.weekly", "hops": 1, "usage": "validate"},
        {"dataset": "shop.report", "hops": 2, "usage": None},
    ]
    assert "shop.weekly" in lakebed("--project", shop, "dependents", "demo.cities").out


def test_dependents_of_none_and_of_nothing(lakebed: Lakebed, shop: Path) -> None:
    ended = lakebed("--project", shop, "dependents", "shop.report")
    assert (ended.code, ended.out, ended.err) == (0, "", "nothing is computed from shop.report\n")
    ended = lakebed("--project", shop, "dependents", "shop.reprot")
    assert ended.code == 2
    assert "did you mean 'shop.report'?" in ended.err


def test_lineage_as_a_tree(lakebed: Lakebed, shop: Path) -> None:
    assert lakebed("--project", shop, "lineage").out == (
        "demo.cities\n"
        "├─ shop.report (append)\n"
        "└─ shop.weekly (overwrite)\n"
        "   └─ shop.report (overwrite)\n"
        "ref.country\n"
        "└─ shop.weekly (validate, see above)\n"
    )


def test_lineage_around_one_table(lakebed: Lakebed, shop: Path) -> None:
    ended = lakebed("--project", shop, "lineage", "ref.country", "--format", "json")
    assert [one["name"] for one in json.loads(ended.out)["tables"]] == [
        "ref.country",
        "shop.weekly",
        "shop.report",
    ]


def test_lineage_for_other_programs(lakebed: Lakebed, shop: Path) -> None:
    mermaid = lakebed("--project", shop, "lineage", "--format", "mermaid").out.splitlines()
    assert mermaid[0] == "graph LR"
    assert '    n0[("demo.cities")]' in mermaid
    assert '    n1(["ref.country"])' in mermaid
    assert "    n1 -.->|validate| n2" in mermaid
    dot = lakebed("--project", shop, "lineage", "--format", "dot").out
    assert dot.startswith("digraph lineage {\n")
    assert '"demo.cities" -> "shop.weekly" [label="overwrite"];' in dot
    told = json.loads(lakebed("--project", shop, "lineage", "--format", "json").out)
    assert {one["kind"] for one in told["tables"]} == {"ingested", "derived", "table"}
    assert {"source": "shop.weekly", "target": "shop.report", "usage": "overwrite"} in told["dependencies"]


def test_plan_of_an_event(lakebed: Lakebed, shop: Path) -> None:
    ended = lakebed("--project", shop, "plan", "--event", "demo.cities:country=CO/day=20220120")
    assert ended.code == 0
    assert ended.out == (
        "1. shop.weekly week=20220115, overwrite\n"
        "   because of demo.cities country=CO/day=20220120\n"
        "   step 1 in shop: totals\n"
        "     SELECT *\n"
        "     FROM demo.cities WHERE day >= '2022-01-15'\n"
        "\n"
        "2. shop.report (whole table), append\n"
        "   because of demo.cities country=CO/day=20220120\n"
        "   step 1 in shop\n"
        "     SELECT 1\n"
        "\n"
        "3. shop.report (whole table), overwrite\n"
        "   because of shop.weekly week=20220115\n"
        "   step 1 in shop\n"
        "     SELECT 1\n"
        "\n"
        "3 runs; nothing was run\n"
    )


def test_plan_of_a_backfill(lakebed: Lakebed, shop: Path) -> None:
    backfill = (
        "--project",
        shop,
        "plan",
        "--backfill",
        "shop.weekly",
        "--from",
        "20220101",
        "--to",
        "20220131",
    )
    told = json.loads(lakebed(*backfill, "--format", "json").out)
    assert [run["partition"]["week"] for run in told["runs"]] == [
        "20220101", "20220108", "20220115", "20220122", "20220129",
    ]  # fmt: skip
    assert len(told["runs"][0]["causes"][0]["partitions"]) == 7
    assert len(json.loads(lakebed(*backfill, "--cascade", "--format", "json").out)["runs"]) == 6


def test_plan_tells_what_waits_and_what_cannot_be(lakebed: Lakebed, shop: Path) -> None:
    file = shop / "datasets" / "shop.report.yaml"
    file.write_text(REPORT.replace("steps:", "when: all\nsteps:"))
    ended = lakebed("--project", shop, "plan", "--event", "demo.cities:day=2022-01-20")
    assert ended.code == 1
    assert "waits: shop.report (whole table) for shop.weekly" in ended.out
    assert "error: shop.weekly: the value '2022-01-20' does not fit the format '%Y%m%d'" in ended.out
    told = json.loads(lakebed("--project", shop, "plan", "--event", "demo.cities", "--format", "json").out)
    assert [one["code"] for one in told["errors"]] == ["partition_not_derivable"]


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--event", "demo.cities", "--backfill", "shop.weekly"],
        ["--event", "demo.cities:day"],
        ["--event", ":day=1"],
        ["--event", "demo.citys:day=20220101"],
        ["--backfill", "shop.wekly", "--from", "20220101", "--to", "20220101"],
        ["--backfill", "shop.weekly", "--from", "2022-01-01", "--to", "20220101"],
        ["--backfill", "shop.weekly"],
    ],
)
def test_plan_of_what_is_not_there(lakebed: Lakebed, shop: Path, options: list[str]) -> None:
    ended = lakebed("--project", shop, "plan", *options)
    assert (ended.code, ended.out) == (2, "")
    assert "what to do:" in ended.err
