"""Tokens."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.dependencies.building import derived, on, whole

from lakebed.dependencies.sql import leftovers, render, rendered_steps
from lakebed.errors import DependencyError

TOKENS = [
    {"token": "$d", "format": "%Y%m%d"},
    {"token": "$d_end", "format": "%Y-%m-%d", "relativedelta_attributes": {"days": 6}},
]


def test_D5_tokens_start_from_the_target_partition() -> None:
    item = derived("a.b", on("a.s"), sql="BETWEEN '$d' AND '$d_end'", date_substitutions=TOKENS)
    (step,) = rendered_steps(item, "20220115")
    assert (step.db, step.sql) == ("a", "BETWEEN '20220115' AND '2022-01-21'")


def test_D5_what_was_put_in_is_not_scanned_again() -> None:
    assert render("$a $b", {"$a": "$b", "$b": "$a"}) == "$b $a"


@pytest.mark.parametrize(
    ("sql", "rendered"),
    [
        ("'$$d'", "'$d'"),
        ("$$$d", "$1"),
        ("cost $$5", "cost $5"),
        ("regexp_replace(x, '(a)$', '$1')", "regexp_replace(x, '(a)$', '$1')"),
        ("get_json_object(x, '$.d')", "get_json_object(x, '$.d')"),
        ("t_$d_x", "t_1_x"),
        ("{day}", "2"),
    ],
)
def test_D5_dollars(sql: str, rendered: str) -> None:
    assert render(sql, {"$d": "1", "{day}": "2"}) == rendered


@pytest.mark.parametrize("sql", ["$x", "'$x'", "-- $x", "$d $x", "$D", "$$$x", "$größe"])
def test_D5_a_remainder_fails(sql: str) -> None:
    with pytest.raises(DependencyError) as caught:
        render(sql, {"$d": "1"})
    assert caught.value.code == "leftover_token"
    assert "$$" in (caught.value.hint or "")


def test_D5_without_a_partition_no_token_has_a_value() -> None:
    item = whole("a.b", on("a.s", day=False), sql="SELECT {d}").model_copy(
        update={
            "date_substitutions": derived(
                "a.c", on("a.s"), date_substitutions=[{"token": "{d}", "format": "%Y"}]
            ).date_substitutions
        }
    )
    with pytest.raises(DependencyError, match=r"\{d\}"):
        rendered_steps(item, None)


def test_D5_leftovers_can_be_told_before_any_run() -> None:
    item = derived(
        "a.b", on("a.s"), sql="$d $d_end $x $$y $x", date_substitutions=[{"token": "$d", "format": "%Y"}]
    )
    assert leftovers(item) == ["$x"]


@given(st.text(alphabet="$ab_ 1'", max_size=30))
def test_D5_what_has_a_dollar_and_a_name_is_a_token_an_escape_or_a_mistake(sql: str) -> None:
    values = {"$a": "X", "$ab": "Y"}
    with suppress(DependencyError):
        assert render(sql, values) == by_hand(sql, values)


def by_hand(sql: str, values: dict[str, str]) -> str:
    """From left to right, the longest that fits."""
    done = ""
    while sql:
        for token in ("$ab", "$a", "$$"):
            if sql.startswith(token):
                done, sql = done + values.get(token, "$"), sql[len(token) :]
                break
        else:
            done, sql = done + sql[0], sql[1:]
    return done
