"""`lakebed init`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Lakebed

from lakebed.manifest import LandingFiles, load_project


def test_writes_a_project_that_is_right(lakebed: Lakebed, tmp_path: Path) -> None:
    ended = lakebed("init", tmp_path / "shop")
    assert ended.code == 0
    assert f"lakebed --project {tmp_path / 'shop'} run" in ended.err
    project = load_project(tmp_path / "shop")
    assert project.name == "shop"
    (dataset,) = project.datasets
    assert dataset.name == "demo.cities"
    assert isinstance(dataset.source, LandingFiles)
    (landed,) = (tmp_path / "shop" / "landing").rglob("*.csv")
    assert (
        dataset.source.pattern.match(landed.relative_to(tmp_path / "shop" / "landing").as_posix()) is not None
    )


def test_here_is_the_default(lakebed: Lakebed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ended = lakebed("init")
    assert ended.code == 0
    assert "  lakebed run\n" in ended.err
    assert (tmp_path / "lakebed.yaml").is_file()


def test_overwrites_nothing(lakebed: Lakebed, tmp_path: Path) -> None:
    (tmp_path / "lakebed.yaml").write_text("mine")
    ended = lakebed("init", tmp_path)
    assert ended.code == 2
    assert "lakebed.yaml is there already, and nothing is overwritten" in ended.err
    assert [path.name for path in tmp_path.iterdir()] == ["lakebed.yaml"]
    assert (tmp_path / "lakebed.yaml").read_text() == "mine"


@pytest.mark.parametrize("name", ["2024 sales", "läden", "a'b: c #", "-x"])
def test_any_folder_name_gives_a_project_that_is_right(lakebed: Lakebed, tmp_path: Path, name: str) -> None:
    assert lakebed("init", tmp_path / name).code == 0
    load_project(tmp_path / name)


def test_a_place_that_cannot_be_written(lakebed: Lakebed, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ended = lakebed("init", tmp_path / "file" / "shop")
    assert ended.code == 2
    assert "cannot be written: Not a directory" in ended.err
