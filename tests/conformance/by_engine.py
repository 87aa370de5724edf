"""The engine as a dataset that cases can be run through: real Delta tables, by `lakebed.table`.

Whatever the runner knows of lakebed's interface is in this module.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.conformance.cases import Batch, Case, times_declared
from tests.conformance.checks import Failed
from tests.conformance.compare import Table
from tests.conformance.frames import collected, frame, moment

from lakebed import manifest
from lakebed.errors import LakebedError
from lakebed.table import table as open_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FEEDS = {
    "append": manifest.Append,
    "ledger": manifest.Ledger,
    "snapshot": manifest.Snapshot,
    "updates": manifest.Updates,
    "changes": manifest.Changes,
}
_HISTORIES = {"log": manifest.Log, "current": manifest.Current, "versions": manifest.Versions}


class ByEngine:
    """A dataset in a folder of its own."""

    def __init__(self, spark: SparkSession, folder: Path, case: Case) -> None:
        self.spark, self.case = spark, case
        self.path = folder / "".join(letter if letter.isalnum() else "_" for letter in case["name"])
        self.feed, self.history = dict(case["feed"]), dict(case["history"])
        self._open()

    def _open(self) -> None:
        if self.feed.get("kind") not in _FEEDS or self.history.get("kind") not in _HISTORIES:
            raise Failed("invalid_options", {}, "no such kind")
        history = _given(self.history)
        partition_by = history.pop("partition_by", ())  # an option of the table, not of its history
        try:
            self.opened = open_table(
                self.spark,
                str(self.path),
                feed=_FEEDS[self.feed["kind"]](**_given(self.feed)),
                history=_HISTORIES[history["kind"]](**history),
                partition_by=partition_by,
            )
        except LakebedError as error:
            raise Failed(error.code, error.counts, str(error)) from error

    def apply(self, batch: Batch, ddl: str, number: int) -> Mapping[str, int | bool]:
        if "feed" in batch or "history" in batch:
            self.feed |= batch.get("feed", {})
            self.history |= batch.get("history", {})
        if "feed" in batch or "history" in batch or len(self.case["name"]) % 2:
            self._open()  # half of the cases for every batch, as runs do; the others keep what they know
        event_time = moment(batch["event_time"]) if "event_time" in batch else None
        if event_time is None and times_declared(self.case):
            event_time = moment(batch["system_time"])
        rows = frame(self.spark, batch["rows"], ddl)
        try:
            report = self.opened.apply(
                rows,
                batch=number,
                system_time=moment(batch["system_time"]),
                event_time=event_time,
                immutable=number % 2 == 0,  # rows out of memory are the same again: both ways are tried
            )
        except LakebedError as error:
            raise Failed(error.code, error.counts, str(error)) from error
        return report.as_dict()

    def table(self) -> Table:
        found, history = self._read(str(self.path)), self.case["history"]  # changed options are refused
        if history["kind"] != "log" or not found.rows:
            return found
        offset = (history.get("rename") or {}).get("offset", "offset")
        return Table(sorted(found.rows, key=lambda row: row[offset]), found.kinds)

    def state(self) -> Table:
        return self._asked(self.opened.state)

    def as_of(self, at: str) -> Table:
        number = at.lstrip("-").isdigit()

        def valid() -> DataFrame:
            df: DataFrame = self.opened.as_of(int(at) if number else at)
            if self.history.get("deletes") not in ("flag", "mark"):
                return df
            deleted = (self.history.get("rename") or {}).get("is_deleted", "is_deleted")
            return df.where(f"NOT `{deleted}`")

        return self._asked(valid)

    def _asked(self, question: Callable[[], DataFrame]) -> Table:
        """An answer of the table; nothing where its first batch was refused, so that there is none."""
        if not (self.path / "_delta_log").is_dir():
            return Table()
        return collected(question())

    def rejected(self) -> Counter[str]:
        return Counter(row["reason"] for row in self._read(f"{self.path}__rejected").rows)

    def _read(self, path: str) -> Table:
        if not (Path(path) / "_delta_log").is_dir():
            return Table()
        return collected(self.spark.read.format("delta").load(path))


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    """A batch takes an option back by null; only an open end may be null itself."""
    return {name: value for name, value in options.items() if value is not None or name == "open_end"}


def open_in(spark: SparkSession, folder: Path) -> Any:
    """Opens each case in its own folder."""
    return lambda case: ByEngine(spark, folder, case)
