"""One manifest for many tables: which datasets a template stands for, told by what has landed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from lakebed.manifest import Dataset, Project
from lakebed.sources import find_files, local_folder


def filled_in(project: Project) -> tuple[Project, list[str]]:
    """The project with a dataset for every table that has landed in place of each template, and notes on paths of which no
    name can be made. A dataset that has a manifest of its own is left to that one."""
    if not any(dataset.name_parts for dataset in project.datasets):
        return project, []
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
    for file in find_files(landing, template):
        parts = template.source.pattern.match(file.path) or {}
        seen.setdefault(tuple(str(parts[name]) for name in names), file.path)
    found = []
    for values, path in sorted(seen.items()):
        try:
            found.append(template.made_of(dict(zip(names, values, strict=True))))
        except ValidationError:
            notes.append(f"not taken: {path}: no name of a table can be made of {', '.join(values)}")
    return found
