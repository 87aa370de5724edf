"""By what a table is partitioned (G12): columns of its rows, or texts made of one of its times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, TypeAdapter, ValidationError, WithJsonSchema

from lakebed.errors import OptionsError
from lakebed.manifest.explain import found_text
from lakebed.manifest.formats import problem_with_format
from lakebed.manifest.options import Strict, lower, wrong


class Partition(Strict):
    """A column that tables are partitioned by. With a source it is made of that time, in a strftime format."""

    name: str
    source: str | None = Field(default=None, alias="from")
    format: str | None = None

    @property
    def is_made(self) -> bool:
        return self.source is not None

    def written(self) -> Any:
        """As it stands in a manifest."""
        return {self.name: {"from": self.source, "format": self.format}} if self.is_made else self.name

    def recorded(self) -> Any:
        """As it is kept with the table (G9): equal when it means the same."""
        if self.source is None:
            return self.name.lower()
        return {"name": self.name.lower(), "from": self.source.lower(), "format": self.format}


def _partition(value: object) -> Partition:
    if isinstance(value, Partition):
        return value
    if isinstance(value, str) and value.strip():
        return Partition(name=value)
    if isinstance(value, Mapping) and len(value) == 1:
        ((name, made),) = value.items()
        if (
            isinstance(name, str)
            and name.strip()
            and isinstance(made, Mapping)
            and set(made) == {"from", "format"}
        ):
            source, format_ = made["from"], made["format"]
            if not isinstance(source, str) or not source.strip() or not isinstance(format_, str):
                raise wrong(f"expected texts for 'from' and 'format', found {found_text(dict(made))}")
            if problem := problem_with_format(format_):
                raise wrong(f"the format {format_!r} of {name!r} cannot be used: {problem}")
            return Partition(**{"name": name, "from": source, "format": format_})
    raise wrong(
        f"expected a column, or one made of a time such as {{day: {{from: ordered_at, format: '%Y%m%d'}}}}, "
        f"found {found_text(value)}"
    )


def _partitions(value: object) -> tuple[Partition, ...]:
    if not isinstance(value, (list, tuple)) or not value:
        raise wrong(f"expected a list of at least one column, found {found_text(value)}")
    found = tuple(_partition(one) for one in value)
    names = lower(one.name for one in found)
    for place, name in enumerate(names):
        if name in names[:place]:
            raise wrong(
                f"names the column {found[place].name!r} twice (names are compared without regard to case)"
            )
    return found


_MADE = {
    "type": "object",
    "minProperties": 1,
    "maxProperties": 1,
    "additionalProperties": {
        "type": "object",
        "properties": {"from": {"type": "string"}, "format": {"type": "string"}},
        "required": ["from", "format"],
        "additionalProperties": False,
    },
}
Partitions = Annotated[
    tuple[Partition, ...],
    BeforeValidator(_partitions),
    PlainSerializer(lambda partitions: [one.written() for one in partitions]),
    WithJsonSchema({"type": "array", "minItems": 1, "items": {"anyOf": [{"type": "string"}, _MADE]}}),
]


def partitions_of(partition_by: Sequence[Any]) -> tuple[Partition, ...]:
    """What the library's caller gave, checked as a manifest is; none where it is empty."""
    if not partition_by:
        return ()
    try:
        return TypeAdapter(Partitions).validate_python(partition_by)
    except ValidationError as error:
        what = "; ".join(str(one["msg"]) for one in error.errors())
        raise OptionsError(f"partition_by: {what}", where="partition_by") from None
