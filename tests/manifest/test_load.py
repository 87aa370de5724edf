"""A project that is right."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.manifest.conftest import CUSTOMERS, PROJECT, WriteProject

from lakebed.errors import ManifestError
from lakebed.manifest import (
    FromColumn,
    FromPath,
    LandingFiles,
    ProblemsError,
    Project,
    Snapshot,
    Versions,
    load_project,
)


def test_everything_that_is_written_arrives(write_project: WriteProject) -> None:
    root = write_project()
    project = load_project(root)
    assert (project.name, project.root, project.profile) == ("shop", root, None)
    assert (project.landing, project.warehouse) == (f"{root}/landing", f"{root}/warehouse")
    assert project.control == "sqlite:///.lakebed/control.db"
    assert (project.spark.master, project.spark.conf) == ("local[*]", {"spark.sql.shuffle.partitions": "4"})
    (customers,) = project.datasets
    assert customers.name == "crm.customers"
    assert isinstance(customers.source, LandingFiles)
    assert customers.source.format == "csv"
    assert customers.source.options == {"header": "true"}
    assert customers.source.event_time == FromPath(part="date")
    assert customers.feed == Snapshot(key=["id"])
    assert customers.history == Versions(track=["address"])
    assert customers.partition_columns == ("country",)
    assert customers.files.target_size == 128 * 1024 * 1024
    assert project.dataset("CRM.Customers") is customers


def test_what_may_be_left_out(write_project: WriteProject) -> None:
    dataset = (
        "dataset: a.b\nsource: {files: x.csv, format: csv}\nfeed: {kind: append}\nhistory: {kind: log}\n"
    )
    root = write_project({"lakebed.yaml": "project: p\n", "datasets/crm.customers.yaml": dataset})
    project = load_project(root)
    assert project.landing == f"{root}/landing"
    assert project.control == "sqlite:///.lakebed/control.db"
    assert project.spark.master == "local[*]"
    assert project.datasets[0].partition_by is None
    assert project.datasets[0].files.target_size == 128 * 1024 * 1024


def test_a_project_may_have_no_datasets_yet(write_project: WriteProject) -> None:
    project = load_project(write_project({"datasets/crm.customers.yaml": None}))
    assert project.datasets == ()
    with pytest.raises(ManifestError, match=r"no dataset 'a\.b'; the project has none yet"):
        project.dataset("a.b")


def test_a_profile_is_merged_deep_and_the_environment_is_used(write_project: WriteProject) -> None:
    project = load_project(write_project(), profile="prod", environment={"CONTROL_PASSWORD": "hush"})
    assert project.profile == "prod"
    assert project.landing == "s3a://raw/shop"
    assert project.control == "postgresql://lakebed:hush@db/control"
    assert project.spark.master == "spark://host:7077"
    assert project.spark.conf == {"spark.sql.shuffle.partitions": "4"}
    assert "hush" not in repr(project)


def test_the_environment_of_a_profile_that_is_not_used_need_not_be_set(write_project: WriteProject) -> None:
    assert load_project(write_project(), environment={}).name == "shop"


def test_what_comes_from_the_environment_is_not_looked_at_again(write_project: WriteProject) -> None:
    text = PROJECT.replace("./landing", "/data/${env:STAGE}/x")
    project = load_project(write_project({"lakebed.yaml": text}), environment={"STAGE": "${env:OTHER}"})
    assert project.landing == "/data/${env:OTHER}/x"


def test_an_event_time_column_of_the_source_reaches_the_feed(write_project: WriteProject) -> None:
    text = CUSTOMERS.replace("from: path, part: date", "from: column, column: name, format: epoch_ms")
    (dataset,) = load_project(write_project({"datasets/crm.customers.yaml": text})).datasets
    assert isinstance(dataset.source.event_time, FromColumn)
    column = dataset.declared_feed.event_time_column
    assert column is not None
    assert (column.column, column.format) == ("name", "epoch_ms")


def test_datasets_are_sorted_by_name(write_project: WriteProject) -> None:
    first = CUSTOMERS.replace("crm.customers", "app.zebra")
    project = load_project(write_project({"datasets/zz.yaml": first}))
    assert [dataset.name for dataset in project.datasets] == ["app.zebra", "crm.customers"]


def test_all_mistakes_of_all_files_come_together_in_the_order_of_the_files(
    write_project: WriteProject,
) -> None:
    files: dict[str, str | bytes | None] = {
        "lakebed.yaml": PROJECT.replace("landing: ./landing", "landing: 3"),
        "datasets/crm.customers.yaml": CUSTOMERS.replace("format: csv", "format: xls").replace("[id]", "[]"),
        "datasets/a.yaml": "dataset: [",
    }
    with pytest.raises(ProblemsError) as caught:
        load_project(write_project(files))
    places = [(problem.file, problem.line) for problem in caught.value.problems]
    assert places == [
        ("lakebed.yaml", 2),
        ("datasets/a.yaml", 1),
        ("datasets/crm.customers.yaml", 4),
        ("datasets/crm.customers.yaml", 8),
    ]
    assert str(caught.value).startswith("4 mistakes in the project's files")
    told = caught.value.as_dict()["problems"]
    assert told[0]["field"] == "landing"
    assert told[0]["what"] == "expected a text, found 3"


def test_loading_is_quick_and_needs_no_spark(write_project: WriteProject) -> None:
    many: dict[str, str | bytes | None] = {
        f"datasets/d{n}.yaml": CUSTOMERS.replace("crm.customers", f"crm.d{n}") for n in range(50)
    }
    root = write_project(many)
    started = time.perf_counter()
    assert len(load_project(root).datasets) == 51
    assert time.perf_counter() - started < 1
    program = (
        "import sys; from lakebed.manifest import load_project; "
        f"load_project({str(root)!r}); "
        "sys.exit('pyspark' in sys.modules or 'py4j' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_folder_without_a_project_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ProblemsError) as caught:
        load_project(tmp_path)
    assert caught.value.where == str(tmp_path / "lakebed.yaml")
    assert "lakebed init" in str(caught.value.hint)


def test_an_unknown_dataset_offers_the_nearest(write_project: WriteProject) -> None:
    with pytest.raises(ManifestError) as caught:
        load_project(write_project()).dataset("crm.customer")
    assert caught.value.code == "unknown_dataset"
    assert caught.value.hint == "did you mean 'crm.customers'?"


def test_G12_a_partition_may_be_made_of_a_time(write_project: WriteProject) -> None:
    """A column of the rows or one of the table's own; another name is told with its place."""

    def load(made: str) -> Project:
        dataset = CUSTOMERS.replace("[country]", f"[country, {{month: {made}}}]")
        return load_project(write_project({"datasets/crm.customers.yaml": dataset}))

    made = load("{from: valid_from, format: '%Y-%m'}").datasets[0]
    assert made.partition_columns == ("country", "month")
    with pytest.raises(ProblemsError, match="'since' is not in"):
        load("{from: since, format: '%Y-%m'}")
    with pytest.raises(ProblemsError, match="expected a column, or one made of a time"):
        load("'%Y-%m'")


def test_manifests_may_stand_in_folders_of_their_own(write_project: WriteProject) -> None:
    other = CUSTOMERS.replace("crm.customers", "crm.others")
    root = write_project({"datasets/crm/others.yaml": other, "datasets/.draft/x.yaml": "nonsense: ["})
    assert [one.name for one in load_project(root, environment={}).datasets] == [
        "crm.customers",
        "crm.others",
    ]
    (root / "datasets" / "crm" / "more.yml").write_text(other)
    with pytest.raises(ProblemsError, match=r"datasets/crm/more\.yml"):
        load_project(root, environment={})
