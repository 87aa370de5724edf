"""docs/manifest.md: its examples load, and it names every option."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import BaseModel
from tests.manifest.conftest import WriteProject

from lakebed.manifest import (
    Append,
    Changes,
    Current,
    Dataset,
    Debezium,
    Dms,
    Jdbc,
    JdbcQuery,
    LandingFiles,
    Ledger,
    Log,
    Snapshot,
    Updates,
    Versions,
    load_project,
)
from lakebed.manifest.project import ProjectFile

PAGE = (Path(__file__).parents[2] / "docs" / "manifest.md").read_text(encoding="utf-8")


def test_the_examples_load(write_project: WriteProject) -> None:
    project, dataset, template = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
    root = write_project(
        {
            "lakebed.yaml": project,
            "datasets/crm.customers.yaml": dataset,
            "datasets/template.yaml": template,
        }
    )
    names = [dataset.name for dataset in load_project(root, environment={}).datasets]
    assert sorted(names) == ["crm.customers", "{team}_{database}.{table}"]
    assert (
        load_project(root, profile="prod", environment={"CONTROL_PASSWORD": "x"}).spark.master
        == "spark://host:7077"
    )


@pytest.mark.parametrize(
    "model",
    [
        ProjectFile,
        Dataset,
        LandingFiles,
        JdbcQuery,
        Append,
        Ledger,
        Snapshot,
        Updates,
        Changes,
        Log,
        Current,
        Versions,
    ],
)
def test_every_option_is_on_the_page(model: type[BaseModel]) -> None:
    for name, field in model.model_fields.items():
        assert re.search(rf"\b{field.alias or name}\b", PAGE), name


SOURCES = (Path(__file__).parents[2] / "docs" / "sources.md").read_text(encoding="utf-8")


def test_every_option_of_a_database_is_on_the_page_of_sources(write_project: WriteProject) -> None:
    for name in Jdbc.model_fields:
        assert re.search(rf"`{name}`", SOURCES), name
    (example,) = re.findall(r"```yaml\n(.*?)```", SOURCES, flags=re.DOTALL)
    root = write_project({"datasets/crm.people.yaml": example})
    assert load_project(root, environment={"CRM_PASSWORD": "x"}).dataset("crm.people").feed.kind == "snapshot"


ENVELOPES = (Path(__file__).parents[2] / "docs" / "envelopes.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("model", [Debezium, Dms])
def test_every_option_of_an_envelope_is_on_its_page(model: type[BaseModel]) -> None:
    for name in model.model_fields:
        assert re.search(rf"\b{name}\b", ENVELOPES), name


def test_the_example_of_an_envelope_is_the_examples_own() -> None:
    (shown,) = re.findall(r"```yaml\n(.*?)```", ENVELOPES, flags=re.DOTALL)
    example = Path(__file__).parents[2] / "examples" / "debezium_orders" / "datasets" / "shop.orders.yaml"
    lines = example.read_text(encoding="utf-8").splitlines(keepends=True)
    assert shown == "".join(line for line in lines if not line.startswith("#"))
