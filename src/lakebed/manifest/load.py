"""From a folder to a Project: read every file, find every mistake, show them together. Starts no JVM."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from lakebed.manifest.dataset import Dataset, check_dataset
from lakebed.manifest.derived import Derived, check_derived
from lakebed.manifest.doubts import doubts
from lakebed.manifest.explain import Explained, explain_all, found_text, nearest
from lakebed.manifest.histories import Versions
from lakebed.manifest.loaded import Loaded, Place, cycles, placed
from lakebed.manifest.problems import Problem, ProblemsError
from lakebed.manifest.project import Project, ProjectFile, settled
from lakebed.manifest.references import resolve, secret_in_setting, secret_in_url, texts
from lakebed.manifest.sql_files import with_sql
from lakebed.manifest.step_checks import check_steps
from lakebed.manifest.strict_json import parse_json
from lakebed.manifest.strict_yaml import Document, read_document

PROJECT_FILE = "lakebed.yaml"
DATASETS = "datasets"
USE_THE_ENVIRONMENT = "put it into an environment variable and write ${env:NAME} here"
Model = TypeVar("Model", bound=BaseModel)


def load_project(
    folder: str | Path = ".", *, profile: str | None = None, environment: Mapping[str, str] | None = None
) -> Project:
    """The project in a folder, or ProblemsError with everything that is wrong in its files."""
    root = Path(folder).resolve()
    environment = os.environ if environment is None else environment
    if not (root / PROJECT_FILE).is_file():
        hint = "give the project's folder with --project, or make a new project with: lakebed init"
        raise ProblemsError([Problem(str(root / PROJECT_FILE), 0, 0, "", "there is no such file", hint)])
    problems: list[Problem] = []
    settings = _load_settings(root, profile, environment, problems)
    warnings: list[Problem] = []
    loaded = [
        found
        for path in _dataset_files(root, problems)
        for found in _load_file(_File(path, root, environment, problems, warnings))
    ]
    problems.extend(_clashes(loaded))
    problems.extend(cycles(loaded))
    if problems or settings is None:
        raise ProblemsError(problems)
    warnings.extend(doubts(loaded))
    datasets = sorted((one.dataset for one in loaded if one.dataset), key=lambda one: one.name.lower())
    return Project(
        root=root,
        datasets=tuple(one for one in datasets if isinstance(one, Dataset)),
        derived=tuple(one for one in datasets if isinstance(one, Derived)),
        profile=profile,
        warnings=tuple(sorted(warnings, key=str)),
        **settings,
    )


def _load_settings(
    root: Path, profile: str | None, environment: Mapping[str, str], problems: list[Problem]
) -> dict[str, Any] | None:
    document = read_document(root / PROJECT_FILE, PROJECT_FILE)
    # References stay as they are here: those of a profile that is not in use need not be set.
    model = _validated(document, document.data, ProjectFile, problems)
    if model is None:
        return None
    found = list(_secrets(document))
    if profile is not None and profile not in model.profiles:
        known = list(model.profiles)
        what = f"there is no profile {profile!r}; known are: {', '.join(known) or 'none'}"
        found.append(document.problem(("profiles",), what, nearest(profile, known), on_key=True))
    if not found:
        overrides = document.data.get("profiles", {}).get(profile, {}) if profile else {}
        base = {name: value for name, value in document.data.items() if name != "profiles"}
        where = _profile_place(profile, overrides)
        settings = resolve(
            merged(base, overrides),
            environment,
            lambda path, what, hint: found.append(document.problem(where(path), what, hint)),
        )
    problems.extend(found)
    return None if found else settled(settings, root)


def merged(base: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Deep: a mapping is merged into a mapping, anything else replaces."""
    result = dict(base)
    for name, value in overrides.items():
        both = isinstance(value, Mapping) and isinstance(result.get(name), Mapping)
        result[name] = merged(result[name], value) if both else value
    return result


def _profile_place(profile: str | None, overrides: Mapping[str, Any]) -> Any:
    """From a path in the merged settings to the path in the file."""
    replaced = {path for path, _ in texts(dict(overrides))}
    return lambda path: ("profiles", profile, *path) if path in replaced else path


def _secrets(document: Document) -> Iterator[Problem]:
    for path, text in texts(document.data):
        if secret_in_url(text):
            yield document.problem(path, "a password is written here in clear", USE_THE_ENVIRONMENT)
    for path, conf in _mappings(document.data, ("conf", "options", "jdbc")):
        for name, value in conf.items():
            if secret_in_setting(name, value):
                yield document.problem(
                    (*path, name), "a secret is written here in clear", USE_THE_ENVIRONMENT
                )


