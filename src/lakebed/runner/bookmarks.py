"""What a dataset has taken before, as a source asks for it: from the control store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from lakebed.control import ControlStore, Input
from lakebed.sources import Input as Found

F = TypeVar("F", bound=Found)


@dataclass(frozen=True)
class StoreBookmarks:
    """Those of one dataset."""

    store: ControlStore
    dataset: str

    def not_taken(self, inputs: Sequence[F]) -> list[F]:
        kept = {Input(one.path, one.size, one.modified_ns): one for one in inputs}
        return [kept[one] for one in self.store.not_taken(self.dataset, kept)]

    def taken_paths(self, paths: Iterable[str]) -> dict[str, int]:
        return self.store.taken_paths(self.dataset, paths)

    def known_paths(self) -> dict[str, int | None]:
        return self.store.known_paths(self.dataset)

    def last_planned(self) -> datetime | None:
        last = self.store.last_batch(self.dataset)
        return last.plan.system_time if last else None
