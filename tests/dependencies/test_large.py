"""200 datasets, 5 hops, 30 days: what runs, and in which order."""

from __future__ import annotations

from tests.dependencies.building import derived, event, graph, on, ran

from lakebed.dependencies import Graph, Range, plan, plan_backfill

WIDTH, HOPS, DAYS = 40, 5, 30


def large_graph() -> Graph:
    """Five layers of forty. Each dataset reads three of the layer above, so that almost all depend on each source."""
    token = [{"token": "$d", "format": "%Y-%m-%d"}]
    return graph(
        *[
            derived(
                f"l{hop}.t{number:02}",
                *[on(f"l{hop - 1}.t{(number * 3 + step) % WIDTH:02}") for step in range(3)],
                sql="SELECT '$d'",
                date_substitutions=token,
            )
            for hop in range(1, HOPS + 1)
            for number in range(WIDTH)
        ]
    )


def expected(items: Graph, table: str) -> list[str]:
    return items.in_order(items.downstream(table))


def test_D10_one_event_over_five_hops() -> None:
    items = large_graph()
    done = plan(items, [event("l0.t07", "20240229")])
    assert [name for name, _ in ran(done)] == expected(items, "l0.t07")
    assert len(done.runs) > 100
    assert {run.steps[0].sql for run in done.runs} == {"SELECT '2024-02-29'"}


def test_D10_thirty_days_at_once() -> None:
    items = large_graph()
    days = [f"202404{number:02}" for number in range(1, DAYS + 1)]
    done = plan(items, [event("l0.t07", *days)])
    names = expected(items, "l0.t07")
    assert ran(done) == [(name, value) for name in names for value in days]


def test_D14_a_backfill_that_cascades() -> None:
    items = large_graph()
    done = plan_backfill(items, Range("l1.t00", "20240401", "20240430", "by hand", cascade=True))
    assert len(done.runs) == DAYS * (1 + len(items.downstream("l1.t00")))
