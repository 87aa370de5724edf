"""What a failure stops, and what goes on (D11)."""

from __future__ import annotations

from collections.abc import Callable

from tests.dependencies.building import derived, event, graph, on, ran, waits

from lakebed.dependencies import Run, plan

D = "20220120"
DIAMOND = graph(
    derived("g.b", on("g.a")),
    derived("g.c", on("g.a")),
    derived("g.d", on("g.b"), on("g.c")),
    derived("g.e", on("g.d"), on("g.a")),
)


def fails(name: str, step: int = 1) -> Callable[[Run], int | None]:
    return lambda run: step if run.dataset == name else None


def test_D11_siblings_go_on_and_nothing_downstream_runs() -> None:
    done = plan(DIAMOND, [event("g.a", D)], failing=fails("g.b", 2))
    assert ran(done) == [("g.b", D), ("g.c", D)]
    assert [(one.run.dataset, one.status, one.failed_step) for one in done.outcomes] == [
        ("g.b", "failed", 2),
        ("g.c", "succeeded", None),
    ]
    assert waits(done) == {("g.d", D): (["g.c"], ["g.b"]), ("g.e", D): (["g.a"], ["g.d"])}


def test_D11_what_was_held_back_runs_with_all_its_causes_once_the_table_comes() -> None:
    first = plan(DIAMOND, [event("g.a", D)], failing=fails("g.b"))
    unrelated = plan(DIAMOND, [event("g.a", "20220121")], first.state)
    assert ran(unrelated) == [("g.b", "20220121"), ("g.c", "20220121"), ("g.d", "20220121"), ("g.e", "20220121")]  # fmt: skip
    assert waits(unrelated) == waits(first)
    mended = plan(DIAMOND, [event("g.b", D)], unrelated.state)
    assert ran(mended) == [("g.d", D), ("g.e", D)]
    assert [cause.table for cause in mended.runs[0].causes] == ["g.c", "g.b"]
    assert mended.waiting == ()


def test_D11_other_partitions_are_not_touched_by_a_failure() -> None:
    days = (D, "20220121")
    done = plan(DIAMOND, [event("g.a", *days)], failing=lambda run: fails("g.b")(run) if run.target.value == D else None)  # fmt: skip
    assert [value for name, value in ran(done) if name == "g.d"] == ["20220121"]


def test_D11_a_table_that_is_only_looked_at_holds_back_too() -> None:
    items = graph(derived("g.b", on("g.a")), derived("g.d", on("g.a"), on("g.b", "validate")))
    done = plan(items, [event("g.a", D)], failing=fails("g.b"))
    assert ran(done) == [("g.b", D)]
    assert waits(done) == {("g.d", D): (["g.a"], ["g.b"])}
    assert ran(plan(items, [event("g.b", D)], done.state)) == [("g.d", D)]


def test_D11_the_event_of_a_failed_run_is_handled() -> None:
    items = graph(derived("g.b", on("g.a")))
    first = plan(items, [event("g.a", D, id="e1")], failing=fails("g.b"))
    assert plan(items, [event("g.a", D, id="e1")], first.state).already_handled == ("e1",)
