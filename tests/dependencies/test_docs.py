"""docs/dependencies.md shows what is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import BaseModel
from tests.dependencies.building import event, graph

from lakebed.cli import main
from lakebed.dependencies import plan
from lakebed.dependencies.dates import converted
from lakebed.manifest import Dependency, Derived, Shift, Step, Substitution, load_project
from lakebed.manifest.json_items import as_fields
from lakebed.manifest.strict_yaml import parse_document

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "dependencies.md").read_text(encoding="utf-8")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
    (tmp_path / "datasets").mkdir()
    (tmp_path / "lakebed.yaml").write_text("project: shop\n")
    (tmp_path / "datasets" / "analytics.weekly_sales.yaml").write_text(example)
    return tmp_path


def test_the_example_loads_and_plans_as_shown(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert load_project(shop).warnings == ()
    ((command, shown),) = re.findall(r"```console\n\$ lakebed (plan .*?)\n(.*?)```", PAGE, flags=re.DOTALL)
    with pytest.raises(SystemExit) as ended:
        main(["--project", str(shop), *command.split()])
    assert ended.value.code == 0
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize("model", [Derived, Dependency, Step, Substitution, Shift])
def test_every_field_is_on_the_page(model: type[BaseModel]) -> None:
    for name, field in model.model_fields.items():
        assert re.search(rf"\b{field.alias or name}\b", PAGE), name


def test_D4_the_table_of_shifts() -> None:
    rows = re.findall(r"^\| `(\{.*?\})` \| (\d{4}-\d\d-\d\d) \|", PAGE, flags=re.MULTILINE)
    assert len(rows) == 7
    for text, result in rows:
        shift = Shift.model_validate(parse_document(text, "x").data)
        assert converted("2022-01-20", "%Y-%m-%d", shift, "%Y-%m-%d") == result


def test_D7_the_walkthrough_as_it_should_be() -> None:
    errata = (DOCS / "errata.md").read_text(encoding="utf-8")
    item = {
        "dataset": "a.destination_table",
        "dependencies": [
            {"TableName": "m.customers", "FieldColumn": "day", "Usage": "overwrite", "DateExpression": "%Y%m%d",
             "relativedelta_attributes": {"weekday": "SA(-1)"}}
        ],
        "partitionPythonMask": "%Y%m%d",
        "partitionColumn": "new_date",
        "steps": [{"sql_file": "", "db": "a", "info": "x", "sql": "'$start_date' '$end_date'"}],
        "date_substitutions": [
            {"format": "%Y%m%d", "relativedelta_attributes": {"days": -1}, "token": "$start_date"},
            {"format": "%Y%m%d", "relativedelta_attributes": {"days": -5}, "token": "$end_date"},
        ],
    }  # fmt: skip
    (run,) = plan(graph(Derived.model_validate(as_fields(item))), [event("m.customers", "20220120")]).runs
    assert str(run.partition) == "new_date=20220115"
    assert run.steps[0].sql == "'20220114' '20220110'"
    for text in ("20220115", *run.steps[0].sql.split()):
        assert text in errata
