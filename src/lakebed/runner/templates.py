"""One manifest for many tables: which datasets a template stands for, told by what has landed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from lakebed.errors import ManifestError
from lakebed.manifest import Dataset, LandingFiles, Project
from lakebed.sources import FileSource, LocalFolder, is_local, local_folder


def filled_in(project: Project) -> tuple[Project, list[str]]:
    """The project with a dataset for every table that has landed in place of each template, and notes on paths of which no
    name can be made. A dataset that has a manifest of its own is left to that one."""
    if not any(dataset.name_parts for dataset in project.datasets):
        return project, []
    if not is_local(project.landing):
        raise ManifestError(
            "which tables a template stands for can be told only where `landing` is a folder of this machine",
            code="template_elsewhere",
            where="lakebed.yaml",
            hint="give each table a manifest of its own",
        )
    landing = local_folder(project.landing, setting="landing")
    own = [dataset for dataset in project.datasets if not dataset.name_parts]
    taken = {dataset.name.lower() for dataset in own}
    notes: list[str] = []
    for template in project.datasets:
        if not template.name_parts or not landing.is_dir():
            continue
        for dataset in _datasets(template, landing, notes):
            if dataset.name.lower() not in taken:
                taken.add(dataset.name.lower())
                own.append(dataset)
    return replace(project, datasets=tuple(sorted(own, key=lambda one: one.name))), notes


def _datasets(template: Dataset, landing: Path, notes: list[str]) -> list[Dataset]:
    names = template.name_parts
    seen: dict[tuple[str, ...], str] = {}
    assert isinstance(template.source, LandingFiles)
    for file in FileSource(template, LocalFolder(landing)).find():
        parts = template.source.pattern.match(file.path) or {}
        seen.setdefault(tuple(str(parts[name]) for name in names), file.path)
    found = []
    for values, path in sorted(seen.items()):
        try:
            found.append(template.made_of(dict(zip(names, values, strict=True))))
        except ValidationError:
            notes.append(f"not taken: {path}: no name of a table can be made of {', '.join(values)}")
    return found
