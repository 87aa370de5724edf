"""The oracle as a dataset that cases can be run through."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from tests.conformance.cases import Batch, Case, times_declared
from tests.conformance.checks import Failed
from tests.conformance.compare import Table
from tests.oracle import Model, Refused
from tests.oracle.events import Winner, by_content


class ByOracle:
    """A dataset held by the oracle."""

    def __init__(self, case: Case, winner: Winner = by_content) -> None:
        try:
            self.model = Model(
                case["feed"], case["history"], times_declared=times_declared(case), winner=winner
            )
        except Refused as refused:
            raise Failed(refused.code, refused.reasons) from refused

    def apply(self, batch: Batch, ddl: str, number: int) -> Mapping[str, int | bool]:
        try:
            return self.model.apply(batch, ddl, number).report
        except Refused as refused:
            raise Failed(refused.code, refused.reasons) from refused

    def table(self) -> Table:
        return self._typed(self.model.table())

    def state(self) -> Table:
        return self._typed(self.model.state())

    def as_of(self, moment: str) -> Table:
        return self._typed(self.model.as_of(moment))

    def rejected(self) -> Counter[str]:
        return self.model.rejected

    def _typed(self, rows: Sequence[Mapping[str, Any]]) -> Table:
        kinds = dict.fromkeys((name.lower() for row in rows for name in row), "")
        kinds |= {
            name.lower(): _kind(value) for row in rows for name, value in row.items() if value is not None
        }
        return Table(rows, kinds | {name: kind for name, (_, kind) in self.model.schema.columns.items()})


def _kind(value: Any) -> str:
    """Of a column that the rows do not have: valid_from and valid_to may be made of any."""
    return {Decimal: "decimal", float: "double"}.get(type(value), "")
