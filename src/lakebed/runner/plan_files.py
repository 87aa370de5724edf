"""A batch's plan as a small JSON file beside its table (decision 6 of docs/architecture.md).

`<warehouse>/<database>/<table>__lakebed/batches/00000007.json`: beside the table's folder and not inside it, where
Delta's VACUUM would take it for rubbish. Created once, never replaced, on the disk before the table is touched. The
control store can be lost: these files and the table tell all that it knew.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from lakebed.control import BatchPlan, Input
from lakebed.errors import TableError
from lakebed.runner.plan_records import PlanRecords
from lakebed.sources import is_local, local_folder

_NAME = re.compile(r"([0-9]{8,})\.json")


class Plans(Protocol):
    """The plans of one table, kept beside it."""

    @property
    def place(self) -> str:
        """Where they are, for messages."""
        ...

    def keep(self, plan: BatchPlan) -> None:
        """Keep the plan, whole or not at all; if there is one for this number, it must be the same."""
        ...

    def after(self, number: int) -> Iterator[BatchPlan]:
        """The plans with a greater number, in order."""
        ...

    def drop(self, number: int) -> None:
        """Set a plan aside that was never carried out."""
        ...

    def skip(self, number: int) -> None:
        """Set a plan aside whose inputs are to be left out for good."""
        ...

    def skipped(self) -> Iterator[tuple[Input, ...]]:
        """The inputs of each plan that was skipped."""
        ...


def plans_beside(table: str, spark: Callable[[], Any]) -> Plans:
    """The plans of the table at this path or URL; Spark is asked for only where the table is not on this machine."""
    if is_local(table):
        return PlanFiles.beside(local_folder(table, setting="warehouse"))
    return PlanRecords(f"{table}__lakebed/batches", spark)


@dataclass(frozen=True)
class PlanFiles:
    """Plans as files of this machine: created once, never replaced, safe from a power cut."""

    folder: Path

    @property
    def place(self) -> str:
        return str(self.folder)

    @classmethod
    def beside(cls, table: Path) -> PlanFiles:
        return cls(table.with_name(f"{table.name}__lakebed") / "batches")

    def path(self, number: int) -> Path:
        return self.folder / f"{number:08}.json"

    def keep(self, plan: BatchPlan) -> None:
        """Write the plan, whole or not at all; if there is one for this number, it must be the same."""
        text = json.dumps(plan.as_dict(), ensure_ascii=False, indent=1, sort_keys=True) + "\n"
        self.folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=self.folder)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.link(name, self.path(plan.number))  # fails where the name is taken, unlike a rename
            _sync(self.folder)
        except FileExistsError:
            if self.read(plan.number) != plan:
                raise TableError(
                    f"batch {plan.number} was planned before, with other inputs",
                    code="plan_differs",
                    where=str(self.path(plan.number)),
                    hint="does another project, or another control store, write this table? Only one may",
                ) from None
        finally:
            Path(name).unlink()

    def read(self, number: int) -> BatchPlan:
        return self._read(self.path(number))

    def _read(self, path: Path) -> BatchPlan:
        try:
            return BatchPlan.from_dict(json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, KeyError, TypeError):
            raise TableError(
                "the plan of a batch cannot be read",
                code="plan_broken",
                where=str(path),
                hint="restore the file from a backup; it was written once and never changed",
            ) from None

    def after(self, number: int) -> Iterator[BatchPlan]:
        """The plans with a greater number, in order."""
        names = [path.name for path in self.folder.iterdir()] if self.folder.is_dir() else []
        found = sorted(int(fit[1]) for name in names if (fit := _NAME.fullmatch(name)))
        return (self.read(one) for one in found if one > number)

    def drop(self, number: int) -> None:
        """Set a plan aside that was never carried out. It stays to be seen, under another name."""
        self._aside(number, "dropped")

    def skip(self, number: int) -> None:
        """Set a plan aside whose inputs are to be left out for good."""
        self._aside(number, "skipped")

    def skipped(self) -> Iterator[tuple[Input, ...]]:
        """The inputs of each plan that was skipped."""
        for path in sorted(self.folder.glob("*.skipped-*.json")) if self.folder.is_dir() else []:
            yield self._read(path).inputs

    def _aside(self, number: int, what: str) -> None:
        place = 1
        while (aside := self.folder / f"{number:08}.{what}-{place}.json").exists():
            place += 1
        if self.path(number).exists():
            self.path(number).rename(aside)
            _sync(self.folder)


def _sync(folder: Path) -> None:
    """A new name is safe from a power cut only when its folder is on the disk too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
