"""The cities, day by day: `python -m examples.cities.play [FOLDER]`, or `make demo`.

The example is copied into a fresh folder. Then, three times, a file lands, lakebed runs, and the history is shown.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lakebed.cli.failures import exit_code_of
from lakebed.cli.progress import progress
from lakebed.cli.rows import first_rows
from lakebed.cli.show import ordered_rows
from lakebed.cli.spark import spark_of
from lakebed.errors import ManifestError
from lakebed.manifest import Project, load_project
from lakebed.runner import run_project

HERE = Path(__file__).parent
FOLDER = Path(".lakebed") / "demo" / "cities"
NAME = "demo.cities"
MARK = ".made-by-play"
LANDING = "landing/demo/cities"
COLOURS = {"+A": "green", "-R": "red", "-C": "yellow", "+C": "yellow"}
DAYS = {
    "2024-01-01.csv": "The first list arrives: every city appears, +A.",
    "2024-01-02.csv": "A census in Vancouver: -C takes the old row back, with the time it had, and +C puts the new one.",
    "2024-01-03.csv": "Seattle is gone from the list, -R, and Portland is new, +A. Vancouver is as it was: no row.",
}


@dataclass(frozen=True)
class Day:
    """One day of the play: the file that landed, and the history after it."""

    file: str
    history: list[dict[str, Any]]


def play(folder: Path, console: Console) -> list[Day]:
    """Play the example in a folder, which is made anew."""
    project = prepare(folder)
    spark = spark_of(project, short=True)
    return [show_day(project, console, spark, file) for file in DAYS]


def prepare(folder: Path) -> Project:
    """The example in a folder of its own, with nothing landed yet. Only an earlier play is ever removed."""
    if folder.exists():
        if not (folder / MARK).is_file():
            raise ManifestError(
                "the folder is there, and no earlier play made it", where=str(folder), hint="name a new one"
            )
        shutil.rmtree(folder)
    shutil.copytree(HERE / "datasets", folder / "datasets")
    shutil.copy(HERE / "lakebed.yaml", folder)
    (folder / MARK).touch()
    (folder / LANDING).mkdir(parents=True)
    return load_project(folder)


def show_day(project: Project, console: Console, spark: Any, file: str) -> Day:
    """A file lands, lakebed runs, the history is shown."""
    landed = project.root / LANDING / file
    shutil.copy(HERE / "days" / file, landed)
    console.rule(Text(f"{file} lands"), align="left")
    console.print(Text(landed.read_text(encoding="utf-8")))
    with progress(quiet=False) as shown:
        outcome = run_project(project, progress=shown, spark=spark)
    for failed in outcome.failed:
        raise failed.error or AssertionError
    rows = first_rows(ordered_rows(project, project.dataset(NAME), spark), 1000)
    console.print(Text(f"\n{DAYS[file]}"))
    console.print(as_table(list(rows.columns), rows.for_people()))
    return Day(file, rows.read())


def as_table(columns: list[str], rows: list[dict[str, Any]]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        table.add_column(name, justify="right" if name in ("offset", "population") else "left")
    for row in rows:
        table.add_row(*(Text(str(row[name])) for name in columns), style=COLOURS[row["op"]])
    return table


def what_next(folder: Path) -> str:
    """Commands that work as they are printed."""
    command = f"{lakebed_command()} --project {folder}"
    return f"""\
What to try next:

  {command} show {NAME} --format csv
  {command} log {NAME}
  {command} status

Let another day land, and run again:

  printf 'country,city,population\\nCA,Vancouver,2606000\\n' > {folder}/{LANDING}/2024-01-04.csv
  {command} run

The example's two manifests are {folder}/lakebed.yaml and {folder}/datasets/{NAME}.yaml;
docs/first-steps.md goes through them."""


def lakebed_command() -> str:
    """How lakebed is called from here: by its name where that is found, else by its path."""
    mine = Path(sys.executable).with_name("lakebed")
    found = shutil.which("lakebed")
    if found and Path(found).resolve() == mine.resolve():
        return "lakebed"
    return str(mine.relative_to(Path.cwd())) if mine.is_relative_to(Path.cwd()) else str(mine)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    console = Console(width=None if sys.stdout.isatty() else 120)
    play(folder, console)
    console.print(Text(what_next(folder)), soft_wrap=True)


if __name__ == "__main__":
    sys.exit(exit_code_of(main, sys.argv[1:]))
