"""Dates of partitions."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from lakebed.dependencies.dates import converted, parse_date
from lakebed.errors import DependencyError
from lakebed.manifest import Shift
from lakebed.manifest.shifts import parse_weekday

DAY = "%Y%m%d"


def moved(value: str, **attributes: Any) -> str:
    return converted(value, DAY, Shift.model_validate(attributes), DAY)


@pytest.mark.parametrize(
    ("attributes", "result"),
    [
        ({}, "20220120"),
        ({"days": -1}, "20220119"),
        ({"months": 1, "day": 31}, "20220228"),
        ({"day": 31}, "20220131"),
        ({"month": 2, "day": 30}, "20220228"),
        ({"weekday": "SA(-1)"}, "20220115"),
        ({"weekday": "SA"}, "20220122"),
        ({"weekday": "TH(-1)"}, "20220120"),
        ({"days": -1, "weekday": "TH(-1)"}, "20220113"),
        ({"yearday": 32}, "20220201"),
    ],
)
def test_D4_plural_is_relative_singular_absolute_the_weekday_last(
    attributes: dict[str, Any], result: str
) -> None:
    assert moved("20220120", **attributes) == result


@pytest.mark.parametrize("text", ["SA", "sa", " Sa ", "SA(1)", "sa ( +1 )", "SA( 1)"])
def test_D4_a_weekday_in_any_case_and_with_blanks(text: str) -> None:
    assert parse_weekday(text) == ("SA", 1)


@pytest.mark.parametrize(
    "text",
    ["", "SAT", "SATURDAY(-1)", "XX(1)", "SA(0)", "SA(-0)", "SA(", "SA()", "SA(1.5)", "SA(--1)", "5", "SA 1"],
)
def test_D4_no_other_weekday(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        parse_weekday(text)


@pytest.mark.parametrize(
    "attributes", [{"dayz": 1}, {"days": "1"}, {"days": 1.5}, {"days": True}, {"month": 13}, {"weekday": 5}]
)
def test_D4_other_attributes_are_refused(attributes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Shift.model_validate(attributes)


@given(st.dates(dt.date(1002, 1, 1), dt.date(9997, 1, 1)), st.integers(-400, 400))
def test_D4_there_and_back_again(date: dt.date, days: int) -> None:
    text = date.strftime(DAY)
    assert moved(moved(text, days=days), days=-days) == text


@pytest.mark.parametrize(
    ("value", "format_"),
    [
        ("202412", DAY),
        ("2024121", DAY),
        (" 20241201", DAY),
        ("20241201 ", DAY),
        ("20240230", DAY),
        ("", DAY),
        ("__HIVE_DEFAULT_PARTITION__", DAY),
        ("2025-W01", "%G-W%V"),
        ("5-1-2024", "%d-%m-%Y"),
        ("٢٠٢٤١٢٠١", DAY),
    ],
)
def test_D6_only_what_reads_back_to_itself(value: str, format_: str) -> None:
    with pytest.raises(DependencyError) as caught:
        parse_date(value, format_)
    assert caught.value.code == "value_does_not_parse"
    assert repr(value) in caught.value.what


def test_D6_the_calendar_has_an_end() -> None:
    with pytest.raises(DependencyError, match="cannot be shifted") as caught:
        moved("99991231", days=1)
    assert caught.value.code == "date_out_of_range"
