"""What a dataset can be asked (R1 to R3). Internal columns are never shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

from lakebed.errors import LakebedError, TableError
from lakebed.history.columns import DEAD, EFFECTIVE, col, find, internal
from lakebed.manifest import Append, Log, Versions
from lakebed.manifest.histories import AnyFeed, AnyHistory
from lakebed.table.as_of import Asked, moment_like
from lakebed.table.opening import Tables

Key = Mapping[str, Any]


class Reading:
    """The reading side of a table."""

    tables: Tables
    shown: Tables  # the same, in the session of whoever asks
    feed: AnyFeed
    history: AnyHistory

    def read(self) -> DataFrame:
        """The whole table as its history keeps it."""
        self._finished()
        return _shown(self.shown.target.read())

    def rejected(self) -> DataFrame | None:
        """Every row that was set aside (G5, G7): why, its text, where it stood, in which batch. None if there never was one."""
        self._finished()
        return self.shown.rejected.read() if self.tables.rejected.exists() else None

    def open_versions(self) -> DataFrame:
        """Of a versions table the rows that no newer one has ended, deleted ones included where they are kept."""
        self._finished()
        return _shown(self.shown.target.read().where(self._is_open()))

    def state(self) -> DataFrame:
        """One row per live key, data columns only: the same for every history (R2)."""
        self._finished()
        if isinstance(self.feed, Append):
            raise _no_key("state")
        if isinstance(self.history, Log):
            if not self.tables.state.exists():
                return self._data(self.shown.target.read().limit(0))
            return self._data(self.shown.state.read().where(~F.col(DEAD)))
        rows = self.shown.target.read()
        if isinstance(self.history, Versions):
            rows = rows.where(self._is_open() & ~col(self.history.own("is_deleted")))
        elif self.history.deletes == "flag":
            rows = rows.where(~col(self.history.own("is_deleted")))
        return self._data(rows)

    def as_of(self, time: Asked) -> DataFrame:
        """Rows valid at this time (R1): of versions those whose interval holds it, of a log the state it had then. Times without a zone
        are UTC."""
        self._finished()
        rows = self.shown.target.read()
        if isinstance(self.history, Versions):
            return _shown(rows.where(self._valid_at(rows, time)))
        if isinstance(self.history, Log):
            until = rows.where(F.col(EFFECTIVE) <= moment_like(time, TimestampType()))
            return _shown(until) if isinstance(self.feed, Append) else self._data(self._last_of_log(until))
        raise TableError(
            "a table with history: current knows only the present",
            code="no_history",
            where=self.tables.target.place.text,
            hint="use history: versions or log to ask about the past",
        )

    def timeline(self, key: Key | Any) -> DataFrame:
        """All that is known of one key, in order (R3). `key` is a value, or a mapping of the key's columns."""
        self._finished()
        rows = self.shown.target.read()
        found = rows.where(self._is_key(rows, key))
        own = self.history.own
        if isinstance(self.history, Log):
            return _shown(found.orderBy(col(own("offset"))))
        if isinstance(self.history, Versions):
            return _shown(found.orderBy(col("_lb_first"), col(own("sk"))))
        return _shown(found)

    # ---- parts

    def _finished(self) -> None:
        """Opening finishes what a crash left behind; a dataset without a batch has no table to read."""
        if not self.last_batch:  # type: ignore[attr-defined]
            raise TableError(
                "no batch was applied yet",
                code="no_table",
                where=self.tables.target.place.text,
                hint="apply the first batch",
            )

    def _is_open(self) -> Column:
        assert isinstance(self.history, Versions)
        flag = col(self.history.own("is_current"))
        return flag if self.history.flag is None else flag == F.lit(self.history.flag[0])

    def _data(self, rows: DataFrame) -> DataFrame:
        own = self.history.own_names
        merged = self.feed.event_time_column
        names = [
            name
            for name in rows.columns
            if not internal(name)
            and (name.lower() not in own or (merged is not None and merged.column.lower() == name.lower()))
        ]
        return rows.select(*[col(name) for name in names])

    def _valid_at(self, rows: DataFrame, time: Asked) -> Column:
        assert isinstance(self.history, Versions)
        own = self.history.own
        start, end = col(own("valid_from")), col(own("valid_to"))
        at = moment_like(time, rows.schema[own("valid_from")].dataType)
        inclusive = self.history.end == "inclusive_day"
        ends = (at <= end) if inclusive else (at < end)
        return (start <= at) & (end.isNull() | ends)

    def _last_of_log(self, rows: DataFrame) -> DataFrame:
        own = self.history.own
        names = [find(name, rows.columns) or name for name in getattr(self.feed, "key", ())]
        newest = Window.partitionBy(*[col(name) for name in names]).orderBy(col(own("offset")).desc())
        last = rows.withColumn("_lb_rank", F.row_number().over(newest)).where("_lb_rank = 1")
        return last.where(col(own("op")) != "-R")

    def _is_key(self, rows: DataFrame, key: Any) -> Column:
        names = [find(name, rows.columns) or name for name in getattr(self.feed, "key", ())]
        if not names:
            raise _no_key("timeline")
        given = dict(key) if isinstance(key, Mapping) else dict(zip(names, [key], strict=False))
        condition = F.lit(True)
        for name in names:
            found = find(name, given)
            if found is None:
                raise TableError(
                    f"the key column {name!r} has no value",
                    code="invalid_options",
                    hint=f"pass a mapping with {', '.join(names)}",
                )
            condition = condition & (col(name) == F.lit(given[found]).cast(rows.schema[name].dataType))
        return condition


def _shown(rows: DataFrame) -> DataFrame:
    return rows.select(*[col(name) for name in rows.columns if not internal(name)])


def _no_key(what: str) -> LakebedError:
    return TableError(f"a feed without key has no {what}", code="no_key", hint="use read() for the whole log")
