"""Conformance cases: where they are, and what each holds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

Case = Mapping[str, Any]
Batch = Mapping[str, Any]

DEFAULT = Path(__file__).parent.parent / "cases"


def load(folders: Iterable[Path] = (DEFAULT,)) -> list[Case]:
    """All cases of a feed and a history in these folders, by name; the dependency cases are another suite's."""
    cases: dict[str, Case] = {}
    for folder in folders:
        files = sorted(Path(folder).glob("*.json"))
        if not files:
            raise FileNotFoundError(f"there are no *.json files in {folder}")
        for file in files:
            for case in json.loads(file.read_text("utf-8")).get("cases", []):
                if "feed" not in case:
                    continue
                if case["name"] in cases:
                    raise ValueError(f"two cases are called {case['name']}")
                cases[case["name"]] = _written_out(case)
    return list(cases.values())


def _written_out(case: dict[str, Any]) -> Case:
    """What a case may leave out: the note, and the batches where it is refused before the first. `on_missing_column: null` may
    come as JSON's null; the option's value is the text."""
    case = {"note": "", "batches": [], **case}
    for part in (case, *case["batches"]):
        if "on_missing_column" in part.get("feed", {}):
            part["feed"]["on_missing_column"] = part["feed"]["on_missing_column"] or "null"
    return case


def times_declared(case: Case) -> bool:
    """Whether the batches have an event time of their own; then it counts as declared (V3)."""
    return any("event_time" in batch for batch in case["batches"])


def schema_of(case: Case, batch: Batch) -> str:
    """The DDL of a batch's rows."""
    ddl: str = batch.get("schema", case["schema"])
    return ddl


def number_of(case: Case, place: int) -> int:
    """The batch number of the entry at a place, from 1."""
    number: int = case["batches"][place - 1].get("number", place)
    return number
