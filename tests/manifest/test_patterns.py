"""Patterns of landing paths."""

from __future__ import annotations

import contextlib
import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.manifest.patterns import PatternError, compile_pattern


def at(*parts: int) -> dt.datetime:
    return dt.datetime(*parts, tzinfo=dt.UTC)  # type: ignore[arg-type,misc]


@pytest.mark.parametrize(
    ("pattern", "path", "parts"),
    [
        ("crm/{date:%Y%m%d}.csv", "crm/20240131.csv", {"date": at(2024, 1, 31)}),
        ("crm/{date:%Y%m%d}.csv", "crm/20240131.csv.gz", None),
        ("crm/{date:%Y%m%d}.csv", "crm/20240131xcsv", None),
        ("crm/{date:%Y%m%d}.csv", "crm/2024131.csv", None),
        ("crm/{date:%Y%m%d}.csv", "crm/20240231.csv", None),
        ("crm/{date:%Y%m%d}.csv", "crm/00000101.csv", None),
        ("crm/{date:%Y%m%d}.csv", "crm/09990101.csv", {"date": at(999, 1, 1)}),
        ("crm/{date:%Y%m%d}.csv", "crm/\u0662\u0660\u0662\u0664\u0660\u0661\u0663\u0661.csv", None),
        ("crm/{date:%Y%m%d}.csv", "x/crm/20240131.csv", None),
        ("crm/{date:%Y/%m/%d}/all.csv", "crm/2024/01/31/all.csv", {"date": at(2024, 1, 31)}),
        ("{t:%Y-%m-%dT%H%M%S.%f}", "2024-01-31T235959.000001", {"t": at(2024, 1, 31, 23, 59, 59, 1)}),
        ("{t:%Y-%m-%dT%H%M%S}", "2024-01-31T235960", None),
        ("{day:%Y%j}.csv", "2024366.csv", {"day": at(2024, 12, 31)}),
        ("{day:%Y%j}.csv", "2023366.csv", None),
        ("{year:%Y}/100%%.csv", "2024/100%%.csv", {"year": at(2024, 1, 1)}),
        ("{team}/{table}/{file}.csv", "a/b/c.d.csv", {"team": "a", "table": "b", "file": "c.d"}),
        ("{team}/{file}", "a/b/c", None),
        ("{file}", "", None),
        ("{name}_{date:%Y}.csv", "a_b_2024.csv", {"name": "a_b", "date": at(2024, 1, 1)}),
        ("Ünï (1)+.csv", "Ünï (1)+.csv", {}),
        ("one.csv", "one.csv\n", None),
    ],
)
def test_match(pattern: str, path: str, parts: dict[str, object] | None) -> None:
    assert compile_pattern(pattern).match(path) == parts


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("", "it is empty"),
        ("../secrets/{date:%Y}.csv", "'..'"),
        ("a/../b.csv", "'..'"),
        ("a//b.csv", "an empty folder name"),
        ("a/", "an empty folder name"),
        ("/etc/passwd", "it must be relative"),
        ("s3a://bucket/x.csv", "it must be relative"),
        ("c:/x.csv", "it must be relative"),
        ("a\\b.csv", "a backslash"),
        ("a\nb.csv", "cannot be printed"),
        ("*.csv", "the wildcard '*'; write a named part such as {file}"),
        ("{}.csv", "the part {} has no name"),
        ("{:%Y}.csv", "has no name"),
        ("{1a}.csv", "'1a' is no name of a part"),
        ("{a-b}.csv", "'a-b' is no name of a part"),
        ("{a}/{a}.csv", "two parts are called 'a'"),
        ("{a}{b}.csv", "nothing stands between the part 'b' and the one before it"),
        ("{a.csv", "a brace has no partner"),
        ("a}.csv", "a brace has no partner"),
        ("{d:}.csv", "it has no year"),
        ("{d:%Q}.csv", "'%Q' is no directive"),
        ("{d:%Y%}.csv", "'%' is no directive"),
        ("{d:%b%Y}.csv", "'%b' is no directive"),
        ("{d:%Y%Y}.csv", "%Y is in it twice"),
        ("{d:%d.%Y}.csv", "%d needs a month (%m) beside it"),
        ("{d:%Y%H}.csv", "%H needs a day (%d) beside it"),
        ("{d:%Y%y}.csv", "both %Y and %y"),
        ("{d:%Y%j%m}.csv", "both %j (day of the year)"),
    ],
)
def test_refused(pattern: str, why: str) -> None:
    with pytest.raises(PatternError) as caught:
        compile_pattern(pattern)
    assert why in str(caught.value)


def test_a_near_miss_says_why() -> None:
    pattern = compile_pattern("crm/{date:%Y%m%d}.csv")
    assert pattern.near_miss("crm/20240231.csv") == "date: '20240231' is no time of the format %Y%m%d"
    assert pattern.near_miss("crm/20240131.csv") is None
    assert pattern.near_miss("crm/readme.txt") is None


def test_where_a_listing_may_start() -> None:
    assert compile_pattern("crm/customers/c_{date:%Y}.csv").folder == "crm/customers"
    assert compile_pattern("{team}/x.csv").folder == ""
    assert compile_pattern("crm/one.csv").folder == "crm"


def test_name_value_folders_become_columns() -> None:
    assert compile_pattern("crm/country={country}/year=2024/{file}.csv").columns == ("country", "year")


@given(st.datetimes(min_value=dt.datetime(1, 1, 1), max_value=dt.datetime(9999, 12, 31)))  # noqa: DTZ001 - made UTC below
def test_every_time_is_found_again(time: dt.datetime) -> None:
    written = f"{time.year:04}" + time.strftime("%m%d/%H-%M-%S.%f")
    found = compile_pattern("x/{t:%Y%m%d/%H-%M-%S.%f}.csv").match(f"x/{written}.csv")
    assert found == {"t": time.replace(tzinfo=dt.UTC)}


@given(st.text())
def test_any_text_is_taken_or_refused_but_never_breaks(text: str) -> None:
    with contextlib.suppress(PatternError):
        compile_pattern(text).match(text)


def test_folders_are_any_number_of_them() -> None:
    pattern = compile_pattern("shop/orders/{folders}/{file}.csv")
    assert pattern.match("shop/orders/LOAD00000001.csv") == {"folders": "", "file": "LOAD00000001"}
    assert pattern.match("shop/orders/2024/03/02/20240302-1.csv") == {
        "folders": "2024/03/02/",
        "file": "20240302-1",
    }
    assert pattern.match("shop/others/1.csv") is None
    with pytest.raises(PatternError, match=r"\{folders\} stands for whole folders"):
        compile_pattern("shop/{folders}.csv")
