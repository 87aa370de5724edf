"""Plans of a table that is not on this machine, kept beside it through Spark: one small text file for each thing that
happened to a plan, only ever added.

`<table>__lakebed/batches/part-….txt`, a line of JSON each: `{"number": 7, "place": 1, "what": "kept", "plan": {…}}`. The last
record of a number holds. Spark's committer shows a file whole or not at all, so a crash leaves at most a temporary folder,
which is not read. Of two runs that keep different plans for one number at once both are told, by reading back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from lakebed.control import BatchPlan, Input
from lakebed.errors import TableError

KEPT, DROPPED, SKIPPED = "kept", "dropped", "skipped"


@dataclass(frozen=True, order=True)
class _Record:
    number: int
    place: int
    what: str
    plan: BatchPlan = field(compare=False)


class PlanRecords:
    """The plans beside the table of one dataset. Read once; later changes are this run's own."""

    def __init__(self, place: str, spark: Callable[[], Any]) -> None:
        self.place, self._spark = place, spark
        self._known: list[_Record] | None = None

    def keep(self, plan: BatchPlan) -> None:
        """A crash before the file is there leaves no plan, one after it the whole plan."""
        there = self._holding(plan.number)
        clash = there is not None and there != plan
        if there is None:
            place = self._add(plan.number, KEPT, plan)
            self._known = None  # read back: somebody else may have kept another one at the same time
            clash = any(one.place == place and one.plan != plan for one in self._of(plan.number))
        if clash:
            raise TableError(
                f"batch {plan.number} was planned before, with other inputs",
                code="plan_differs",
                where=self.place,
                hint="does another project, or another control store, write this table? Only one may",
            )

    def after(self, number: int) -> Iterator[BatchPlan]:
        numbers = sorted({one.number for one in self._records() if one.number > number})
        plans = (self._holding(one) for one in numbers)
        return (plan for plan in plans if plan is not None)

    def drop(self, number: int) -> None:
        self._aside(number, DROPPED)

    def skip(self, number: int) -> None:
        self._aside(number, SKIPPED)

    def skipped(self) -> Iterator[tuple[Input, ...]]:
        return (one.plan.inputs for one in self._records() if one.what == SKIPPED)

    def _aside(self, number: int, what: str) -> None:
        plan = self._holding(number)
        if plan is not None:
            self._add(number, what, plan)

    def _of(self, number: int) -> list[_Record]:
        return [one for one in self._records() if one.number == number]

    def _holding(self, number: int) -> BatchPlan | None:
        last = next(reversed(self._of(number)), None)
        return last.plan if last is not None and last.what == KEPT else None

    def _add(self, number: int, what: str, plan: BatchPlan) -> int:
        place = len(self._of(number)) + 1
        text = json.dumps({"number": number, "place": place, "what": what, "plan": plan.as_dict()})
        frame = self._spark().createDataFrame([(text,)], "value string").coalesce(1)
        frame.write.mode("append").text(self.place)
        self._records().append(_Record(number, place, what, plan))
        return place

    def _records(self) -> list[_Record]:
        if self._known is None:
            self._known = sorted(self._read())
        return self._known

    def _read(self) -> Iterator[_Record]:
        from pyspark.errors import AnalysisException  # noqa: PLC0415 - without anything to do, Spark is not imported

        try:
            lines = self._spark().read.text(self.place)
        except AnalysisException as error:
            if error.getCondition() != "PATH_NOT_FOUND":
                raise
            return
        for (line,) in lines.toLocalIterator():
            try:
                found = json.loads(line)
                plan = BatchPlan.from_dict(found["plan"])
                yield _Record(int(found["number"]), int(found["place"]), str(found["what"]), plan)
            except (ValueError, KeyError, TypeError):
                raise TableError(
                    "the plan of a batch cannot be read",
                    code="plan_broken",
                    where=self.place,
                    hint="restore the files from a backup; they were written once and never changed",
                ) from None
