"""Pydantic's findings as sentences for people: which field, what was expected, what was found, which name is near."""

from __future__ import annotations

import difflib
import re
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError


@dataclass(frozen=True)
class Explained:
    """One mistake: the way to it (keys and indexes of what the user wrote), the sentence, and what may help."""

    path: tuple[str | int, ...]
    what: str
    hint: str | None = None
    on_key: bool = False
    """The field's name itself is the mistake, not its value."""
    code: str | None = None

    @property
    def field(self) -> str:
        return path_text(self.path)


class Redacted(str):
    """A text that came from the environment: used as it is, shown as the reference it was written as."""

    __slots__ = ("reference",)
    reference: str

    def __new__(cls, text: str, reference: str) -> Redacted:
        redacted = super().__new__(cls, text)
        redacted.reference = reference
        return redacted


def path_text(path: Iterable[str | int]) -> str:
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text


def found_text(value: object) -> str:
    """A value as the user would recognise it, never long."""
    if isinstance(value, Redacted):
        return f"the value of {value.reference}"
    if isinstance(value, str):
        return f"the text {value if len(value) <= 60 else value[:57] + '...'!r}"
    if isinstance(value, (Mapping, list, tuple)):
        empty = "" if value else "n empty"
        return f"a{empty} {'mapping' if isinstance(value, Mapping) else 'list'}"
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    return repr(value)[:60]


def nearest(name: object, known: Sequence[str]) -> str | None:
    match = difflib.get_close_matches(str(name).lower(), known, n=1, cutoff=0.6)
    return f"did you mean {match[0]!r}?" if match else None


def explain_all(error: ValidationError, model: type[BaseModel]) -> list[Explained]:
    """Every finding of `error` once, in the order of the fields. `model` is what was validated."""
    found: dict[tuple[tuple[str | int, ...], str], Explained] = {}
    for detail in error.errors(include_url=False):
        path, models = _walk(model, detail["loc"])
        explained = _explain(detail, path, models)
        found.setdefault((explained.path, explained.what), explained)
    return _without_echoes(list(found.values()))


def _without_echoes(problems: list[Explained]) -> list[Explained]:
    """A value that fits no form of a union is reported once per form: keep the one that looked deepest."""
    kept: list[Explained] = []
    for problem in problems:
        deeper = any(
            len(other.path) > len(problem.path) and other.path[: len(problem.path)] == problem.path
            for other in problems
        )
        if deeper and problem.what.startswith("expected "):
            continue
        if any(other.path == problem.path and not problem.on_key for other in kept):
            continue
        kept.append(problem)
    return kept


_EXPECTED = {
    "string_type": "a text",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "float_type": "a number",
    "list_type": "a list",
    "tuple_type": "a list",
    "is_instance_of": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping of options",
    "model_attributes_type": "a mapping of options",
    "date_type": "a date such as 1900-01-31",
    "date_from_datetime_parsing": "a date such as 1900-01-31",
}
_LIMITS = {
    "greater_than_equal": ("ge", "at least"),
    "less_than_equal": ("le", "at most"),
    "greater_than": ("gt", "more than"),
    "less_than": ("lt", "less than"),
}


def _explain(detail: Any, path: tuple[str | int, ...], models: list[type[BaseModel]]) -> Explained:
    kind, value, context = detail["type"], detail.get("input"), detail.get("ctx", {})
    if kind == "lakebed":
        return Explained(path, context["sentence"], context.get("hint"))
    if kind == "missing":
        return Explained(path[:-1], f"{path[-1]!r} is missing")
    if kind == "extra_forbidden":
        known = _field_names(models)
        what = f"unknown name {path[-1]!r}; known here are {', '.join(known)}"
        return Explained(path, what, nearest(path[-1], known), on_key=True)
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        return _explain_kind(path, value, context)
    if kind == "literal_error":
        known = _quoted(context["expected"])
        return Explained(
            path, f"expected {' | '.join(known)}, found {found_text(value)}", nearest(value, known)
        )
    return Explained(path, f"{_expectation(kind, context) or detail['msg']}, found {found_text(value)}")


def _expectation(kind: str, context: Mapping[str, Any]) -> str | None:
    if kind in _LIMITS:
        name, words = _LIMITS[kind]
        return f"expected a number of {words} {context[name]:g}"
    return f"expected {_EXPECTED[kind]}" if kind in _EXPECTED else None


def _quoted(text: str) -> list[str]:
    """The names in pydantic's `'a', 'b' or 'c'`."""
    return re.findall("'([^']*)'", text)


def _explain_kind(path: tuple[str | int, ...], value: object, context: Mapping[str, Any]) -> Explained:
    """The name that says which form of a union is meant (`kind`, `from`) is missing or wrong."""
    tag, known = _quoted(context["discriminator"])[-1], _quoted(context.get("expected_tags", ""))
    if not isinstance(value, Mapping):
        return Explained(path, f"expected a mapping with {tag!r} in it, found {found_text(value)}")
    if tag not in value:
        return Explained(path, f"{tag!r} is missing")
    found = value[tag]
    return Explained(
        (*path, tag), f"expected {' | '.join(known)}, found {found_text(found)}", nearest(found, known)
    )


def _field_names(models: list[type[BaseModel]]) -> list[str]:
    names: dict[str, None] = {}
    for model in models:
        names.update({(field.alias or name): None for name, field in model.model_fields.items()})
    return list(names)


def _walk(
    model: type[BaseModel], loc: Sequence[str | int]
) -> tuple[tuple[str | int, ...], list[type[BaseModel]]]:
    """Follow pydantic's location through the models. Gives the path in the user's own text, without the steps that
    only say which form of a union was tried, and the models in which the last step is a field."""
    path: list[str | int] = []
    holders: list[type[BaseModel]] = [model]
    here: list[Any] = [model]
    for step in loc:
        models = [form for form in here if isinstance(form, type) and issubclass(form, BaseModel)]
        if len(here) > 1:  # the step only says which form was tried
            here = [form for form in models if step in (form.__name__, _tag_of(form))] or here
            continue
        fields = [found for form in models if (found := _field(form, step)) is not None]
        if fields:
            holders, here = models, [form for field in fields for form in _forms(field)]
        elif isinstance(step, int) or any(get_origin(form) is dict for form in here):
            here = [form for outer in here for argument in _inside(outer)[-1:] for form in _forms(argument)]
        elif models:
            holders = models
        else:
            continue
        path.append(step)
    return tuple(path), holders


def _inside(form: Any) -> list[Any]:
    """What a list or a mapping is of, as in `tuple[X, ...]`."""
    return [argument for argument in get_args(form) if argument is not Ellipsis]


def _field(model: type[BaseModel], step: str | int) -> Any:
    for name, field in model.model_fields.items():
        if step == (field.alias or name):
            return field.annotation
    return None


def _tag_of(model: type[BaseModel]) -> object:
    """What a model's `kind` or `from` says."""
    tag = model.model_fields.get("kind") or model.model_fields.get("from_")
    return tag.default if tag else None


def _forms(annotation: Any) -> list[Any]:
    """The members of a union, without None and without what is said about them."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _forms(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return [form for member in get_args(annotation) for form in _forms(member)]
    if annotation is type(None) or origin is Literal:
        return []
    return [annotation]
