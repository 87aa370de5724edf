"""The number and times that a batch is given (G1, G2)."""

from __future__ import annotations

import datetime as dt

from lakebed.errors import BatchError
from lakebed.history.normalise import Moment


def moment_of(batch: object, system_time: dt.datetime, event_time: dt.datetime | None) -> Moment:
    """A batch's moment in UTC; raises `BatchError` where there can be no such number or time."""
    if not isinstance(batch, int) or isinstance(batch, bool) or batch < 1:
        raise BatchError(
            f"{batch!r} is not a batch's number",
            code="invalid_options",
            hint="batches are numbered 1, 2, 3 without gaps: a 0 would read as a batch that the table has already",
        )
    return Moment(batch, _utc(system_time), _utc(event_time) if event_time else None)


def _utc(time: dt.datetime) -> dt.datetime:
    if time.tzinfo is None:
        raise BatchError(
            f"the time {time.isoformat()} has no zone",
            code="invalid_options",
            hint="pass an aware datetime, such as datetime.now(timezone.utc)",
        )
    return time.astimezone(dt.UTC)
