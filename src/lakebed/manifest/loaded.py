"""A manifest that was read, with the place of everything in it, and what can be said of several of them together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lakebed.manifest.cycles import find_cycle
from lakebed.manifest.dataset import Dataset
from lakebed.manifest.derived import Derived, is_derived
from lakebed.manifest.explain import Explained
from lakebed.manifest.json_items import as_fields, as_written, in_words, missing_usages
from lakebed.manifest.problems import Problem
from lakebed.manifest.references import hidden
from lakebed.manifest.strict_yaml import Document

Place = tuple[str | int, ...]


@dataclass(frozen=True)
class Loaded:
    """One manifest: `written` is what stands in the file, `data` the same with the names of fields, `at` its place there."""

    document: Document
    data: Any
    written: Any
    at: Place = ()
    is_item: bool = False
    dataset: Dataset | Derived | None = None

    @staticmethod
    def yaml(document: Document, data: Any) -> Loaded:
        return Loaded(document, data, data)

    @staticmethod
    def item(document: Document, item: Mapping[str, Any], at: Place) -> Loaded:
        return Loaded(document, as_fields(item), item, at, is_item=True)

    @property
    def is_derived(self) -> bool:
        return self.is_item or is_derived(self.data)

    @property
    def name(self) -> str:
        assert self.dataset is not None
        return self.dataset.name

    def problem(
        self, path: Place, what: str, hint: str | None = None, *, code: str = "invalid_manifest"
    ) -> Problem:
        return self.placed(Explained(path, what, hint, code=code))

    def placed(self, one: Explained) -> Problem:
        """A mistake with its place in the file, in the words of the file."""
        if not self.is_item:
            return placed(self.document, self.data, one)
        path = (*self.at, *as_written(one.path, self.written))
        hint = in_words(one.hint) if one.hint else None
        told = Explained(path, in_words(one.what), hint, on_key=one.on_key, code=one.code)
        return placed(self.document, self.document.data, told)

    def warnings(self) -> Iterator[Problem]:
        """What is odd in this manifest alone, but no mistake."""
        for path in missing_usages(self.written) if self.is_item else ():
            what = "'Usage' is missing, so it is taken as validate: this table never triggers (D3)"
            yield self.problem(path, what, "write append, overwrite or validate")


def placed(document: Document, data: Any, one: Explained) -> Problem:
    """A mistake with its place in the file, under the code that the same mistake has in Python."""
    code = "invalid_options" if one.path[:1] in (("feed",), ("history",)) else "invalid_manifest"
    what, hint = hidden(one.what, one.path, data), hidden(one.hint, one.path, data) if one.hint else None
    return replace(document.problem(one.path, what, hint, on_key=one.on_key), code=one.code or code)


def cycles(loaded: Sequence[Loaded]) -> Iterator[Problem]:
    """D12. A dataset that, over others, depends on itself."""
    derived = {one.name.lower(): one for one in loaded if isinstance(one.dataset, Derived)}
    edges: dict[str, list[str]] = {}
    for name, one in derived.items():
        for table in tables_of(one):
            edges.setdefault(table.lower(), []).append(name)
    cycle = find_cycle(edges)
    if not cycle:
        return
    one = derived[cycle[1]]
    index = [table.lower() for table in tables_of(one)].index(cycle[0])
    way = " → ".join(derived[name].name for name in cycle)
    what = f"the datasets depend on each other in a circle: {way} (D12)"
    hint = "take one of them out; a step may read its own table without naming it here"
    yield one.problem(("dependencies", index, "table_name"), what, hint, code="dependency_cycle")


def tables_of(one: Loaded) -> list[str]:
    assert isinstance(one.dataset, Derived)
    return [dependency.table_name for dependency in one.dataset.dependencies]
