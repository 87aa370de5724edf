"""`lakebed init`: a small project that runs as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lakebed.cli.output import say
from lakebed.errors import ManifestError

FILES = {
    "lakebed.yaml": """\
project: {name}
landing: ./landing                          # where files arrive
warehouse: ./warehouse                      # where the tables are
control: sqlite:///.lakebed/control.db      # what is planned and what ran; or postgresql://...
""",
    "datasets/demo.cities.yaml": """\
dataset: demo.cities
source:
  files: demo/cities/{{date:%Y-%m-%d}}.csv    # under landing; one file is one complete list of cities
  format: csv
  options: {{header: true}}
  schema: "country string, city string, population bigint"
  event_time: {{from: path, part: date}}      # the date in the file's name
feed: {{kind: snapshot, key: [country, city]}}
history: {{kind: log}}                        # every change, never rewritten
""",
    "landing/demo/cities/2024-01-01.csv": """\
country,city,population
CA,Vancouver,2581000
US,Seattle,3433000
""",
    ".gitignore": ".lakebed/\nwarehouse/\n",
}


def add_to(app: typer.Typer) -> None:
    app.command()(init)


def init(
    directory: Annotated[
        Path, typer.Argument(help="The folder of the new project; made if it is not there.", metavar="[DIR]")
    ] = Path(),
) -> None:
    """Write a small project that runs: lakebed.yaml, one dataset, one file that has landed.

    \b
    Example:
      lakebed init shop
    """
    write_project(directory)
    project = "" if directory == Path() else f" --project {directory}"
    say(f"a project is in {directory.resolve()}; try:")
    say(f"  lakebed{project} run\n  lakebed{project} show demo.cities")


def write_project(directory: Path) -> None:
    """The project's files; refused, before anything is written, where one of them is there already."""
    there = [name for name in FILES if (directory / name).exists()]
    if there:
        raise ManifestError(
            f"{', '.join(there)} is there already, and nothing is overwritten",
            code="already_there",
            where=str(directory.resolve()),
            hint="name a folder that is empty or new: lakebed init DIR",
        )
    for name, text in FILES.items():
        path = directory / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(text.format(name=_name(directory)))
        except OSError as error:
            raise ManifestError(
                f"the file cannot be written: {error.strerror}",
                code="not_written",
                where=str(path),
                hint="name another folder",
            ) from None


def _name(directory: Path) -> str:
    """A project's name from the folder's."""
    name = "".join(char if char.isascii() and char.isalnum() else "_" for char in directory.resolve().name)
    return name if name[:1].isalpha() else f"p_{name}"
