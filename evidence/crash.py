"""A batch that writes every table it can (deletes, late events, bad rows), made to die before and after each of its writes, and
with each prefix of the files it adds; then applied again. Every table of the dataset must be that of an undisturbed batch, row
for row and number for number. Each feed in each history that keeps several tables, and some that keep one."""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.conftest import SMALL
from tests.crash.dying import died, moments, prefixes
from tests.crash.scenario import CHANGES, Scenario, content

import lakebed as lb
from evidence.comparing import SIDE_BY_SIDE
from evidence.figure import Figure
from lakebed.session import session

SNAPSHOT = lb.Snapshot(key=["id"], except_columns=["seq", "op"])
ARRIVING = lb.Updates(key=["id"], except_columns=["seq", "op"])
SCENARIOS = {
    "changes as versions": (CHANGES, lb.Versions()),
    "changes as versions, deletes flagged": (CHANGES, lb.Versions(deletes="flag")),
    "changes as current": (CHANGES, lb.Current()),
    "changes as log": (CHANGES, lb.Log()),
    "snapshot as versions": (SNAPSHOT, lb.Versions()),
    "snapshot as log": (SNAPSHOT, lb.Log()),
    "updates by arrival as current": (ARRIVING, lb.Current()),
}


def run(_seed: int, share: float) -> Iterator[Figure]:
    for name in SCENARIOS:
        yield one(name, every=round(1 / share))


def one(name: str, every: int = 1) -> Figure:
    """All states of one scenario, or every so many of them."""
    feed, history = SCENARIOS[name]
    feed = feed.model_copy(update={"on_bad_rows": "quarantine"})
    with tempfile.TemporaryDirectory(prefix="lakebed-crash-") as folder:
        scenario = Scenario(session("local[2]", SMALL), Path(folder) / "base", history, feed)
        scenario.prepare()
        clean = scenario.copy("undisturbed")
        scenario.second(clean)
        expected = content(scenario.spark, clean)
        # All are made before the first is repeated: what makes writes die would meet those of the others.
        broken = [make() for make in itertools.islice(states(scenario), 0, None, every)]

        def repeated(path: Path) -> tuple[int, int]:
            scenario.second(path)
            found = content(scenario.spark, path)
            return _difference(expected, found), _difference(found, expected)

        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            off = list(pool.map(repeated, broken))
    lost, doubled = (sum(counts) for counts in zip(*off, strict=True))
    return Figure(f"{name}: states, rows lost, rows too many or different", f"{len(off)}, {lost}, {doubled}")


def states(scenario: Scenario) -> Iterator[Callable[[], Path]]:
    for nth, when in moments(scenario):
        yield lambda nth=nth, when=when: died(scenario, nth, when)  # type: ignore[misc]
    yield from prefixes(scenario)


def _difference(some: dict[str, list[str]], others: dict[str, list[str]]) -> int:
    """How many rows of some tables are not in the others."""
    return sum((Counter(rows) - Counter(others.get(name, []))).total() for name, rows in some.items())
