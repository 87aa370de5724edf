"""One manifest for many tables: which datasets a template stands for, told by what has landed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pydantic import ValidationError

from lakebed.control import open_store
from lakebed.errors import LakebedError, ManifestError, TransientError
from lakebed.manifest import Dataset, LandingFiles, Project
from lakebed.sources import FileSource, Folder, FoundFile, landing_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def filled_in(project: Project, spark: Callable[[], SparkSession]) -> tuple[Project, list[str]]:
    """The project with a dataset for every table that has landed in place of each template, also where its files have been moved away since
    they were taken; and notes on paths of which no name can be made. A dataset that has a manifest of its own is left to that
    one. `spark` is called only where a template's files are not in a folder of this machine."""
    if not any(dataset.name_parts for dataset in project.datasets):
        return project, []
    landing, known = landing_folder(project.landing, spark), _taken_before(project)
    own = [dataset for dataset in project.datasets if not dataset.name_parts]
    left = {dataset.name.lower() for dataset in own}
    derived = {one.name.lower(): "the derived dataset of that name" for one in project.derived}
    notes: list[str] = []
    made: dict[str, list[_Made]] = {}
    for template in project.datasets:
        for one in _datasets(template, landing, known, notes) if template.name_parts else ():
            made.setdefault(one.dataset.name.lower(), []).append(one)
    for name, several in made.items():
        if name in left:
            continue
        loaded = [one for one in several if one.path == known.get(name)]
        chosen = None if name in derived else (loaded or several)[0]
        beside = f"the template {chosen.template}" if chosen else derived[name]
        notes.extend(
            f"not taken: {one.template} would make {one.dataset.name} too, beside {beside}"
            for one in several
            if one is not chosen
        )
        if chosen:
            own.append(chosen.dataset)
    return replace(project, datasets=tuple(sorted(own, key=lambda one: one.name))), notes


@dataclass(frozen=True)
class _Made:
    """A dataset that a template stands for, and the path that tells so: one that was loaded, if there is any."""

    template: str
    dataset: Dataset
    path: str


def _taken_before(project: Project) -> dict[str, str]:
    """A path of each dataset that the control store knows, by its name in lower case; none where the store does not answer, which whoever
    needs it will be told."""
    try:
        with open_store(project.control, base=project.root) as store:
            return {name.lower(): path for name, path in store.a_path_of_each().items()}
    except LakebedError:
        return {}


def _datasets(template: Dataset, landing: Folder, known: Mapping[str, str], notes: list[str]) -> list[_Made]:
    seen: dict[tuple[str, ...], str] = {}
    for name, path in known.items():
        values = _values(template, path)
        made = _made(template, values) if values is not None else None
        if values is not None and made is not None and made.name.lower() == name:
            seen[values] = path
    for file in _landed(FileSource(template, landing), notes):
        if (values := _values(template, file.path)) is not None:
            seen.setdefault(values, file.path)
    found: dict[str, list[_Made]] = {}
    for values, path in sorted(seen.items()):
        dataset = _made(template, values)
        if dataset is None:
            notes.append(f"not taken: {path}: no name of a table can be made of {', '.join(values)}")
        else:
            found.setdefault(dataset.name.lower(), []).append(_Made(template.name, dataset, path))
    return [one for same in found.values() if (one := _only(same, known, notes)) is not None]


def _values(template: Dataset, path: str) -> tuple[str, ...] | None:
    """What the path has in place of the names in the template's own; None if it is none of its paths."""
    assert isinstance(template.source, LandingFiles)
    parts = template.source.pattern.match(path)
    return None if parts is None else tuple(str(parts[name]) for name in template.name_parts)


def _made(template: Dataset, values: tuple[str, ...]) -> Dataset | None:
    try:
        return template.made_of(dict(zip(template.name_parts, values, strict=True)))
    except ValidationError:
        return None


def _only(same: list[_Made], known: Mapping[str, str], notes: list[str]) -> _Made | None:
    """Of several tables that have one name, the one that was loaded before; none, where that does not tell."""
    name = same[0].dataset.name
    before = [one for one in same if known.get(name.lower()) == one.path]
    chosen = same if len(same) == 1 else before if len(before) == 1 else []
    paths = ", ".join(one.path for one in same if one not in chosen)
    if paths:
        would = "would be, as what was loaded before is," if chosen else "all would be"
        notes.append(f"not taken: {paths}: {would} {name}; give the template a name that keeps them apart")
    return chosen[0] if chosen else None


def _landed(source: FileSource, notes: list[str]) -> list[FoundFile]:
    """As long as there is no landing folder, nothing has landed. Where a part of it cannot be looked at, the tables that are known go on
    all the same: each looks for its own files, and tells if it is the one."""
    try:
        return source.find()
    except ManifestError as error:
        if error.code != "landing_missing":
            raise
    except TransientError as error:
        notes.append(
            f"not looked for new tables of {source.dataset.name}: {error.where}: {error.what}; {error.hint}"
        )
    return []
