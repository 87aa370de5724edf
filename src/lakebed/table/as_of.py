"""A time that somebody asks about, as a value of the column that it is compared with (R1)."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal, InvalidOperation

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    NumericType,
    TimestampType,
)

from lakebed.errors import OptionsError
from lakebed.history.types import is_time

Asked = dt.datetime | dt.date | str | float
_DIGITS = 38  # of Spark's longest decimal


def moment_like(asked: Asked, kind: DataType) -> Column:
    """The time as a value of this type. Raises `OptionsError` where it is none: a number has no place among times, nor a time among
    numbers, and Spark would find one all the same."""
    if is_time(kind):
        time = _time(asked)
        # A text with its zone, or of a type without one: so the zone of the session does not matter.
        return F.lit(
            (time if isinstance(kind, TimestampType) else time.replace(tzinfo=None)).isoformat()
        ).cast(kind)
    if isinstance(kind, (FloatType, DoubleType)):
        return F.lit(str(_number(asked))).cast(kind)  # 0.1 is what the column calls so
    if isinstance(kind, NumericType):
        return _exactly(asked, _number(asked))
    return F.lit(str(asked)).cast(kind)


def _time(asked: Asked) -> dt.datetime:
    if isinstance(asked, str):
        try:
            asked = dt.datetime.fromisoformat(asked.strip())
        except ValueError:
            raise _refused(
                asked, "no time", "a day such as 2024-01-31, or a time such as 2024-01-31T12:00:00Z"
            ) from None
    if isinstance(asked, dt.date) and not isinstance(asked, dt.datetime):
        asked = dt.datetime(asked.year, asked.month, asked.day, tzinfo=dt.UTC)
    if not isinstance(asked, dt.datetime):
        raise _refused(
            asked, "a number, and the table's versions have times", "a time such as 2024-01-31T12:00:00Z"
        )
    if asked.tzinfo is None:
        return asked.replace(tzinfo=dt.UTC)
    try:
        return asked.astimezone(dt.UTC)
    except OverflowError:
        raise _refused(
            asked.isoformat(), "outside of the years 1 to 9999 in UTC", "a time within them"
        ) from None


def _number(asked: Asked) -> Decimal:
    try:
        found = Decimal("NaN" if isinstance(asked, dt.date) else str(asked).strip())
        int(found.scaleb(-found.adjusted()))  # neither NaN nor endless
    except (InvalidOperation, ValueError, OverflowError):
        raise _refused(
            asked, "no number, and the table's versions are counted by one", "a number such as 42"
        ) from None
    return found


def _exactly(asked: Asked, found: Decimal) -> Column:
    """Whole numbers and decimals are compared as they are, not as the column would round them."""
    places = max(0, -int(found.as_tuple().exponent))
    digits = max(found.adjusted() + 1, 1) + places
    if digits > _DIGITS:
        raise _refused(asked, "too long a number", "one that the table may have")
    return F.lit(f"{found:f}").cast(DecimalType(digits, places))


def _refused(asked: Asked, why: str, instead: str) -> OptionsError:
    return OptionsError(f"as_of: {str(asked)!r} is {why}", hint=f"give {instead}")
