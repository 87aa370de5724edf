"""From events to runs."""

from __future__ import annotations

from tests.dependencies.building import day, derived, event, graph, on, ran, waits, whole

from lakebed.dependencies import Event, Partition, Pass, State, plan


def test_D4_the_column_is_found_by_name_among_several() -> None:
    touched = Partition((("country", "CO"), ("DAY", "20220120")))
    done = plan(graph(derived("a.b", on("a.s"))), [Event("e", "A.S", (touched,))])
    assert ran(done) == [("a.b", "20220120")]


def test_D4_one_table_may_be_two_dependencies() -> None:
    item = derived("a.b", on("a.s"), on("a.s", shift={"days": 1}))
    assert ran(plan(graph(item), [event("a.s", "20220131")])) == [("a.b", "20220131"), ("a.b", "20220201")]


def test_D6_a_partition_that_cannot_be_derived_is_a_dead_letter_and_its_siblings_run() -> None:
    done = plan(graph(derived("a.b", on("a.s")), whole("a.c", on("a.s"))), [event("a.s")])
    assert ran(done) == [("a.c", None)]
    assert [(one.dataset, one.partition, one.code) for one in done.refused] == [
        ("a.b", None, "partition_not_derivable")
    ]


def test_D6_one_bad_value_does_not_hold_up_the_others() -> None:
    touched = (day("20220120"), day("202201"), day(None))
    done = plan(graph(derived("a.b", on("a.s"))), [Event("e", "a.s", touched)])
    assert ran(done) == [("a.b", "20220120")]
    assert [one.code for one in done.refused] == ["value_does_not_parse", "partition_not_derivable"]


def test_D6_a_target_without_partitions_is_refreshed_whole_and_once() -> None:
    done = plan(graph(whole("a.b", on("a.s"))), [event("a.s", "20220120", "nonsense")])
    assert ran(done) == [("a.b", None)]
    assert done.runs[0].partition is None


def test_D9_append_adds_once_per_event_and_never_merges() -> None:
    item = derived("a.b", on("a.s", "append", shift={"day": 1}))
    days = ("20220103", "20220104")
    done = plan(graph(item), [event("a.s", *days, id="e1"), event("a.s", "20220103", id="e2")])
    assert ran(done) == [("a.b", "20220101"), ("a.b", "20220101")]
    assert [[cause.event for cause in run.causes] for run in done.runs] == [["e1"], ["e2"]]
    assert done.runs[0].id != done.runs[1].id


def test_D9_a_commit_that_removed_rows_is_reported_for_append_not_applied() -> None:
    items = graph(derived("a.b", on("a.s", "append")), derived("a.c", on("a.s")))
    done = plan(items, [event("a.s", "20220120", rewrote=True)])
    assert ran(done) == [("a.c", "20220120")]
    assert [(one.dataset, one.table) for one in done.reported] == [("a.b", "a.s")]
    assert done.refused == ()


def test_D2_where_everything_counts_as_touched_an_append_with_rows_is_parked() -> None:
    items = graph(derived("a.b", on("a.s", "append")), derived("a.c", on("a.s")))
    lost = event("a.s", "20220120", "20220121", everything=True)
    done = plan(items, [lost], State(present={"a.b": frozenset({day("20220120")})}))
    assert ran(done) == [("a.c", "20220120"), ("a.c", "20220121")]
    assert [(one.dataset, one.code) for one in done.refused] == [("a.b", "append_unknown")]
    assert [(one.dataset, one.what) for one in done.reported] == [
        ("a.c", "it is not known what changed, so every partition counts as touched")
    ]
    assert ran(plan(items, [lost]))[:2] == [("a.b", "20220120"), ("a.b", "20220121")]


def test_D2_an_event_is_handled_once() -> None:
    items = graph(derived("a.b", on("a.s")))
    first = plan(items, [event("a.s", "20220120", id="e1")])
    again = plan(items, [event("a.s", "20220120", id="e1")], first.state)
    assert (ran(again), again.already_handled) == ([], ("e1",))


def test_D10_overwriting_events_merge_into_one_run_with_all_causes() -> None:
    item = derived("a.b", on("a.s", shift={"day": 1}), on("a.r"))
    events = [event("a.s", "20220103", "20220104", id="e1"), event("a.r", "20220101", id="e2")]
    done = plan(graph(item), events)
    assert ran(done) == [("a.b", "20220101")]
    causes = [(cause.event, cause.table, len(cause.partitions)) for cause in done.runs[0].causes]
    assert causes == [("e1", "a.s", 2), ("e2", "a.r", 1)]


