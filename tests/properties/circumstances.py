"""What befalls whole tables: truncates, batches that lack columns or have other types, times of batches, partitions. Thousands of
histories share a table and what befalls it, so that many can be tried."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.properties.histories import NEWEST, above, some_time
from tests.properties.setups import DATA, Circumstances, Setup

_PARTITIONS: tuple[list[str] | None, ...] = (None, None, ["a"], ["n"], ["b", "n"])
_NAMING = ("compare", "scope", "track", "track_except", "partition_by", "ignore_nulls")


def befallen(setup: Setup, seed: int) -> Setup:
    """The setup with three to five batches, and with random circumstances."""
    dice = random.Random(f"{setup.name} {seed}")
    count = dice.randint(3, 5)
    feed, history = dict(setup.feed), dict(setup.history)
    feed["on_missing_column"] = dice.choice(["null", "keep"] if feed.get("key") else ["null"])
    partition_by = dice.choice(_PARTITIONS)
    if partition_by:
        history["partition_by"] = partition_by
    if feed["kind"] == "snapshot" and dice.random() < 0.4:
        setup = replace(setup, bad=True)
        feed["on_bad_rows"] = "quarantine"
    truncates = feed["kind"] == "changes" and dice.random() < 0.7
    if truncates:
        feed["truncate_when"] = "op = 'T'"
    timed = "event_time" not in feed and dice.random() < 0.4
    setup = replace(setup, feed=feed, history=history)
    first_needs = {name for options in (feed, history) for name in _named(options)}
    batches = [
        Circumstances(
            lacks=frozenset(_lacking(dice) - (first_needs if place == 0 else set())),
            kinds=(("n", dice.choice(["int", "bigint"])),),
            event_time=_batch_time(setup, place, dice) if timed else None,
        )
        for place in range(count)
    ]
    for place, row in _truncates(setup, count, dice) if truncates else ():
        around = batches[place]
        batches[place] = (
            replace(around, first=(*around.first, row))
            if dice.random() < 0.5
            else replace(around, last=(*around.last, row))
        )
    ties = setup.ties or any(
        around.lacks for around in batches
    )  # the same row is another event without a column
    return replace(setup, batches=tuple(batches), ties=ties)


def _named(options: Mapping[str, Any]) -> list[str]:
    """The columns that an option names, which the first batch must have."""
    return [name for option in _NAMING if isinstance(options.get(option), list) for name in options[option]]


def _lacking(dice: random.Random) -> set[str]:
    return {name for name in (*DATA, "cols") if dice.random() < 0.2}


def _batch_time(setup: Setup, place: int, dice: random.Random) -> str | None:
    """Times of snapshots never fall: what is stale is refused as a whole, which single tables try. Nor do those of logs: L3 does not say
    which time a correction shows when the event it corrects comes again in the same batch, with a smaller one."""
    if setup.feed["kind"] == "snapshot" or setup.history["kind"] == "log":
        return f"2024-03-{place + 1:02}T00:00:00+00:00"
    return some_time(dice) if dice.random() < 0.7 else None


def _truncates(setup: Setup, count: int, dice: random.Random) -> list[tuple[int, dict[str, Any]]]:
    """Up to three truncates and where they come; some come again, with the same time or another one."""
    found = []
    for _ in range(dice.randint(1, 3)):
        row = {"op": "T", "seq": dice.randint(1, NEWEST + 1), "t": some_time(dice)}
        found.append((dice.randrange(count), row))
        if dice.random() < 0.5:
            found.append((dice.randrange(count), row | dice.choice([{}, {"t": some_time(dice)}])))
    return [(place, above(row, place) if setup.in_order else row) for place, row in found]
