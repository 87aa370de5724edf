"""What a pass finds due, and what it leaves behind (D2, D9-D11), decided from the tables' logs alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.dependencies.building import derived, on, whole
from tests.runner.written_logs import World, world  # noqa: F401 - a fixture

from lakebed.control import Position
from lakebed.dependencies import Range, Run
from lakebed.errors import TransientError
from lakebed.runner import DerivedOutcome, backfill, derive_project, redrive
from lakebed.runner.derive import Derivation

A_DAY = "20220120"


@pytest.fixture
def two_hops(world: World) -> World:  # noqa: F811
    """a.source → a.daily → a.report, all by day."""
    world.derived = (derived("a.daily", on("a.source")), derived("a.report", on("a.daily")))
    return world


def test_D2_a_commit_leads_to_runs_over_all_hops_once(two_hops: World) -> None:
    two_hops.table("a.source").add(A_DAY, "20220121")
    done = two_hops.pass_()
    assert sorted(two_hops.ran) == [
        ("a.daily", A_DAY),
        ("a.daily", "20220121"),
        ("a.report", A_DAY),
        ("a.report", "20220121"),
    ]
    assert [one.state for one in done.runs] == ["done"] * 4
    two_hops.pass_()
    assert two_hops.ran == []


def test_D2_maintenance_is_no_event(two_hops: World) -> None:
    source = two_hops.table("a.source")
    source.add(A_DAY)
    two_hops.pass_()
    source.optimize(A_DAY)
    two_hops.pass_()
    assert two_hops.ran == []
    with two_hops.store() as store:
        assert store.derived.positions()["a.daily", "a.source"] == Position(1, source.id)


def test_D13_a_correction_reaches_its_partition_on_every_hop_and_no_other(two_hops: World) -> None:
    source = two_hops.table("a.source")
    source.add(A_DAY, "20220121", "20220122")
    two_hops.pass_()
    source.change("20220121")
    two_hops.pass_()
    assert two_hops.ran == [("a.daily", "20220121"), ("a.report", "20220121")]


def test_D10_events_of_one_partition_are_one_run_with_all_causes(two_hops: World) -> None:
    source = two_hops.table("a.source")
    for _ in range(3):
        source.add(A_DAY)
    done = two_hops.pass_()
    (run, _) = done.runs
    assert [cause.event for cause in run.run.causes] == [f"a.source@{n}#0f0f0f0f" for n in range(3)]
    assert two_hops.ran == [("a.daily", A_DAY), ("a.report", A_DAY)]


def test_D9_each_event_is_appended_once_and_a_rewrite_is_reported(world: World) -> None:  # noqa: F811
    world.derived = (derived("a.events", on("a.source", "append")),)
    source = world.table("a.source")
    source.add(A_DAY)
    source.add(A_DAY)
    source.change(A_DAY)
    done = world.pass_()
    assert world.ran == [("a.events", A_DAY)] * 2
    (said,) = done.reported
    assert (said.dataset, said.event) == ("a.events", "a.source@2#0f0f0f0f")


class TestD2_a_run_that_dies:
    def test_before_its_commit_is_done_by_the_next_pass(self, two_hops: World) -> None:
        _die_and_pass_again(two_hops, after=False)
        assert two_hops.ran == [("a.daily", A_DAY), ("a.report", A_DAY)]

    def test_between_commit_and_note_is_found_in_its_table(self, two_hops: World) -> None:
        _die_and_pass_again(two_hops, after=True)
        assert two_hops.ran == [("a.report", A_DAY)]
        two_hops.pass_()
        assert two_hops.ran == []


def _die_and_pass_again(hops: World, *, after: bool) -> None:
    """A pass dies in its run of a.daily, before or after the commit; the next one goes to the end."""
    hops.table("a.source").add(A_DAY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lakebed.runner.derive.derive", _dies(hops, "a.daily", after=after))
        with pytest.raises(KeyboardInterrupt):
            hops.pass_()
    hops.pass_()


def _dies(world: World, dataset: str, *, after: bool) -> object:  # noqa: F811
    def derive(work: Derivation, run: Run) -> DerivedOutcome:
        if run.dataset == dataset:
            if after:
                world.write(work, run)
            raise KeyboardInterrupt
        return world.derive(work, run)

    return derive


class TestD2_a_lost_store:
    def test_makes_nothing_twice(self, two_hops: World) -> None:
        source = two_hops.table("a.source")
        for day in (A_DAY, "20220121", A_DAY):
            source.add(day)
            two_hops.pass_()
        two_hops.lose_the_store()
        two_hops.pass_()
        assert two_hops.ran == []

    def test_loses_no_commit_that_nobody_had_seen(self, two_hops: World) -> None:
        source = two_hops.table("a.source")
        source.add(A_DAY, "20220121")
        two_hops.pass_()
        source.change(A_DAY)
        two_hops.lose_the_store()
        two_hops.pass_()
        assert two_hops.ran == [("a.daily", A_DAY), ("a.report", A_DAY)]

    def test_appends_nothing_twice(self, world: World) -> None:  # noqa: F811
        world.derived = (
            derived("a.daily", on("a.source")),
            derived("a.events", on("a.source", "append")),
            derived("a.more", on("a.daily", "append")),
        )
        source = world.table("a.source")
        source.add(A_DAY)
        world.pass_()
        source.add("20220121")
        world.lose_the_store()
        world.pass_()
        assert sorted(world.ran) == [
            ("a.daily", "20220121"),
            ("a.events", "20220121"),
            ("a.more", "20220121"),
        ]

    def test_finds_what_waited(self, world: World) -> None:  # noqa: F811
        world.derived = (derived("a.both", on("a.left"), on("a.right"), when="all"),)
        world.table("a.left").add(A_DAY)
        assert [one.missing for one in world.pass_().waiting] == [("a.right",)]
        world.lose_the_store()
        world.table("a.right").add(A_DAY)
        world.pass_()
        assert world.ran == [("a.both", A_DAY)]


class TestD2_what_is_not_known:
    def test_a_log_that_is_gone_touches_everything_and_says_so(self, two_hops: World) -> None:
        source = two_hops.table("a.source")
        source.add(A_DAY)
        two_hops.pass_()
        source.add("20220121")
        source.add("20220122")
        (source.log / f"{1:020}.json").unlink()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                "lakebed.runner.table_logs.TableLogs._seen_by_spark",
                lambda *_: frozenset(_days(A_DAY, "20220121", "20220122")),
            )
            done = two_hops.pass_()
        assert len(two_hops.ran) == 6
        assert {one.what for one in done.reported} == {
            "it is not known what changed, so every partition counts as touched"
        }

    def test_a_table_of_the_same_name_is_another_table(self, two_hops: World) -> None:
        two_hops.table("a.source").add(A_DAY)
        two_hops.pass_()
        for path in two_hops.table("a.source").log.iterdir():
            path.unlink()
        two_hops.table("a.source", id="1e1e1e1e-table").add(A_DAY)
        two_hops.pass_()
        assert two_hops.ran == [("a.daily", A_DAY), ("a.report", A_DAY)]

    def test_appending_to_rows_of_somebody_else_is_parked(self, world: World) -> None:  # noqa: F811
        world.derived = (derived("a.events", on("a.source", "append")),)
        world.table("a.source").add(A_DAY)
        world.table("a.events").add("20220101")
        (letter,) = world.pass_().dead
        assert (world.ran, letter.error["code"]) == ([], "append_unknown")
        redrive(world.project, [letter.id], spark=lambda: None, edges=world.edges)
        assert world.ran == [("a.events", A_DAY)]
        with world.store() as store:
            assert store.derived.dead_letters() == []


def _days(*values: str) -> list[object]:
    from lakebed.dependencies import Partition

    return [Partition((("day", value),)) for value in values]


def test_a_new_dataset_sees_what_was_there_before_it_the_others_see_nothing(two_hops: World) -> None:
    two_hops.table("a.source").add(A_DAY)
    two_hops.pass_()
    two_hops.derived = (*two_hops.derived, derived("a.second", on("a.source")))
    two_hops.pass_()
    assert two_hops.ran == [("a.second", A_DAY)]


class TestD11_a_failed_run:
    def test_is_a_dead_letter_its_siblings_go_on_nothing_downstream_runs(self, two_hops: World) -> None:
        two_hops.derived = (*two_hops.derived, derived("a.sibling", on("a.source")))
        two_hops.broken = {"a.daily"}
        two_hops.table("a.source").add(A_DAY)
        done = two_hops.pass_()
        assert sorted(two_hops.ran) == [("a.daily", A_DAY), ("a.sibling", A_DAY)]
        (letter,) = done.dead
        assert (letter.dataset, letter.partition, letter.step, letter.error["code"]) == (
            "a.daily",
            A_DAY,
            1,
            "sql",
        )
        two_hops.pass_()
        assert two_hops.ran == []

    def test_is_redriven_and_what_depends_on_it_follows(self, two_hops: World) -> None:
        two_hops.broken = {"a.daily"}
        two_hops.table("a.source").add(A_DAY)
        (letter,) = two_hops.pass_().dead
        two_hops.broken = set()
        two_hops.ran.clear()
        redrive(two_hops.project, [letter.id], spark=lambda: None, edges=two_hops.edges)
        assert two_hops.ran == [("a.daily", A_DAY), ("a.report", A_DAY)]
        with two_hops.store() as store:
            assert store.derived.dead_letters() == []
        two_hops.pass_()
        assert two_hops.ran == []

    def test_of_an_older_version_is_redriven_after_a_newer_one_and_not_skipped(self, two_hops: World) -> None:
        source = two_hops.table("a.source")
        source.add(A_DAY)
        two_hops.broken = {"a.daily"}
        (letter,) = two_hops.pass_().dead
        two_hops.broken = set()
        source.add(A_DAY)
        two_hops.pass_()
        assert two_hops.ran == [("a.daily", A_DAY), ("a.report", A_DAY)]
        two_hops.ran.clear()
        redrive(two_hops.project, [letter.id], spark=lambda: None, edges=two_hops.edges)
        assert two_hops.ran == [("a.daily", A_DAY), ("a.report", A_DAY)]

    def test_that_fails_again_stays_a_dead_letter(self, two_hops: World) -> None:
        two_hops.broken = {"a.daily"}
        two_hops.table("a.source").add(A_DAY)
        (letter,) = two_hops.pass_().dead
        again = redrive(two_hops.project, [letter.id], spark=lambda: None, edges=two_hops.edges)
        assert [one.id for one in again.dead] == [letter.id]


def test_D6_an_arrival_without_a_date_is_a_dead_letter_until_it_is_mended(world: World) -> None:  # noqa: F811
    world.derived = (derived("a.daily", on("a.source")),)
    world.table("a.source").add("not a day", A_DAY)
    (letter,) = world.pass_().dead
    assert world.ran == [("a.daily", A_DAY)]
    assert (letter.partition, letter.error["code"]) == (None, "value_does_not_parse")


def test_only_the_named_datasets_are_computed_the_others_later(two_hops: World) -> None:
    two_hops.table("a.source").add(A_DAY)
    two_hops.pass_(datasets=["A.Daily"])
    assert two_hops.ran == [("a.daily", A_DAY)]
    two_hops.pass_()
    assert two_hops.ran == [("a.report", A_DAY)]


def test_a_table_without_partitions_is_refreshed_whole(world: World) -> None:  # noqa: F811
    world.derived = (whole("a.total", on("a.source", day=False)),)
    world.table("a.source").add(A_DAY)
    world.pass_()
    assert world.ran == [("a.total", None)]


def test_D3_a_run_waits_for_what_it_requires_and_follows_when_that_is_there(world: World) -> None:  # noqa: F811
    world.derived = (derived("a.daily", on("a.source"), on("a.rates", "validate", required=True)),)
    world.table("a.source").add(A_DAY)
    assert [one.missing for one in world.pass_().waiting] == [("a.rates",)]
    world.table("a.rates").add("20220101")
    world.pass_()
    assert world.ran == []
    world.table("a.rates").add(A_DAY)
    done = world.pass_()
    assert (world.ran, done.waiting) == ([("a.daily", A_DAY)], ())


def test_D11_a_pass_that_loses_spark_buries_nothing(two_hops: World) -> None:
    two_hops.table("a.source").add(A_DAY)

    def gone(work: Derivation, run: Run) -> DerivedOutcome:
        raise TransientError("Spark's process does not answer", code="spark")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lakebed.runner.derive.derive", gone)
        with pytest.raises(TransientError):
            two_hops.pass_()
    with two_hops.store() as store:
        assert store.derived.dead_letters() == []
    two_hops.pass_()
    assert two_hops.ran == [("a.daily", A_DAY), ("a.report", A_DAY)]


def test_D14_a_backfill_without_cascade_reaches_nobody_also_not_later(two_hops: World) -> None:
    two_hops.table("a.source").add(A_DAY, "20220121")
    two_hops.pass_()
    two_hops.ran.clear()
    wanted = Range("a.daily", A_DAY, "20220121", "backfill:1")
    backfill(two_hops.project, wanted, spark=lambda: None, edges=two_hops.edges)
    assert sorted(two_hops.ran) == [("a.daily", A_DAY), ("a.daily", "20220121")]
    two_hops.pass_()
    assert two_hops.ran == []
    two_hops.lose_the_store()
    two_hops.pass_()
    assert two_hops.ran == []


def test_D14_a_backfill_with_cascade_goes_on(two_hops: World) -> None:
    two_hops.table("a.source").add(A_DAY)
    two_hops.pass_()
    two_hops.ran.clear()
    wanted = Range("a.daily", A_DAY, A_DAY, "backfill:1", cascade=True)
    backfill(two_hops.project, wanted, spark=lambda: None, edges=two_hops.edges)
    assert two_hops.ran == [("a.daily", A_DAY), ("a.report", A_DAY)]
    two_hops.pass_()
    assert two_hops.ran == []


def test_a_pass_that_is_asked_to_stop_begins_nothing_more_and_loses_nothing(two_hops: World) -> None:
    two_hops.table("a.source").add(A_DAY)
    edges = replace(two_hops.edges, stopping=lambda: bool(two_hops.ran))
    derive_project(two_hops.project, spark=lambda: None, edges=edges)
    assert two_hops.ran == [("a.daily", A_DAY)]
    two_hops.pass_()
    assert two_hops.ran == [("a.report", A_DAY)]


def test_D10_two_passes_at_once_are_one(two_hops: World) -> None:
    two_hops.table("a.source").add(A_DAY)
    with two_hops.store() as store:
        assert store.take_lease("(derive)", "elsewhere/1/x", seconds=60)
        assert two_hops.pass_().busy
    assert two_hops.ran == []