def test_D10_a_run_is_the_same_run_in_whatever_order_its_causes_came() -> None:
    item = derived("a.b", on("a.s"), on("a.r"))
    events = [event("a.s", "20220101"), event("a.r", "20220101")]
    assert plan(graph(item), events).runs[0].id == plan(graph(item), events[::-1]).runs[0].id


def test_D10_an_overwrite_comes_where_its_last_cause_came() -> None:
    item = derived("a.b", on("a.s"), on("a.more", "append"))
    events = [
        event("a.s", "20220101", id="e1"),
        event("a.more", "20220101", id="e2"),
        event("a.s", "20220101", id="e3"),
    ]
    done = plan(graph(item), events)
    assert [run.write for run in done.runs] == ["append", "overwrite"]
    assert [run.write for run in plan(graph(item), events[:2]).runs] == ["overwrite", "append"]


def test_D10_upstream_first_over_unequal_ways() -> None:
    items = graph(derived("g.z", on("g.a")), derived("g.y", on("g.z")), derived("g.b", on("g.a"), on("g.y")))
    done = plan(items, [event("g.a", "20220120")])
    assert ran(done) == [("g.z", "20220120"), ("g.y", "20220120"), ("g.b", "20220120")]
    assert [cause.table for cause in done.runs[2].causes] == ["g.a", "g.y"]
    assert done.runs[2].roots == ("g.a@20220120",)


def test_D10_partitions_of_one_dataset_run_by_date_whatever_their_text() -> None:
    item = derived("a.b", on("a.s"), partition_python_mask="%d-%m-%Y")
    done = plan(graph(item), [event("a.s", "20220201", "20220115")])
    assert [value for _, value in ran(done)] == ["15-01-2022", "01-02-2022"]


def test_D10_independent_targets_run_side_by_side_and_one_target_never_twice_at_once() -> None:
    items = graph(
        derived("a.x", on("a.s", "append")),
        derived("a.y", on("a.s")),
        derived("a.z", on("a.x"), on("a.y")),
    )
    events = [event("a.s", "20220120", id="e1"), event("a.s", "20220120", id="e2")]
    pass_ = Pass(items, events, State())
    first = pass_.ready()
    assert [(run.dataset, run.causes[0].event) for run in first] == [("a.x", "e1"), ("a.y", "e1")]
    assert pass_.ready() == []
    pass_.finish(first[1])
    assert pass_.ready() == []
    pass_.finish(first[0])
    (second,) = pass_.ready()
    assert (second.dataset, second.causes[0].event) == ("a.x", "e2")
    pass_.finish(second)
    (last,) = pass_.ready()
    assert (last.dataset, len(last.causes)) == ("a.z", 3)


def test_D13_a_correction_of_old_partitions_reaches_downstream() -> None:
    items = graph(
        derived("a.week", on("a.s", shift={"weekday": "SA(-1)"})),
        derived("a.month", on("a.week", shift={"day": 1}), partition_python_mask="%Y%m"),
    )
    first = plan(items, [event("a.s", "20220120", id="e1")])
    late = plan(items, [event("a.s", "20220120", "20210605", "20210606", id="e2")], first.state)
    assert ran(late) == [
        ("a.week", "20210605"),
        ("a.week", "20220115"),
        ("a.month", "202106"),
        ("a.month", "202201"),
    ]


def test_a_state_survives_and_forgets_what_is_gone() -> None:
    item = derived("a.b", on("a.s"), on("a.r"), when="all")
    first = plan(graph(item), [event("a.s", "20220101")])
    assert waits(first) == {("a.b", "20220101"): (["a.s"], ["a.r"])}
    assert waits(plan(graph(derived("a.c", on("a.s"))), [], first.state)) == {}


def test_D5_a_leftover_token_stops_the_run_before_its_first_step_and_what_follows() -> None:
    items = graph(derived("a.b", on("a.s"), sql="SELECT $x"), derived("a.c", on("a.b")))
    done = plan(items, [event("a.s", "20220101")])
    assert ran(done) == []
    assert [(one.dataset, str(one.partition), one.code) for one in done.refused] == [
        ("a.b", "day=20220101", "leftover_token")
    ]
