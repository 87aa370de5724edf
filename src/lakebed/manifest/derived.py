"""A derived dataset: which tables it is computed from, by which SQL, into which partition (D1)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from lakebed.manifest.dataset import TARGET_SIZE, DatasetName, Files
from lakebed.manifest.date_formats import problem_with_output_format, problem_with_partition_format
from lakebed.manifest.explain import Explained, found_text
from lakebed.manifest.options import Strict, Text, lower, wrong
from lakebed.manifest.shifts import Shift

Usage = Literal["append", "overwrite", "validate"]
_TABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\.[A-Za-z_][A-Za-z0-9_]*")
_ONLY_DERIVED = ("dependencies", "steps")


def is_derived(data: Mapping[str, Any]) -> bool:
    """Whether a manifest is meant to describe a derived dataset."""
    return "source" not in data and any(name in data for name in _ONLY_DERIVED)


def _table(name: str) -> str:
    if not _TABLE.fullmatch(name):
        raise wrong(f"expected `database.table`, each of letters, digits and _, found {found_text(name)}")
    return name


def _some(values: Sequence[Any]) -> Sequence[Any]:
    if not values:
        raise wrong("expected at least one entry, found an empty list")
    return values


def _list(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _sql_path(path: str) -> str:
    parts = path.split("/")
    if path.startswith("/") or "\\" in path or any(part in ("", ".", "..") for part in parts):
        raise wrong(f"expected a path inside the project's sql/ folder, found {found_text(path)}")
    return path


class AtLeast(Strict):
    """As many of the triggering dependencies, whichever they are."""

    at_least: Annotated[int, Field(ge=1)]


def _when(value: object) -> object:
    if isinstance(value, AtLeast) or value in ("any", "all"):
        return value
    count = value.get("at_least") if isinstance(value, Mapping) and list(value) == ["at_least"] else None
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        found = f"{{at_least: {count}}}" if count is not None else found_text(value)
        raise wrong(f"expected any, all or {{at_least: 2}}, found {found}")
    return AtLeast(at_least=count)


TableName = Annotated[str, AfterValidator(_table)]
When = Annotated[
    Literal["any", "all"] | AtLeast,
    BeforeValidator(_when),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": ["any", "all"]},
                {
                    "type": "object",
                    "properties": {"at_least": {"type": "integer", "minimum": 1}},
                    "required": ["at_least"],
                    "additionalProperties": False,
                },
            ]
        }
    ),
]


class Dependency(Strict):
    """A table that is read, and what its arrivals do (D3, D4)."""

    table_name: TableName
    usage: Usage
    required: bool = False
    field_column: Text | None = None
    date_expression: Text | None = None
    relativedelta_attributes: Shift = Shift()

    @property
    def triggers(self) -> bool:
        return self.usage != "validate"


class Step(Strict):
    """One SQL statement (D16). In a loaded project `sql` is there, read from `sql_file` where it was not given."""

    db: Text | None = None
    info: str = ""
    sql: str = ""
    sql_file: Annotated[str, AfterValidator(_sql_path)] | None = None


class Substitution(Strict):
    """A token of the SQL, and the date that takes its place (D5)."""

    token: Text
    format: Text
    relativedelta_attributes: Shift = Shift()


class Derived(Strict):
    """A derived dataset."""

    name: DatasetName = Field(alias="dataset")
    dependencies: Annotated[tuple[Dependency, ...], BeforeValidator(_list), AfterValidator(_some)]
    steps: Annotated[tuple[Step, ...], BeforeValidator(_list), AfterValidator(_some)]
    partition_column: Text | None = None
    partition_python_mask: Text | None = None
    date_substitutions: Annotated[tuple[Substitution, ...], BeforeValidator(_list)] = ()
    when: When = "any"
    helpers: Annotated[tuple[TableName, ...], BeforeValidator(_list)] = ()
    files: Files = Files(target_size=TARGET_SIZE)

    @property
    def triggers(self) -> tuple[Dependency, ...]:
        """The dependencies whose arrivals make a run necessary."""
        return tuple(dependency for dependency in self.dependencies if dependency.triggers)

    def database_of(self, step: Step) -> str:
        """The step's current database; the dataset's own where it names none."""
        return step.db or self.name.partition(".")[0]


def check_derived(derived: Derived) -> Iterator[Explained]:
    """What no field can tell alone: can a partition be derived, and every token computed?"""
    yield from _check_partition(derived)
    for index, dependency in enumerate(derived.dependencies):
        yield from _check_dependency(derived, dependency, ("dependencies", index))
    for index, step in enumerate(derived.steps):
        if not step.sql.strip() and step.sql_file is None:
            yield Explained(("steps", index), "a step needs 'sql' or 'sql_file' (D16)")
    yield from _check_tokens(derived)
    yield from _check_when(derived)


def _check_partition(derived: Derived) -> Iterator[Explained]:
    mask = derived.partition_python_mask
    if derived.partition_column and not mask:
        yield Explained(("partition_column",), "'partition_python_mask' is missing beside it (D4)")
    if mask and not derived.partition_column:
        yield Explained(("partition_python_mask",), "'partition_column' is missing beside it (D4)")
    if mask:
        # Only tokens need the way back from the partition to its date.
        check = problem_with_partition_format if derived.date_substitutions else problem_with_output_format
        if problem := check(mask):
            yield Explained(("partition_python_mask",), f"the format cannot be used: {problem}")


def _check_dependency(
    derived: Derived, dependency: Dependency, here: tuple[str | int, ...]
) -> Iterator[Explained]:
    if derived.partition_column and dependency.triggers:
        for name in ("field_column", "date_expression"):
            if getattr(dependency, name) is None:
                what = f"{name!r} is missing: without it no arrival tells which partition to compute (D6)"
                yield Explained(here, what)
    if dependency.date_expression and (problem := problem_with_partition_format(dependency.date_expression)):
        yield Explained((*here, "date_expression"), f"the format cannot be used: {problem}")
    if derived.dependencies.index(dependency) != here[-1]:
        yield Explained(here, f"the same dependency on {dependency.table_name!r} is there twice")


def _check_tokens(derived: Derived) -> Iterator[Explained]:
    seen: set[str] = set()
    for index, substitution in enumerate(derived.date_substitutions):
        here = ("date_substitutions", index)
        if substitution.token in seen:
            yield Explained((*here, "token"), f"the token {substitution.token!r} is there twice")
        seen.add(substitution.token)
        if problem := problem_with_output_format(substitution.format):
            yield Explained((*here, "format"), f"the format cannot be used: {problem}")
    if derived.date_substitutions and not derived.partition_column:
        what = "tokens are computed from the target's partition, and there is no 'partition_column' (D5)"
        yield Explained(("date_substitutions",), what)


def _check_when(derived: Derived) -> Iterator[Explained]:
    count = len(derived.triggers)
    if isinstance(derived.when, AtLeast) and derived.when.at_least > count:
        what = f"at_least is {derived.when.at_least}, but only {count} dependencies can trigger (D8)"
        yield Explained(("when",), what)
    if derived.name.lower() in lower(derived.helpers):
        yield Explained(("helpers",), f"the dataset {derived.name!r} itself is no table beside it")
