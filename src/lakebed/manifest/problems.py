"""Mistakes in a project's files: each with its place, all shown together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from lakebed.errors import ManifestError


@dataclass(frozen=True, order=True)
class Problem:
    """One mistake: where it stands, and what is wrong with it."""

    file: str
    line: int
    column: int
    field: str
    what: str
    hint: str | None = None
    code: str = "invalid_manifest"

    def at(self, line: int, column: int) -> Problem:
        """The same mistake at another place."""
        return replace(self, line=line, column=column)

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file

    def __str__(self) -> str:
        field = f"{self.field}: " if self.field else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{self.place}: {field}{self.what}{hint}"


class ProblemsError(ManifestError):
    """A project's files have mistakes; `problems` lists them all, in the order of the files."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(set(problems), key=_order))
        first = self.problems[0]
        several = f"{len(self.problems)} mistakes in the project's files"
        alone = f"{first.field}: {first.what}" if first.field else first.what
        super().__init__(
            alone if len(self.problems) == 1 else several,
            code=first.code if len(self.problems) == 1 else None,
            where=first.place if len(self.problems) == 1 else None,
            hint=first.hint if len(self.problems) == 1 else None,
        )

    def __str__(self) -> str:
        if len(self.problems) == 1:
            return super().__str__()
        return "\n".join([f"{self.what} [{self.code}]", *(f"  {problem}" for problem in self.problems)])

    def as_dict(self) -> dict[str, Any]:
        return {**super().as_dict(), "problems": [asdict(problem) for problem in self.problems]}


def _order(problem: Problem) -> tuple[bool, str, int, int, str]:
    """The project's own file first, then the datasets by name."""
    return (problem.file != "lakebed.yaml", problem.file, problem.line, problem.column, problem.what)
