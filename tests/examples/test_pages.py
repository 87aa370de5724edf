"""README.md and docs/first-steps.md show what is so: the same manifests, the same files, the same rows."""

from __future__ import annotations

import re
from pathlib import Path

from examples.cities import play
from tests.examples.test_cities import COLUMNS, DAY_3

from lakebed.cli.init import FILES
from lakebed.manifest import load_project

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FIRST_STEPS = (ROOT / "docs" / "first-steps.md").read_text(encoding="utf-8")


def blocks(page: str, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE)


def rows_of_the_seed() -> list[list[str]]:
    """Offset, op, event time and data of the demo's last table."""
    wanted = [COLUMNS.index(name) for name in ("op", "event_time", "country", "city", "population")]
    rows = [[str(offset), *(str(row[place]) for place in wanted)] for offset, row in enumerate(DAY_3)]
    return [
        [cell.replace("e", "2024-01-0") if place == 2 else cell for place, cell in enumerate(row)]
        for row in rows
    ]


def test_first_steps_has_the_examples_own_files() -> None:
    project, dataset = blocks(FIRST_STEPS, "yaml")
    assert project == (play.HERE / "lakebed.yaml").read_text(encoding="utf-8")
    assert dataset == (play.HERE / "datasets" / "demo.cities.yaml").read_text(encoding="utf-8")
    landed = [block for block in blocks(FIRST_STEPS, "") if block.startswith("country,")]
    assert landed == [path.read_text(encoding="utf-8") for path in sorted((play.HERE / "days").iterdir())]


def test_first_steps_has_the_demos_rows() -> None:
    tables = [block for block in blocks(FIRST_STEPS, "") if block.startswith("offset")]
    shown = [line.replace(" 00:00:00", "").split() for table in tables for line in table.splitlines()[1:]]
    assert shown == rows_of_the_seed()


def test_the_readme_has_the_demos_first_rows() -> None:
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in README.splitlines()
        if re.match(r"\| \d", line)
    ]
    assert cells == rows_of_the_seed()[:4]


def test_the_manifest_of_the_readme_is_what_init_writes(tmp_path: Path) -> None:
    (tmp_path / "datasets").mkdir()
    (tmp_path / "lakebed.yaml").write_text("project: shop\n")
    datasets = []
    for text in (blocks(README, "yaml")[0], FILES["datasets/demo.cities.yaml"].format(name="shop")):
        (tmp_path / "datasets" / "demo.cities.yaml").write_text(text)
        datasets.append(load_project(tmp_path).datasets)
    assert datasets[0] == datasets[1]


def test_links_lead_somewhere() -> None:
    for page, folder in ((README, ROOT), (FIRST_STEPS, ROOT / "docs")):
        for link in re.findall(r"\]\(([^)#:]+)\)", page):
            assert (folder / link).is_file(), link
