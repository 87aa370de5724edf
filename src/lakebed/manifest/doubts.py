"""What is odd about derived datasets when all manifests are seen together, but no mistake: said as warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lakebed.manifest.dataset import Dataset
from lakebed.manifest.derived import Dependency, Derived
from lakebed.manifest.explain import nearest
from lakebed.manifest.histories import Versions
from lakebed.manifest.loaded import Loaded
from lakebed.manifest.options import lower
from lakebed.manifest.problems import Problem

_VIEW = "_current"
Known = Mapping[str, Dataset | Derived]


def doubts(loaded: Sequence[Loaded]) -> Iterator[Problem]:
    """Every warning that needs more than one manifest to be seen."""
    known = {one.name.lower(): one.dataset for one in loaded if one.dataset is not None}
    for one in loaded:
        if not isinstance(one.dataset, Derived):
            continue
        if not one.dataset.triggers:
            yield one.problem(("dependencies",), "no dependency triggers, so it never runs by itself (D3)")
        for index, dependency in enumerate(one.dataset.dependencies):
            for field, what, hint in _about(one.dataset, dependency, known):
                yield one.problem(("dependencies", index, field), what, hint)


def _about(derived: Derived, dependency: Dependency, known: Known) -> Iterator[tuple[str, str, str | None]]:
    """The field, what is odd about it, and what may help."""
    table = dependency.table_name
    source = known.get(table.lower())
    if source is None:
        owner = known.get(table.lower().removesuffix(_VIEW)) if table.lower().endswith(_VIEW) else None
        if isinstance(owner, Dataset) and isinstance(owner.history, Versions):
            what = f"{table!r} is the view of {owner.name}, and only tables have arrivals"
            yield "table_name", what, f"depend on {owner.name}; the SQL may read the view"
        elif near := nearest(table, list(known)):
            yield "table_name", f"no dataset of this project is called {table!r}", near
        return
    column = dependency.field_column
    if column is None or derived.partition_column is None:
        return
    columns = source.partition_columns if isinstance(source, Dataset) else (source.partition_column or "",)
    if column.lower() not in lower(columns):
        has = f"but by {', '.join(columns)}" if any(columns) else "but not at all"
        what = f"{source.name} is not partitioned by {column!r} ({has}), so its arrivals tell no date (D6)"
        yield "field_column", what, nearest(column, lower(columns))
    elif isinstance(source, Derived) and source.partition_python_mask != dependency.date_expression:
        what = f"{source.name} writes its partitions as {source.partition_python_mask!r}, which is another format"
        yield "date_expression", what, None
