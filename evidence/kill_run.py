"""`lakebed run` killed by SIGKILL while it works, again and again, then run to its end. Two datasets: snapshots into a
log, and changes with late events into versions, where a batch is several commits. Every second kill or so takes Python
alone and leaves a JVM that may still be committing while the next run begins. The tables must be those of a run that
nobody disturbed, row for row, numbers included; only system time, which is the clock's, is left out."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.end_to_end.killing import (
    CHANGES_VERSIONS,
    SNAPSHOT_LOG,
    batches,
    finish,
    kill_often,
    make_project,
    rows,
)

from evidence.comparing import missing
from evidence.figure import Figure, part
from lakebed.session import session

KILLS, DAYS = 10, 12
DATASETS = {"cities": SNAPSHOT_LOG, "people": CHANGES_VERSIONS}


def run(seed: int, share: float) -> list[Figure]:
    kills, days = part(KILLS, share), part(DAYS, share)
    with tempfile.TemporaryDirectory(prefix="lakebed-kill-") as name:
        undisturbed = make_project(Path(name) / "undisturbed", seed, days, DATASETS)
        _, worked = finish(undisturbed)
        project = make_project(Path(name) / "killed", seed, days, DATASETS)
        met = kill_often(project, seed, kills, longest_wait=2 * worked / (days * len(DATASETS)))
        last, _ = finish(project)
        spark = session("local[2]")
        expected = {table: rows(spark, undisturbed, table) for table in DATASETS}
        found = {table: rows(spark, project, table) for table in DATASETS}
        done, planned = batches(project)
    offsets = [row["offset"] for row in found["cities"]]
    applied = sum(batch["already_applied"] for one in last["datasets"] for batch in one["batches"])
    return [
        Figure("runs killed", met.kills),
        Figure("kills that left a planned batch open", met.open_plans),
        Figure("batches that the last run found applied already", applied),
        Figure("batches planned, and done in the end", f"{planned}, {done}"),
        Figure("rows expected", sum(map(len, expected.values()))),
        Figure(
            "rows missing or different", sum(missing(expected[table], found[table]) for table in DATASETS)
        ),
        Figure("rows too many", sum(missing(found[table], expected[table]) for table in DATASETS)),
        Figure("gaps in the log's offsets", sum(a != b for a, b in enumerate(offsets))),
    ]
