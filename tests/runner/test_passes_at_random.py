"""Commits, passes, deaths, failures and lost stores in any order: in the end every event is handled, and appended once."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from unittest.mock import patch

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.dependencies.building import derived, on
from tests.runner.written_logs import World

from lakebed.dependencies import Graph, Run
from lakebed.dependencies.mapping import target_of
from lakebed.runner import DerivedOutcome, redrive
from lakebed.runner.derive import Derivation
from lakebed.runner.events import event_of, is_event
from lakebed.tables.data_commits import TableLog

DAYS = st.sampled_from(["20220120", "20220121"])
DATASETS = (
    derived("a.daily", on("a.s")),
    derived("a.late", on("a.daily", shift={"days": 1})),
    derived("a.both", on("a.late"), on("a.t"), when="all"),
    derived("a.added", on("a.daily", "append")),
    derived("a.last", on("a.both"), on("a.s")),
)
OPERATIONS = st.one_of(
    st.tuples(st.sampled_from(["add", "change"]), st.sampled_from(["a.s", "a.t"]), DAYS),
    st.tuples(st.just("pass"), st.just(""), st.just("")),
    st.tuples(
        st.just("die"), st.sampled_from([one.name for one in DATASETS]), st.sampled_from(["before", "after"])
    ),
    st.tuples(st.just("fail"), st.sampled_from([one.name for one in DATASETS]), st.just("")),
    st.tuples(st.sampled_from(["lose the store", "optimize", "redrive"]), st.just(""), st.just("")),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(OPERATIONS, max_size=10))
def test_D2_D9_every_event_is_handled_and_appended_once(operations: list[tuple[str, str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder), DATASETS)
        with patch("lakebed.runner.derive.derive", world.derive):
            for table in ("a.s", "a.t"):
                world.table(table).add("20220120")
            for what, name, how in operations:
                _do(world, what, name, how)
            _settle(world)
        _check(world)


def _do(world: World, what: str, name: str, how: str) -> None:
    if what == "add":
        world.table(name).add(how)
    elif what == "change":
        world.table(name).change(how)
    elif what == "optimize":
        world.table("a.s").optimize("20220120")
    elif what == "pass":
        world.pass_()
    elif what == "redrive":
        _redrive(world)
    elif what == "fail":
        world.broken = {name}
        world.pass_()
        world.broken = set()
    elif what == "lose the store" and (world.root / ".lakebed").exists():
        world.lose_the_store()
    elif what == "die":
        with patch("lakebed.runner.derive.derive", _dying(world, name, how)):
            try:
                world.pass_()
            except KeyboardInterrupt:
                return


def _dying(world: World, name: str, how: str) -> object:
    def derive(work: Derivation, run: Run) -> DerivedOutcome:
        if run.dataset != name:
            return world.derive(work, run)
        if how == "after":
            world.write(work, run)
        raise KeyboardInterrupt

    return derive


def _redrive(world: World) -> None:
    with world.store() as store:
        letters = [letter.id for letter in store.derived.dead_letters()]
    redrive(world.project, letters, spark=lambda: None, edges=world.edges)


def _settle(world: World) -> None:
    world.pass_()
    _redrive(world)
    world.pass_()
    assert world.pass_().runs == (), "a pass over nothing new finds something due"
    with world.store() as store:
        assert store.derived.dead_letters() == []


def _check(world: World) -> None:
    graph = Graph.of(DATASETS)
    for edge in graph.edges:
        source, target = (_log(world, name) for name in (edge.source, edge.target))
        handled: Counter[tuple[str, str | None]] = Counter()
        for _, facts in target.told() if target else ():
            value = next(iter(facts["partition"].values()))
            handled.update({(cause["event"], value) for cause in facts["causes"]})
        waiting = _waiting(world, edge.target)
        for commit in source.commits() if source else ():
            if not is_event(commit):
                continue
            assert source is not None
            event = event_of(edge.dependency.table_name, source, commit)
            for partition in commit.partitions:
                key = (event.id, target_of(edge.derived, edge.dependency, partition).value)
                if edge.dependency.usage == "append":
                    assert handled[key] == (0 if commit.rewrote else 1), key
                else:
                    assert handled[key] or key in waiting, key


def _log(world: World, name: str) -> TableLog | None:
    return TableLog.of(world.table(name).folder)


def _waiting(world: World, name: str) -> set[tuple[str, str | None]]:
    with world.store() as store:
        return {
            (cause.event, one.partition)
            for one in store.derived.waiting()
            for cause in one.causes
            if one.dataset == name
        }
