"""What the global options say, and the project they name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import typer

from lakebed.manifest import Project, load_project


@dataclass(frozen=True)
class Settings:
    folder: Path
    profile: str | None

    def load(self) -> Project:
        return load_project(self.folder, profile=self.profile)


def settings(context: typer.Context) -> Settings:
    found = context.obj
    assert isinstance(found, Settings)
    return found
