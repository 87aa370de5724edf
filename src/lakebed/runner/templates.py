"""One manifest for many tables: which datasets a template stands for, told by what has landed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import ValidationError

from lakebed.errors import ManifestError
from lakebed.manifest import Dataset, LandingFiles, Project
from lakebed.sources import FileSource, Folder, FoundFile, landing_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def filled_in(project: Project, spark: Callable[[], SparkSession]) -> tuple[Project, list[str]]:
    """The project with a dataset for every table that has landed in place of each template, and notes on paths of which no
    name can be made. A dataset that has a manifest of its own is left to that one. `spark` is called only where a template's
    files are not in a folder of this machine."""
    if not any(dataset.name_parts for dataset in project.datasets):
        return project, []
    landing = landing_folder(project.landing, spark)
    own = [dataset for dataset in project.datasets if not dataset.name_parts]
    taken = {dataset.name.lower() for dataset in own}
    notes: list[str] = []
    for template in project.datasets:
        for dataset in _datasets(template, landing, notes) if template.name_parts else ():
            if dataset.name.lower() not in taken:
                taken.add(dataset.name.lower())
                own.append(dataset)
    return replace(project, datasets=tuple(sorted(own, key=lambda one: one.name))), notes


def _datasets(template: Dataset, landing: Folder, notes: list[str]) -> list[Dataset]:
    names = template.name_parts
    seen: dict[tuple[str, ...], str] = {}
    assert isinstance(template.source, LandingFiles)
    for file in _landed(FileSource(template, landing)):
        parts = template.source.pattern.match(file.path) or {}
        seen.setdefault(tuple(str(parts[name]) for name in names), file.path)
    found: dict[str, list[tuple[Dataset, str]]] = {}
    for values, path in sorted(seen.items()):
        try:
            dataset = template.made_of(dict(zip(names, values, strict=True)))
        except ValidationError:
            notes.append(f"not taken: {path}: no name of a table can be made of {', '.join(values)}")
        else:
            found.setdefault(dataset.name.lower(), []).append((dataset, path))
    for same in found.values():
        if len(same) > 1:
            paths = ", ".join(path for _, path in same)
            notes.append(
                f"not taken: {paths}: all would be {same[0][0].name}; give the template a name that keeps them apart"
            )
    return [same[0][0] for same in found.values() if len(same) == 1]


def _landed(source: FileSource) -> list[FoundFile]:
    """As long as there is no landing folder, nothing has landed."""
    try:
        return source.find()
    except ManifestError as error:
        if error.code != "landing_missing":
            raise
        return []
