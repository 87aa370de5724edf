"""Everything that is due, once: what has landed becomes tables, and what depends on them is computed, over all hops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from lakebed.errors import LakebedError
from lakebed.manifest import Project
from lakebed.runner.derived_report import PassOutcome, RunProgress
from lakebed.runner.ingest import ours, run_project
from lakebed.runner.passes import derive_project
from lakebed.runner.report import DatasetOutcome, Progress, RunOutcome
from lakebed.runner.work import Edges


class BothProgress(Progress, RunProgress, Protocol):
    """Who wants to know how far both are."""


@dataclass(frozen=True)
class DueOutcome:
    """What was loaded, and what was computed. A failed computation does not fail the load of its source (D11). `trouble` is what the
    computing broke off with, if it did."""

    loaded: RunOutcome
    derived: PassOutcome
    trouble: LakebedError | None = None

    @property
    def failed(self) -> tuple[DatasetOutcome, ...]:
        """Every dataset that failed, loaded or computed, each once."""
        letters = {letter.dataset: letter for letter in self.derived.dead}
        computed = [DatasetOutcome(name, error=_error(letter.error)) for name, letter in letters.items()]
        return (*self.loaded.failed, *computed)

    def as_dict(self) -> dict[str, Any]:
        trouble = self.trouble.as_dict() if self.trouble else None
        return {**self.loaded.as_dict(), "derived": self.derived.as_dict(), "trouble": trouble}


def run_everything_due(
    project: Project,
    *,
    datasets: Sequence[str] | None = None,
    spark: Callable[[], Any],
    edges: Edges | None = None,
    progress: BothProgress | None = None,
) -> DueOutcome:
    """Load all that has landed, then compute all that follows. With names, only these datasets: those that are ingested are
    loaded, those that are derived computed. Where nothing is due, `spark` is not called."""
    derived = {one.name.lower() for one in project.derived}
    named = list(datasets) if datasets is not None else None
    to_load = None if named is None else [name for name in named if name.lower() not in derived]
    to_derive = None if named is None else [name for name in named if name.lower() in derived]
    options: dict[str, Any] = {"spark": spark, "edges": edges, "progress": progress}
    loaded = run_project(project, datasets=to_load, **options)
    computed, trouble = PassOutcome(), None
    if to_derive is None or to_derive:
        computed, trouble = derived_or_trouble(project, datasets=to_derive, **options)
    return DueOutcome(loaded, computed, trouble)


def derived_or_trouble(project: Project, **options: Any) -> tuple[PassOutcome, LakebedError | None]:
    """`derive_project`, and what it broke off with: what was loaded before it is told all the same."""
    try:
        with ours(project.name):
            return derive_project(project, **options), None
    except LakebedError as error:
        return PassOutcome(), error


def _error(data: Any) -> LakebedError:
    return LakebedError(data["what"], code=data["code"], where=data.get("where"), hint=data.get("hint"))
