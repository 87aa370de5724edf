"""From a folder to a Project: read every file, find every mistake, show them together. Starts no JVM."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from lakebed.manifest.dataset import Dataset, check_dataset
from lakebed.manifest.explain import Explained, explain_all, nearest
from lakebed.manifest.histories import Versions
from lakebed.manifest.problems import Problem, ProblemsError
from lakebed.manifest.project import Project, ProjectFile, settled
from lakebed.manifest.references import hidden, resolve, secret_in_setting, secret_in_url, texts
from lakebed.manifest.strict_yaml import Document, read_document

PROJECT_FILE = "lakebed.yaml"
DATASETS = "datasets"
USE_THE_ENVIRONMENT = "put it into an environment variable and write ${env:NAME} here"
Model = TypeVar("Model", bound=BaseModel)
Place = tuple[str | int, ...]


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
    loaded = [
        found
        for path in _dataset_files(root, problems)
        if (found := _load_dataset(path, root, environment, problems))
    ]
    problems.extend(_clashes(loaded))
    if problems or settings is None:
        raise ProblemsError(problems)
    datasets = sorted((one.dataset for one in loaded), key=lambda dataset: dataset.name.lower())
    return Project(root=root, datasets=tuple(datasets), profile=profile, **settings)


@dataclass(frozen=True)
class _Loaded:
    dataset: Dataset
    document: Document


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
    for path, conf in _mappings(document.data, ("conf", "options")):
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
        else:
            yield from _mappings(value, names, (*path, name))


def _dataset_files(root: Path, problems: list[Problem]) -> list[Path]:
    folder = root / DATASETS
    if not folder.is_dir():
        return []
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    for path in files:
        if path.suffix.lower() in (".yml", ".yaml", ".json") and path.suffix != ".yaml":
            what = "the name of a dataset's file ends in .yaml, so this one would not be looked at"
            problems.append(Problem(f"{DATASETS}/{path.name}", 0, 0, "", what, "rename it"))
    return [path for path in files if path.suffix == ".yaml"]


def _load_dataset(
    path: Path, root: Path, environment: Mapping[str, str], problems: list[Problem]
) -> _Loaded | None:
    document = read_document(path, path.relative_to(root).as_posix())
    found = list(_secrets(document)) if not document.problems else []
    data = resolve(
        document.data,
        environment,
        lambda where, what, hint: found.append(document.problem(where, what, hint)),
    )
    problems.extend(found)
    dataset = _validated(document, data, Dataset, problems) if not found else None
    if dataset is None:
        return None
    problems.extend(_placed(document, data, one) for one in check_dataset(dataset))
    return _Loaded(dataset, document)


def _validated(document: Document, data: Any, model: type[Model], problems: list[Problem]) -> Model | None:
    if document.problems:
        problems.extend(document.problems)
        return None
    try:
        return model.model_validate(data)
    except ValidationError as error:
        problems.extend(_placed(document, data, one) for one in explain_all(error, model))
        return None


def _placed(document: Document, data: Any, one: Explained) -> Problem:
    """A mistake with its place in the file, under the code that the same mistake has in Python."""
    code = "invalid_options" if one.path[:1] in (("feed",), ("history",)) else "invalid_manifest"
    what, hint = hidden(one.what, one.path, data), hidden(one.hint, one.path, data) if one.hint else None
    return replace(document.problem(one.path, what, hint, on_key=one.on_key), code=one.code or code)


def _clashes(loaded: list[_Loaded]) -> Iterator[Problem]:
    """Two datasets of one name, or a dataset called as the view that a versions table has."""
    first: dict[str, _Loaded] = {}
    for one in loaded:
        name = one.dataset.name.lower()
        if name in first:
            what = f"the name {one.dataset.name!r} is taken by {first[name].document.file} (names are compared without regard to case)"
            yield one.document.problem(("dataset",), what)
        first.setdefault(name, one)
    for name, one in first.items():
        owner = first.get(name.removesuffix("_current")) if name.endswith("_current") else None
        if owner and isinstance(owner.dataset.history, Versions):
            what = f"the name {one.dataset.name!r} is taken by the view of the open versions of {owner.dataset.name}"
            yield one.document.problem(("dataset",), what)
