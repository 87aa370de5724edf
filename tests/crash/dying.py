"""Ways to die in the middle of a batch: at each write, and with each prefix of its files."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.crash.scenario import TABLES, Scenario

from lakebed.errors import LakebedError
from lakebed.tables.delta import DeltaTable

WRITES = ("create", "append", "append_again", "replace", "remove")


class DiedError(Exception):
    """Stands for the end of the process."""


class Dying:
    """Lets the n-th write of any table die: before it, after it, or after it with the answer lost."""

    def __init__(self, patch: pytest.MonkeyPatch, nth: int, when: str) -> None:
        self.calls, self.nth, self.when = 0, nth, when
        for name in WRITES:
            patch.setattr(DeltaTable, name, self._dying(getattr(DeltaTable, name)))

    def _dying(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def dies(*args: Any, **options: Any) -> Any:
            self.calls += 1
            mine = self.calls == self.nth
            if mine and self.when == "before":
                raise DiedError
            result = write(*args, **options)
            if mine:
                raise DiedError
            return result

        return dies


def moments(scenario: Scenario) -> list[tuple[int, str]]:
    """Before and after each write of the scenario's batch; "after" is also "it landed, but the answer was lost"."""
    with pytest.MonkeyPatch.context() as counting:
        dying = Dying(counting, -1, "never")
        scenario.second(scenario.copy("counted"))
    return [(nth, when) for nth in range(1, dying.calls + 1) for when in ("before", "after")]


def died(scenario: Scenario, nth: int, when: str) -> Path:
    """A copy of the tables whose batch died at this write."""
    path = scenario.copy(f"died-{nth}-{when}")
    with pytest.MonkeyPatch.context() as patch:
        Dying(patch, nth, when)
        with pytest.raises((DiedError, LakebedError)):
            scenario.second(path)
    return path


def prefixes(scenario: Scenario) -> Iterator[Callable[[], Path]]:
    """All files of Delta are written once, so each prefix of them by time is what a crash may leave: one maker for each."""
    whole = scenario.copy("whole")
    before = {str(path) for path in _files(whole)}
    scenario.second(whole)
    added = [path for path in _files(whole) if str(path) not in before]

    def made(cut: int) -> Path:
        path = scenario.copy(f"cut-{cut}")
        for source in added[:cut]:
            target = Path(str(source).replace(str(whole), str(path), 1))
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
        return path

    for cut in range(1, len(added)):
        yield lambda cut=cut: made(cut)  # type: ignore[misc]


def _files(path: Path) -> list[Path]:
    found = [
        file
        for suffix in TABLES
        for file in Path(f"{path}{suffix}").rglob("*")
        if file.is_file() and ".crc" not in file.name
    ]
    return sorted(found, key=lambda file: file.stat().st_mtime_ns)