def _mappings(
    data: Any, names: tuple[str, ...], path: Place = ()
) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    if not isinstance(data, Mapping):
        return
    for name, value in data.items():
        if name in names and isinstance(value, Mapping):
            yield (*path, name), value
        yield from _mappings(value, names, (*path, name))


def _dataset_files(root: Path, problems: list[Problem]) -> list[Path]:
    """YAML and JSON, in the folder itself or in folders in it; names that start with a dot are left alone."""
    folder = root / DATASETS
    files = sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )
    for path in files:
        if path.suffix.lower() in (".yml", ".yaml", ".json") and path.suffix not in (".yaml", ".json"):
            what = "the name of a dataset's file ends in .yaml, so this one would not be looked at"
            problems.append(Problem(path.relative_to(root).as_posix(), 0, 0, "", what, "rename it"))
    return [path for kind in (".yaml", ".json") for path in files if path.suffix == kind]


@dataclass(frozen=True)
class _File:
    """A dataset's file, and where its mistakes and warnings are gathered."""

    path: Path
    root: Path
    environment: Mapping[str, str]
    problems: list[Problem]
    warnings: list[Problem]

    @property
    def is_json(self) -> bool:
        return self.path.suffix == ".json"


def _load_file(file: _File) -> list[Loaded]:
    name = file.path.relative_to(file.root).as_posix()
    document = read_document(file.path, name, parse_json if file.is_json else None)
    if document.problems:
        file.problems.extend(document.problems)
        return []
    found = list(_secrets(document))
    data = resolve(
        document.data,
        file.environment,
        lambda where, what, hint: found.append(document.problem(where, what, hint)),
    )
    file.problems.extend(found)
    if found:
        return []
    if not file.is_json:
        return _load_one(file, Loaded.yaml(document, data))
    items = data if isinstance(data, list) else [data]
    loaded: list[Loaded] = []
    for index, item in enumerate(items):
        at: Place = (index,) if isinstance(data, list) else ()
        if isinstance(item, Mapping):
            loaded.extend(_load_one(file, Loaded.item(document, item, at)))
        else:
            file.problems.append(document.problem(at, f"expected an item, found {found_text(item)}"))
    return loaded


def _load_one(file: _File, one: Loaded) -> list[Loaded]:
    """The dataset that a manifest describes, in a list; none if it has mistakes."""
    model: type[Dataset] | type[Derived] = Derived if one.is_derived else Dataset
    try:
        dataset = model.model_validate(one.data)
    except ValidationError as error:
        file.problems.extend(one.placed(explained) for explained in explain_all(error, model))
        return []
    checks = check_dataset(dataset) if isinstance(dataset, Dataset) else check_derived(dataset)
    file.problems.extend(one.placed(explained) for explained in checks)
    if isinstance(dataset, Derived):
        dataset = with_sql(
            dataset,
            file.root,
            lambda path, what: file.problems.append(one.placed(Explained(path, what))),
        )
        file.warnings.extend(one.warnings())
        # Items in JSON are taken as they are: what their steps do beside is said, not refused.
        of_steps = file.warnings if one.is_item else file.problems
        of_steps.extend(one.placed(explained) for explained in check_steps(dataset))
    return [replace(one, dataset=dataset)]


def _validated(document: Document, data: Any, model: type[Model], problems: list[Problem]) -> Model | None:
    if document.problems:
        problems.extend(document.problems)
        return None
    try:
        return model.model_validate(data)
    except ValidationError as error:
        problems.extend(placed(document, data, one) for one in explain_all(error, model))
        return None


def _clashes(loaded: list[Loaded]) -> Iterator[Problem]:
    """Two datasets of one name, or a dataset called as the view that a versions table has."""
    first: dict[str, Loaded] = {}
    for one in loaded:
        name = one.name.lower()
        if name in first:
            what = f"the name {one.name!r} is taken by {first[name].document.file} (names are compared without regard to case)"
            yield one.problem(("dataset",), what)
        first.setdefault(name, one)
    for name, one in first.items():
        owner = first.get(name.removesuffix("_current")) if name.endswith("_current") else None
        if owner and isinstance(owner.dataset, Dataset) and isinstance(owner.dataset.history, Versions):
            what = f"the name {one.name!r} is taken by the view of the open versions of {owner.name}"
            yield one.problem(("dataset",), what)
