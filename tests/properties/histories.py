"""Random histories: few keys, few values, many accidents. A history is its rows, batch by batch."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.conformance.cases import Case
from tests.properties.setups import COLUMNS, DATA, Setup

Row = dict[str, Any]
History = list[list[Row]]
NEWEST = 12  # the greatest order
_START = datetime(2024, 1, 1, tzinfo=UTC)


def random_history(setup: Setup, dice: random.Random) -> History:
    """A history of up to a dozen rows of at most two keys, in the setup's batches."""
    if setup.feed["kind"] == "snapshot":
        return [_snapshot(setup, dice) for _ in setup.batches]
    rows = [_row(setup, dice) for _ in range(dice.randint(1, 9))]
    if not setup.ties:
        rows = list({(row["k"], row["seq"]): row for row in rows}.values())
    rows += [dict(row) for row in rows if dice.random() < 0.15]
    history = delivered(rows, len(setup.batches), dice)
    return _later_ones_newer(history) if setup.in_order else history


def _later_ones_newer(history: History) -> History:
    """The same, with every order above all those of the batches before."""
    return [[above(row, place) for row in rows] for place, rows in enumerate(history)]


def above(row: Row, place: int) -> Row:
    """The row with an order above all those of the batches before the one at this place."""
    return row | {"seq": row["seq"] and row["seq"] + place * NEWEST}


def delivered(rows: Iterable[Row], batches: int, dice: random.Random) -> History:
    """The rows in any order, in any of the batches."""
    history: History = [[] for _ in range(batches)]
    shuffled = list(rows)
    dice.shuffle(shuffled)
    for row in shuffled:
        dice.choice(history).append(row)
    return history


def _snapshot(setup: Setup, dice: random.Random) -> list[Row]:
    rows = [_row(setup, dice) | {"k": k} for k in (1, 2, 3) if dice.random() < 0.7]
    if setup.bad and rows and dice.random() < 0.1:
        rows[0][dice.choice(["k", "t"])] = None
    return rows + [dict(row) for row in rows if dice.random() < 0.1]


def _row(setup: Setup, dice: random.Random) -> Row:
    op = dice.choices(_ops(setup), _weights(setup))[0]
    sets = dice.choice([None, [], ["a"], ["b", "N"], ["a", "b", "n"], ["a", "unknown"]])
    row: Row = {
        "k": dice.randint(1, 2),
        "a": dice.choice(["x", "x", "y", None]),
        "b": dice.choice(["p", "p", "p", "q", None]),
        "n": dice.choice([1, 1, 1, 2, None]),
        "seq": dice.randint(1, NEWEST),
        "op": op,
        "t": some_time(dice),
        "cols": sets,
    }
    if setup.feed.get("present_columns") and sets is not None:
        row |= {name: None for name in DATA if name not in {listed.lower() for listed in sets}}
    if op == "T":
        row["k"] = None
    elif setup.bad and dice.random() < 0.03:
        column = dice.choice(["k", "seq", "t"])
        row[column] = row[column] if column == "t" and _must_have_time(setup, op) else None
    if setup.history.get("valid_from") and not setup.ordered and op == "D" and dice.random() < 0.2:
        row["t"] = (
            None  # the delete takes its event time: here that of its batch, so only where batches matter (G3)
        )
    return row


def _must_have_time(setup: Setup, op: str) -> bool:
    """A delete without any time is no bad row: it takes that of its batch (G3), and no delivery may matter here."""
    timed = bool(setup.history.get("valid_from")) and not setup.feed.get("event_time")
    return op == "D" and timed and setup.converges


def some_time(dice: random.Random) -> str:
    return (_START + timedelta(hours=12 * dice.randint(0, 8))).isoformat()


def _ops(setup: Setup) -> str:
    return "UDBXT" if setup.feed["kind"] == "changes" else "U"


def _weights(setup: Setup) -> list[int]:
    if setup.feed["kind"] != "changes":
        return [1]
    return [14, 5, 1, 1 if setup.bad else 0, 2 if setup.truncates else 0]


def together(setup: Setup, histories: Sequence[History], name: str = "together") -> Case:
    """One case of many histories: the history's number is part of every key."""
    batches: list[dict[str, Any]] = []
    for place, around in enumerate(setup.batches):
        rows = [{"h": number, **row} for number, history in enumerate(histories) for row in history[place]]
        day = datetime(2030, 1, 1 + place, tzinfo=UTC)
        batch = {
            "system_time": day.isoformat(),
            "rows": [*around.first, *rows, *around.last],
            "schema": around.columns,
        }
        batches.append(batch | ({"event_time": around.event_time} if around.event_time else {}))
    return {"name": name, "schema": COLUMNS, "feed": setup.feed, "history": setup.history, "batches": batches}


def told(history: History) -> str:
    """A history for people."""
    lines = []
    for place, rows in enumerate(history, 1):
        lines += [
            f"  batch {place}: " + " ".join(f"{name}={value!r}" for name, value in row.items())
            for row in rows
        ]
    return "\n".join(lines) or "  no rows"
