"""A time that somebody asks about, as a value of the column that it is compared with (R1)."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal, InvalidOperation

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DateType, NumericType, TimestampNTZType, TimestampType

from lakebed.errors import OptionsError

Asked = dt.datetime | dt.date | str | float
_LARGEST = 2**63
_DIGITS = 19


def moment_like(asked: Asked, kind: DataType) -> Column:
    """The time as a value of this type. Raises `OptionsError` where it is none: a number has no place among times, nor a time among
    numbers, and Spark would find one all the same."""
    if isinstance(kind, (DateType, TimestampType, TimestampNTZType)):
        time = _time(asked)
        # A text with its zone, or of a type without one: so the zone of the session does not matter.
        return F.lit(
            (time if isinstance(kind, TimestampType) else time.replace(tzinfo=None)).isoformat()
        ).cast(kind)
    if isinstance(kind, NumericType):
        return F.lit(_number(asked))
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
    return asked.astimezone(dt.UTC) if asked.tzinfo else asked.replace(tzinfo=dt.UTC)


def _number(asked: Asked) -> int | Decimal:
    try:
        found = Decimal("NaN" if isinstance(asked, dt.date) else str(asked).strip())
        whole = int(found) if found.adjusted() <= _DIGITS else _LARGEST
    except (InvalidOperation, ValueError, OverflowError):
        raise _refused(
            asked, "no number, and the table's versions are counted by one", "a number such as 42"
        ) from None
    if not -_LARGEST <= whole < _LARGEST:
        raise _refused(asked, "too large a number", "one that the table may have")
    return whole if whole == found else found


def _refused(asked: Asked, why: str, instead: str) -> OptionsError:
    return OptionsError(f"as_of: {str(asked)!r} is {why}", hint=f"give {instead}")
