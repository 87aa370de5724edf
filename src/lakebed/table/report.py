"""What became of the rows of a batch (G8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from pyspark.sql import DataFrame

from lakebed.errors import TableError
from lakebed.history.columns import as_json, as_one, internal
from lakebed.tables.commit_log import Partitions


@dataclass(frozen=True)
class BatchReport:
    """Every row read is in exactly one of applied, unchanged, duplicate, late, rejected; the rest stands beside the sum."""

    batch: int
    read: int = 0
    applied: int = 0
    unchanged: int = 0
    duplicate: int = 0
    late: int = 0
    rejected: int = 0
    conflicts: int = 0
    modified: int = 0
    deleted: int = 0
    already_applied: bool = False
    version: int | None = None
    touched: (
        Partitions | None
    ) = ()  # the partitions whose rows changed (G12); None stands for the whole table

    def as_dict(self) -> dict[str, Any]:
        touched = None if self.touched is None else [dict(partition) for partition in self.touched]
        return {**asdict(self), "touched": touched}

    @classmethod
    def counted(cls, batch: int, counts: Mapping[str, int]) -> BatchReport:
        """A report from all counters but `applied`, which is the rest; raises where the rest cannot be (G8)."""
        named = {f.name for f in fields(cls)}
        known = {name: int(value or 0) for name, value in counts.items() if name in named}
        others = sum(known.get(name, 0) for name in ("unchanged", "duplicate", "late", "rejected"))
        applied = known.get("read", 0) - others
        if applied < 0:
            raise TableError(
                f"the counters of batch {batch} do not add up: {known}",
                code="conservation",
                hint="this is a defect in lakebed: nothing was written; please report it with these counters",
            )
        return cls(batch=batch, **{**known, "applied": applied})  # type: ignore[arg-type]


@dataclass(frozen=True)
class Preview:
    """What a batch would do: its report, and some of the rows it would write, as JSON."""

    report: BatchReport
    sample: tuple[str, ...] = ()

    @classmethod
    def of(cls, report: BatchReport, changed: DataFrame | None, limit: int) -> Preview:
        """With some of the changed rows, internal columns left out."""
        if changed is None:
            return cls(report)
        names = [name for name in changed.columns if not internal(name)]
        shown = changed.select(as_json(as_one(names)))
        return cls(report, tuple(row[0] for row in shown.take(limit)))
