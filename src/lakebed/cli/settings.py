"""What the global options say, and the project they name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import typer

from lakebed.cli.output import say
from lakebed.cli.spark import spark_of
from lakebed.manifest import Project, load_project
from lakebed.runner.templates import filled_in


@dataclass(frozen=True)
class Settings:
    folder: Path
    profile: str | None

    def load(self) -> Project:
        """The project, with a dataset for each table that has landed in place of a template."""
        written = self.as_written()
        project, notes = filled_in(written, spark_of(written, loads=True))
        for note in notes:
            say(note)
        return project

    def as_written(self) -> Project:
        return load_project(self.folder, profile=self.profile)


def settings(context: typer.Context) -> Settings:
    found = context.obj
    assert isinstance(found, Settings)
    return found
