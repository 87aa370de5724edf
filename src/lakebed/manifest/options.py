"""What feeds and histories share: a strict frozen model whose mistakes come out as one clear sentence."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from lakebed.errors import OptionsError
from lakebed.manifest.explain import explain_all, found_text

_SIZE = re.compile(r"([1-9][0-9]*) ?(B|KiB|MiB|GiB)")
_UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def wrong(sentence: str) -> PydanticCustomError:
    """A mistake for which the whole sentence is written here."""
    return PydanticCustomError("lakebed", "{sentence}", {"sentence": sentence})


def lower(names: Iterable[str]) -> list[str]:
    """Names as they are compared: without regard to case (G9)."""
    return [name.lower() for name in names]


def _names(value: object) -> object:
    if not isinstance(value, (list, tuple)):
        raise wrong(f"expected a list of column names, found {found_text(value)}")
    seen: set[str] = set()
    for name in value:
        if not isinstance(name, str) or not name.strip():
            raise wrong(f"expected column names, found {found_text(name)} in the list")
        if name.lower() in seen:
            raise wrong(f"names the column {name!r} twice (names are compared without regard to case)")
        seen.add(name.lower())
    return tuple(value)


def _not_empty(value: Sequence[str]) -> Sequence[str]:
    if not value:
        raise wrong("expected at least one column name, found an empty list")
    return value


def _text(value: str) -> str:
    if not value.strip():
        raise wrong("expected a text, found an empty one")
    return value


def _date(value: object) -> object:
    """A day given as text, as files have it."""
    if isinstance(value, str):
        try:
            return dt.date.fromisoformat(value)
        except ValueError:
            raise wrong(f"expected a date such as 1900-01-31, found {found_text(value)}") from None
    if isinstance(value, dt.datetime):
        raise wrong(f"expected a date such as 1900-01-31, found {found_text(value)}")
    return value


def _setting(value: object) -> object:
    """A setting of Spark or of one of its readers: whatever is written, Spark gets a text."""
    if not isinstance(value, (str, int, float)):
        raise wrong(f"expected a text, a number, true or false, found {found_text(value)}")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _size(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    found = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if not found:
        raise wrong(f"expected a size such as 128MiB (B, KiB, MiB, GiB), found {found_text(value)}")
    return int(found[1]) * _UNITS[found[2]]


def readable(parse: Callable[[str], object], error: type[Exception], sentence: str) -> AfterValidator:
    """A text that `parse` must be able to read; it stays a text. `sentence` may tell {why} not, and what was {found}."""

    def check(text: str) -> str:
        try:
            parse(text)
        except error as why:
            raise wrong(sentence.format(why=why, found=found_text(text))) from None
        return text

    return AfterValidator(check)


Columns = Annotated[Sequence[str], BeforeValidator(_names)]
SomeColumns = Annotated[Columns, AfterValidator(_not_empty)]
Text = Annotated[str, AfterValidator(_text)]
Day = Annotated[dt.date, BeforeValidator(_date)]
Setting = Annotated[str, BeforeValidator(_setting), WithJsonSchema({"type": ["string", "number", "boolean"]})]
Settings = dict[str, Setting]
Size = Annotated[
    int,
    BeforeValidator(_size),
    PlainSerializer(int),
    WithJsonSchema({"type": ["string", "integer"], "examples": ["128MiB"]}),
]


class Strict(BaseModel):
    """Unknown fields, and values of another type than the one expected, are refused; nothing can be changed later."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)


if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass as _RaisesOptionsError
else:

    class _RaisesOptionsError(type(BaseModel)):
        """Building a model by its name raises our error, not pydantic's. (Pydantic itself, validating a whole
        manifest, does not come through here, so there every mistake keeps its place.)"""

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            try:
                return super().__call__(*args, **kwargs)
            except ValidationError as error:
                problems = explain_all(error, cls)
                sentences = [
                    f"{problem.field}: {problem.what}" if problem.field else problem.what
                    for problem in problems
                ]
                hint = next((problem.hint for problem in problems if problem.hint), None)
                raise OptionsError("; ".join(sentences), where=cls.__name__, hint=hint) from None


class Options(Strict, metaclass=_RaisesOptionsError):
    """Base of feeds and histories."""

    kind: str
    # The options that shape rows (G9), each with the way it is written down; all others may change freely.
    _recorded: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}

    def recorded(self) -> dict[str, Any]:
        """The settings that shape rows (G9), as JSON: equal when, and only when, they mean the same.

        What has its default is left out, so that an option added to lakebed later changes nothing for the tables that
        exist; names are in lower case, and sorted where their order has no meaning.
        """
        settings: dict[str, Any] = {"kind": self.kind}
        for name, written in self._recorded.items():
            value = getattr(self, name)
            if value != type(self).model_fields[name].default:
                settings[name] = None if value is None else written(value)
        return settings


def in_order(names: Sequence[str]) -> list[str]:
    return lower(names)


def as_set(names: Sequence[str]) -> list[str]:
    return sorted(lower(names))


def refuse_shared(
    one: str, first: Sequence[str] | None, other: str, second: Sequence[str] | None, why: str
) -> None:
    """No column may be in both options."""
    both = set(lower(first or ())) & set(lower(second or ()))
    if both:
        raise wrong(f"{one} and {other} both name the column {min(both)!r}: {why}")
