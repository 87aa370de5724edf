"""`lakebed validate`, `lakebed schema`, `lakebed --version`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Lakebed


def test_validate_lists_the_datasets(lakebed: Lakebed, project: Path) -> None:
    ended = lakebed("--project", project, "validate")
    assert ended.code == 0
    assert "demo.cities" in ended.out
    assert "shop: 1 dataset, no mistakes" in ended.out


def test_validate_for_scripts(lakebed: Lakebed, project: Path) -> None:
    ended = lakebed("--project", project, "validate", "--format", "json")
    assert json.loads(ended.out)["datasets"] == [
        {
            "dataset": "demo.cities",
            "feed": "snapshot",
            "history": "log",
            "source": "demo/cities/{date:%Y-%m-%d}.csv",
        }
    ]


def test_validate_shows_all_mistakes(lakebed: Lakebed, project: Path) -> None:
    (project / "datasets" / "demo.cities.yaml").write_text("dataset: demo\nfeed: {kind: snapshto}\n")
    ended = lakebed("--project", project, "validate")
    assert ended.code == 2
    assert ended.out == ""
    assert "datasets/demo.cities.yaml:1:10: dataset: expected `database.table`" in ended.err
    assert "datasets/demo.cities.yaml:2:14: feed.kind: expected append | ledger" in ended.err
    assert "did you mean 'snapshot'?" in ended.err
    assert "Traceback" not in ended.err


def test_validate_shows_mistakes_as_json(lakebed: Lakebed, project: Path) -> None:
    (project / "datasets" / "demo.cities.yaml").write_text("dataset: demo\n")
    ended = lakebed("--project", project, "validate", "--format=json")
    assert (ended.code, ended.out) == (2, "")
    error = json.loads(ended.err)["error"]
    assert error["code"] == "invalid_manifest"
    assert error["spark_log"] is None
    places = {(problem["file"], problem["line"], problem["field"]) for problem in error["problems"]}
    assert ("datasets/demo.cities.yaml", 1, "dataset") in places


def test_the_project_and_the_profile_may_come_from_the_environment(
    lakebed: Lakebed, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKEBED_PROJECT", str(project))
    assert lakebed("validate").code == 0
    monkeypatch.setenv("LAKEBED_PROFILE", "prod")
    assert "there is no profile 'prod'" in lakebed("validate").err


@pytest.mark.parametrize(
    ("which", "name"), [("project", "landing"), ("dataset", "feed"), ("dataset", "steps")]
)
def test_schema(lakebed: Lakebed, which: str, name: str) -> None:
    ended = lakebed("schema", which)
    assert ended.code == 0
    told = json.loads(ended.out)
    forms = [told, *told["$defs"].values()]
    assert any(name in form.get("properties", {}) for form in forms)


def test_version(lakebed: Lakebed) -> None:
    ended = lakebed("--version")
    assert ended.code == 0
    assert ended.out.startswith("lakebed 0.")


@pytest.mark.parametrize("command", [["validate"], ["schema", "dataset"], ["--help"]])
def test_no_spark_where_none_is_needed(project: Path, command: list[str]) -> None:
    program = (
        "import sys; from lakebed.cli import main\n"
        f"try: main(['--project', {str(project)!r}, *{command!r}])\n"
        "except SystemExit as ended: assert ended.code == 0, ended.code\n"
        "assert not {'pyspark', 'py4j', 'pandas'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
