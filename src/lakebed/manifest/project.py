"""A project: where its data lies, how Spark runs, which datasets it has. The model of `lakebed.yaml`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from lakebed.errors import ManifestError
from lakebed.manifest.dataset import Dataset
from lakebed.manifest.derived import Derived
from lakebed.manifest.explain import found_text, nearest
from lakebed.manifest.options import Settings, Strict, Text, wrong
from lakebed.manifest.problems import Problem

_PROJECT = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
DEFAULT_CONTROL = "sqlite:///.lakebed/control.db"


def _name(name: str) -> str:
    if not _PROJECT.fullmatch(name):
        raise wrong(f"expected a name of letters, digits, _ and -, found {found_text(name)}")
    return name


Name = Annotated[str, AfterValidator(_name)]


class Spark(Strict):
    """How Spark runs: its master, and settings that win over lakebed's own."""

    master: Text = "local[*]"
    conf: Settings = Field(default_factory=dict)


class SparkProfile(Strict):
    """The same for a profile, where everything may be left out."""

    master: Text = ""
    conf: Settings = Field(default_factory=dict)


class Profile(Strict):
    """What one profile (`--profile prod`) has instead of the settings around it."""

    landing: Text = ""
    warehouse: Text = ""
    control: Text = ""
    spark: SparkProfile = SparkProfile()
    on_failure: Text = ""


class ProjectFile(Strict):
    """`lakebed.yaml`."""

    project: Name
    landing: Text = "./landing"
    warehouse: Text = "./warehouse"
    control: Text = DEFAULT_CONTROL
    spark: Spark = Spark()
    on_failure: Text | None = None
    profiles: dict[Name, Profile] = Field(default_factory=dict)


@dataclass(frozen=True)
class Project:
    """A project as it is used: one profile chosen, references replaced, local paths made absolute."""

    name: str
    root: Path
    landing: str
    warehouse: str
    control: str = field(repr=False)  # may hold a password from the environment
    spark: Spark = field(repr=False)
    datasets: tuple[Dataset, ...] = ()
    profile: str | None = None
    on_failure: str | None = None  # a command that is told of every dataset that fails
    derived: tuple[Derived, ...] = ()
    warnings: tuple[Problem, ...] = ()

    def dataset(self, name: str) -> Dataset:
        """One dataset by its name, whatever its case; ManifestError if there is none."""
        for dataset in self.datasets:
            if dataset.name.lower() == name.lower():
                return dataset
        if any(derived.name.lower() == name.lower() for derived in self.derived):
            what = f"{name!r} is a derived dataset: it is computed from other tables, not ingested"
            raise ManifestError(what, code="derived_dataset", where=str(self.root))
        names = [dataset.name for dataset in self.datasets]
        near = nearest(name, [known.lower() for known in names])
        known = f"known are {', '.join(names)}" if names else "the project has none yet"
        raise ManifestError(
            f"there is no dataset {name!r}; {known}", code="unknown_dataset", where=str(self.root), hint=near
        )


def settled(settings: dict[str, Any], root: Path) -> dict[str, Any]:
    """The project's settings with local paths made absolute: relative ones start at the project's folder."""
    model = ProjectFile.model_validate(settings)
    return {
        "name": model.project,
        "landing": _absolute(model.landing, root),
        "warehouse": _absolute(model.warehouse, root),
        "control": model.control,
        "spark": model.spark,
        "on_failure": model.on_failure,
    }


def _absolute(place: str, root: Path) -> str:
    return place if _URL.match(place) else str((root / Path(place).expanduser()).resolve())
