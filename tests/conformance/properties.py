"""Properties of every case beside what it expects: G6 (any delivery, one table) and R2 (one truth in three histories)."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.conformance.cases import Batch, Case, number_of, schema_of
from tests.conformance.checks import Failed, Open, own_to_leave_out
from tests.conformance.compare import Table, difference, without
from tests.conformance.invariants import own_names

_TIED_TO_ITS_BATCH = ("schema", "event_time", "number", "feed", "history")
_REFUSED_NAMES = ("reserved_column", "invalid_options")


def chosen(case: Case, one_in: int) -> bool:
    """Whether a case belongs to a fixed part of all, told by its name alone."""
    return int(hashlib.sha256(case["name"].encode()).hexdigest(), 16) % one_in == 0


def converges(case: Case) -> bool:
    """Whether G6 promises that no delivery of the rows matters."""
    feed, history = case["feed"], case["history"]
    return (
        feed["kind"] in ("updates", "changes")
        and bool(feed.get("order_by"))
        and history["kind"] in ("current", "versions")
        and not history.get("initial_valid_from")
        and "expected_error" not in case
        and not any(name in batch for batch in case["batches"] for name in _TIED_TO_ITS_BATCH)
        and not _may_take_the_time_of_its_batch(case)
    )


def _may_take_the_time_of_its_batch(case: Case) -> bool:
    """Whether a delete or truncate may be there without any time of its own: it takes the system time then (G3), and the
    table depends on the delivery. (An upsert without `valid_from` is a bad row; we do not look which one a row is.)"""
    feed, valid_from = case["feed"], case["history"].get("valid_from")
    if not valid_from or feed.get("event_time") or not (feed.get("delete_when") or feed.get("truncate_when")):
        return False
    return any(_get(row, valid_from.lower()) is None for batch in case["batches"] for row in batch["rows"])


def has_three_histories(case: Case) -> bool:
    """Whether R2 speaks about the case."""
    return (
        case["feed"]["kind"] in ("snapshot", "updates", "changes")
        and "expected_error" not in case
        and case["history"].get("deletes") != "ignore"
    )


def delivered_otherwise(case: Case, seed: int) -> Case:
    """The same rows: some repeated, all shuffled, split into one to four batches."""
    dice = random.Random(f"{case['name']} {seed}")
    rows = [row for batch in case["batches"] for row in batch["rows"]]
    rows += [row for row in rows if dice.random() < 0.3]
    dice.shuffle(rows)
    parts: list[list[Any]] = [[] for _ in range(dice.randint(1, 4))]
    for row in rows:
        dice.choice(parts).append(row)
    start = datetime(2030, 1, 1, tzinfo=UTC)
    batches = [
        {"system_time": (start + timedelta(days=day)).isoformat(), "rows": part}
        for day, part in enumerate(parts)
    ]
    return {
        "name": f"{case['name']}~{seed}",
        **{part: case[part] for part in ("schema", "feed", "history")},
        "batches": batches,
    }


def final_table(case: Case, opened: Open) -> Table:
    """The table after all batches, without `sk`, `row_hash` and what is internal."""
    return without(_played(case, opened).table(), own_to_leave_out(case))


def _played(case: Case, opened: Open) -> Any:
    dataset = opened(case)
    for place, batch in enumerate(case["batches"], 1):
        dataset.apply(batch, schema_of(case, batch), number_of(case, place))
    return dataset


def broken_convergence(case: Case, opened: Open, seeds: Iterator[int] | range) -> list[str]:
    """G6: the deliveries of the case's rows that end in another table."""
    first = final_table(
        {**case, "name": f"{case['name']}~first"}, opened
    )  # its own table: others run the case too
    wrong = []
    for seed in seeds:
        other = delivered_otherwise(case, seed)
        found = difference(final_table(other, opened), first.rows)
        if found:
            wrong.append(f"G6: delivery {seed} ends in another table:\n{_told(other['batches'])}\n{found}")
    return wrong


def _told(batches: list[Batch]) -> str:
    return "\n".join(f"  batch {place}: {batch['rows']}" for place, batch in enumerate(batches, 1))


def broken_identity(case: Case, opened: Open) -> list[str]:
    """R2: log state = current = open, undeleted versions, on the data columns."""
    states: dict[str, Table] = {}
    for kind in ("log", "current", "versions"):
        history = case["history"] if case["history"]["kind"] == kind else {"kind": kind}
        same = {**case, "name": f"{case['name']}={kind}", "history": history}
        try:
            dataset = _played(same, opened)
            if history.get("valid_from") and dataset.rejected()["null_event_time"]:
                return []  # rows that are bad here have no fault in the other histories (G5)
            states[kind] = live_rows(same, dataset)
        except Failed as failed:
            if failed.code not in _REFUSED_NAMES or history is case["history"]:
                raise
    (first, table), *others = states.items()
    found = {kind: difference(other, table.rows) for kind, other in others}
    return [f"R2: {kind} against {first}: {text}" for kind, text in found.items() if text]


def live_rows(case: Case, dataset: Any) -> Table:
    """The rows that hold now, data columns only."""
    if case["history"]["kind"] == "log":
        return without(dataset.state(), own_names(case))
    table, rename = dataset.table(), case["history"].get("rename") or {}
    yes = (case["history"].get("flag") or (True, False))[0]
    flag, deleted = (rename.get(name, name).lower() for name in ("is_current", "is_deleted"))
    if case["history"]["kind"] == "versions":
        rows = [row for row in table.rows if _get(row, flag) == yes and not _get(row, deleted)]
    elif case["history"].get("deletes") == "flag":
        rows = [row for row in table.rows if not _get(row, deleted)]
    else:
        rows = list(table.rows)
    return without(Table(rows, table.kinds), own_names(case))


def _get(row: Any, name: str) -> Any:
    return {column.lower(): value for column, value in row.items()}.get(name)
