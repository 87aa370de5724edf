"""`lakebed run` over 200 files in 8 datasets, which are loaded side by side, killed by SIGKILL at random moments, then run to its end.
Every table must be that of a run that nobody disturbed, row for row, numbers included; only system time, which is the clock's, is left out.
`kill_lost_store` and `kill_postgres` do the same in other ways."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from pyspark.sql import SparkSession
from tests.end_to_end.killing import (
    CHANGES_VERSIONS,
    SNAPSHOT_LOG,
    batches,
    finish,
    kill_often,
    make_project,
    rows,
)

from evidence.figure import Figure, part
from lakebed.session import session

KILLS, FILES, DATASETS = 50, 200, 8
# Seconds that a run over all files may take, on a slow machine.
LONGEST = 3600


def run(seed: int, share: float) -> Iterator[Figure]:
    return killed(seed, share)


def killed(seed: int, share: float, *, control: str = "", loses_store: bool = False) -> Iterator[Figure]:
    """The series with this control store, or with one that is deleted after every second kill."""
    kills, manifests = part(KILLS, share), dict(itertools.islice(_manifests(), DATASETS))
    days = part(FILES, share) // DATASETS
    with tempfile.TemporaryDirectory(prefix="lakebed-kill-") as name:
        home = Path(name)
        undisturbed = make_project(home / "undisturbed", seed, days, manifests)
        _, worked = finish(undisturbed, LONGEST)
        project = make_project(home / "killed", seed, days, manifests, control)
        print(f"{kills} kills …", flush=True)
        lose = _every_second(project / ".lakebed") if loses_store else None
        # Two kills to a day of files: each comes on average half a day's work into a run, and half of the files are left for the last one.
        met = kill_often(project, seed, kills, worked / days, lose)
        finish(project, LONGEST)
        missing, more = _compared(session("local[2]"), undisturbed, project, list(manifests))
        done, planned = batches(project)
        print("\n".join(met.moments), f"missing {missing}, too many {more}", flush=True)
        yield Figure("runs killed, of them with planned batches open", f"{met.kills}, {met.open_plans}")
        yield Figure("batches planned, and done in the end", f"{planned}, {done}")
        yield Figure("rows missing or different, rows too many", f"{missing}, {more}")


def _manifests() -> itertools.chain[tuple[str, str]]:
    """Snapshots into a log and changes into versions, in turn."""
    return itertools.chain.from_iterable(
        (
            (f"cities{n}", SNAPSHOT_LOG.replace("cities", f"cities{n}")),
            (f"people{n}", CHANGES_VERSIONS.replace("people", f"people{n}")),
        )
        for n in itertools.count(1)
    )


def _every_second(store: Path) -> Callable[[], None]:
    turns = itertools.count(1)

    def lose() -> None:
        if next(turns) % 2 == 0:
            shutil.rmtree(store, ignore_errors=True)

    return lose


def _compared(spark: SparkSession, undisturbed: Path, project: Path, tables: list[str]) -> tuple[int, int]:
    missing = more = 0
    for table in tables:
        expected, found = (Counter(map(str, rows(spark, one, table))) for one in (undisturbed, project))
        missing += (expected - found).total()
        more += (found - expected).total()
    return missing, more
