"""`relativedelta_attributes`: how far one date lies from another (D4)."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Annotated

from dateutil.relativedelta import relativedelta
from dateutil.relativedelta import weekday as on_weekday
from pydantic import Field

from lakebed.manifest.options import Strict, readable

WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_WEEKDAY = re.compile(r"\s*([A-Za-z]{2})\s*(?:\(\s*([+-]?[0-9]{1,6})\s*\)\s*)?")


def parse_weekday(text: str) -> tuple[str, int]:
    """`SA(-1)` is ("SA", -1), the last Saturday; `SA` is the next one. ValueError for anything else, zero included."""
    found = _WEEKDAY.fullmatch(text)
    if not found or found[1].upper() not in WEEKDAYS:
        raise ValueError(f"expected one of {', '.join(WEEKDAYS)}, alone or with a count as in SA(-1)")
    count = int(found[2] or 1)
    if not count:
        raise ValueError("expected a count that is not 0, as in SA(1) or SA(-1)")
    return found[1].upper(), count


class Shift(Strict):
    """What is added to a date. Plural names are relative and may be negative, singular ones set a part of the date; the
    weekday comes last and counts the day itself."""

    years: int = 0
    months: int = 0
    weeks: int = 0
    days: int = 0
    hours: int = 0
    minutes: int = 0
    seconds: int = 0
    microseconds: int = 0
    leapdays: int = 0
    year: Annotated[int, Field(ge=1, le=9999)] | None = None
    month: Annotated[int, Field(ge=1, le=12)] | None = None
    day: Annotated[int, Field(ge=1, le=31)] | None = None
    hour: Annotated[int, Field(ge=0, le=23)] | None = None
    minute: Annotated[int, Field(ge=0, le=59)] | None = None
    second: Annotated[int, Field(ge=0, le=59)] | None = None
    microsecond: Annotated[int, Field(ge=0, le=999_999)] | None = None
    yearday: Annotated[int, Field(ge=1, le=366)] | None = None
    nlyearday: Annotated[int, Field(ge=1, le=366)] | None = None
    weekday: Annotated[str, readable(parse_weekday, ValueError, "{why}, found {found}")] | None = None

    @cached_property
    def delta(self) -> relativedelta:
        given = {name: getattr(self, name) for name in self.model_fields_set if name != "weekday"}
        if self.weekday is not None:
            day, count = parse_weekday(self.weekday)
            given["weekday"] = on_weekday(WEEKDAYS.index(day), count)
        return relativedelta(**given)
