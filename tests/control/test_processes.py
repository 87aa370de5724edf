"""Several processes on one store, and processes that die."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lakebed.control import BatchPlan, Input, open_store
from lakebed.errors import ConflictError

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
ROUNDS = 12
PLANNERS = 3


def _plan_often(address: str, me: int, gate: Any, answers: Any) -> None:
    """Plan every number at the same moment as the others, each with inputs of its own."""
    seen = []
    with open_store(address) as store:
        for number in range(1, ROUNDS + 1):
            gate.wait(20)
            kept = store.plan_batch(BatchPlan("d.t", number, (Input(f"{me}/{number}.csv", 1, 1),), NOON))
            seen.append([one.path for one in kept.plan.inputs])
    answers.put((me, seen))


def test_one_plan_wins_and_every_process_sees_it(address: str) -> None:
    open_store(address).close()
    context = multiprocessing.get_context("spawn")
    gate, answers = context.Barrier(PLANNERS), context.Queue()
    workers = [
        context.Process(target=_plan_often, args=(address, me, gate, answers)) for me in range(PLANNERS)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0] * PLANNERS
    seen = dict(answers.get(timeout=5) for _ in workers)
    assert seen[0] == seen[1] == seen[2]
    with open_store(address) as store:
        assert [[one.path for one in batch.plan.inputs] for batch in store.batches("d.t")] == seen[0]
        assert [batch.number for batch in store.batches("d.t")] == list(range(1, ROUNDS + 1))


def _take_all(address: str, gate: Any) -> None:
    """Take the same twenty files, one a batch, as fast as the other does."""
    files = [Input(f"{n:02}.csv", 1, 1) for n in range(20)]
    gate.wait(20)
    with open_store(address) as store:
        while new := store.not_taken("d.t", files):
            last = store.last_batch("d.t")
            with suppress(ConflictError):
                store.plan_batch(BatchPlan("d.t", last.number + 1 if last else 1, (new[0],), NOON))


def test_two_planners_take_every_input_once(address: str) -> None:
    context = multiprocessing.get_context("spawn")
    gate = context.Barrier(2)
    workers = [context.Process(target=_take_all, args=(address, gate)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0]
    with open_store(address) as store:
        paths = [one.path for batch in store.batches("d.t") for one in batch.plan.inputs]
    assert sorted(paths) == [f"{n:02}.csv" for n in range(20)]


WRITER = """
import sys
from datetime import UTC, datetime
from lakebed.control import BatchPlan, Input, open_store
store = open_store(sys.argv[1])
last = store.last_batch("d.t")
number = last.number if last else 0
print("ready", flush=True)
while True:
    number += 1
    files = tuple(Input(f"{number}/{n}.csv", 1, 1) for n in range(5))
    store.plan_batch(BatchPlan("d.t", number, files, datetime.now(UTC)))
    store.finish_batch("d.t", number, report={"read": number})
"""


def test_a_killed_writer_leaves_the_store_whole(address: str, tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # noqa: T201  shown if the test fails
    chance = random.Random(seed)
    for kills in range(1, 4):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, address], stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        time.sleep(chance.uniform(0.05, 0.4))
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        with open_store(address) as store:
            batches = store.batches("d.t")
            assert [batch.number for batch in batches] == list(range(1, len(batches) + 1))
            assert all(len(batch.plan.inputs) == 5 for batch in batches)
            done = [batch.number for batch in batches if batch.state == "done"]
            assert len(batches) - len(done) <= kills
            assert [event.batch for event in store.events(limit=10**6)] == done
    if address.startswith("sqlite"):
        with sqlite3.connect(address.removeprefix("sqlite:///")) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.close()
