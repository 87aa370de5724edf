"""Tokens in SQL, replaced by dates (D5)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from lakebed.dependencies.dates import converted
from lakebed.dependencies.events import RunStep
from lakebed.errors import DependencyError
from lakebed.manifest import Derived, Substitution

_NAME = r"\$[^\W\d]\w*"


def render(sql: str, values: Mapping[str, str], refused: Iterable[str] = ()) -> str:
    """The SQL with every token replaced by its value, in one pass, the longest token first; `$$` becomes `$`.

    What was put in is not looked at again. DependencyError `leftover_token` if something like `$name` remains, or one of
    the `refused` tokens, which have no value.
    """
    left: list[str] = []
    forbidden = set(refused)

    def replaced(found: re.Match[str]) -> str:
        text = found[0]
        if text in values:
            return values[text]
        if text == "$$" and text not in forbidden:
            return "$"
        left.append(text)
        return text

    tokens = sorted({*values, *forbidden}, key=lambda token: (-len(token), token))
    pattern = "|".join([*map(re.escape, tokens), re.escape("$$"), _NAME])
    rendered = re.sub(pattern, replaced, sql)
    if left:
        names = ", ".join(dict.fromkeys(left))
        raise DependencyError(
            f"no date_substitutions give a value to {names}",
            code="leftover_token",
            hint="name the token in date_substitutions; a dollar that is meant as such is written $$",
        )
    return rendered


def leftovers(derived: Derived) -> list[str]:
    """What looks like a token in the steps' SQL and is none, each once."""
    tokens = {substitution.token: "" for substitution in derived.date_substitutions}
    known = "|".join(map(re.escape, sorted(tokens, key=len, reverse=True)))
    pattern = re.compile("|".join(filter(None, [known, re.escape("$$"), f"(?P<left>{_NAME})"])))
    found = [match["left"] for step in derived.steps for match in pattern.finditer(step.sql)]
    return list(dict.fromkeys(name for name in found if name))


def token_values(substitutions: Iterable[Substitution], value: str, mask: str) -> dict[str, str]:
    """What each token stands for in the run of a target partition: its date plus the token's shift, in the token's format."""
    return {
        one.token: converted(value, mask, one.relativedelta_attributes, one.format) for one in substitutions
    }


def rendered_steps(derived: Derived, value: str | None) -> tuple[RunStep, ...]:
    """Every step with its SQL for a target partition (None: the table has no partitions, so that no token has a value)."""
    mask = derived.partition_python_mask
    values: dict[str, str] = {}
    if value is not None and mask is not None:
        values = token_values(derived.date_substitutions, value, mask)
    unknown = [one.token for one in derived.date_substitutions if one.token not in values]
    return tuple(
        RunStep(derived.database_of(step), step.info, render(step.sql, values, unknown))
        for step in derived.steps
    )
