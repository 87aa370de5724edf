"""One case, run and compared: with the engine or with the oracle, it is the same code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from tests.conformance import invariants
from tests.conformance.cases import Batch, Case, number_of, schema_of
from tests.conformance.compare import Row, Table, difference, without

COUNTED = ("rejected", "duplicate", "late", "unchanged", "applied")


class Failed(Exception):  # noqa: N818
    """A dataset refused a batch, or refused to be built."""

    def __init__(self, code: str, reasons: Mapping[str, int] | None = None, text: str = "") -> None:
        super().__init__(text or code)
        self.code, self.reasons = code, dict(reasons or {})


class Dataset(Protocol):
    """A table under test. Every method may raise `Failed`."""

    def apply(self, batch: Batch, ddl: str, number: int) -> Mapping[str, int | bool]: ...
    def table(self) -> Table: ...
    def state(self) -> Table: ...
    def as_of(self, moment: str) -> Table: ...
    def rejected(self) -> Counter[str]: ...


Open = Callable[[Case], Dataset]


def failures(case: Case, opened: Open) -> list[str]:
    """Everything that is not as the case says; empty if all is well."""
    return _Run(case, opened).run()


def own_to_leave_out(case: Case) -> list[str]:
    """`sk` and `row_hash`, by the names they have in this table."""
    if case["history"]["kind"] != "versions":
        return []
    rename = case["history"].get("rename") or {}
    return [rename.get(name, name) for name in ("sk", "row_hash")]


class _Run:
    def __init__(self, case: Case, opened: Open) -> None:
        self.case, self.opened = case, opened
        self.wrong: list[str] = []
        self.error = case.get("expected_error") or {}
        self.is_log = case["history"]["kind"] == "log"
        self.keys_used: set[object] = set()

    def run(self) -> list[str]:
        try:
            self.dataset = self.opened(self.case)
        except Failed as failed:
            self._refused(0, failed)
            return self.wrong
        if self.error.get("batch") == 0:
            return [f"was not refused when built (expected {self.error['code']})"]
        before = self._look()
        for place, batch in enumerate(self.case["batches"], 1):
            before, went_on = self._batch(place, batch, before)
            if not went_on:
                break
        self._at_the_end(before)
        return self.wrong

    def _look(self) -> Table:
        return self.dataset.table()

    def _batch(self, place: int, batch: Batch, before: Table) -> tuple[Table, bool]:
        rejected = self.dataset.rejected() if self.error.get("batch") == place else Counter()
        try:
            report = self.dataset.apply(batch, schema_of(self.case, batch), number_of(self.case, place))
        except Failed as failed:
            self._refused(place, failed)
            after = self._look()
            self._same(f"batch {place} failed, but changed the table", before, after)
            if self.dataset.rejected() != rejected and self.error.get("batch") == place:
                self.wrong.append(f"batch {place} failed, but changed the rejected rows")
            return after, False
        if self.error.get("batch") == place:
            self.wrong.append(f"batch {place} did not fail with {self.error['code']}")
        after = self._look()
        self._report(place, report)
        if str(place) in self.case.get("expected_after", {}):
            self._table(f"after batch {place}", after, self.case["expected_after"][str(place)])
        broken = [
            *invariants.broken(self.case, before, after),
            *invariants.used_again(self.case, before, after, self.keys_used),
        ]
        self.wrong += [f"after batch {place}: {text}" for text in broken]
        return after, True

    def _refused(self, place: int, failed: Failed) -> None:
        """Compares a failure with the one that is expected."""
        if self.error.get("batch") != place:
            self.wrong.append(f"{_at(place)} failed: {failed.code}: {failed}")
        elif failed.code != self.error["code"]:
            self.wrong.append(
                f"{_at(place)} failed with {failed.code}, expected {self.error['code']}: {failed}"
            )
        elif "reasons" in self.error and Counter(failed.reasons) != Counter(self.error["reasons"]):
            self.wrong.append(f"{_at(place)} failed for {failed.reasons}, expected {self.error['reasons']}")

    def _report(self, place: int, report: Mapping[str, int | bool]) -> None:
        wanted = self.case.get("expected_report", {}).get(str(place), {})
        off = {name: report.get(name) for name, value in wanted.items() if (report.get(name) or 0) != value}
        if off:
            self.wrong.append(f"report {place} says {off}, expected {wanted}")
        if not report.get("already_applied"):
            total = sum(report.get(name) or 0 for name in COUNTED)
            if total != report.get("read") or report["read"] != len(self.case["batches"][place - 1]["rows"]):
                self.wrong.append(f"report {place} does not add up (G8): {dict(report)}")

    def _table(self, when: str, table: Table, expected: Sequence[Row]) -> None:
        found = difference(without(table, own_to_leave_out(self.case)), expected, ordered=self.is_log)
        if found:
            self.wrong.append(f"{when}: {found}")

    def _same(self, text: str, before: Table, after: Table) -> None:
        found = difference(after, before.rows) if before.rows or after.rows else None
        if found:
            self.wrong.append(f"{text}: {found}")

    def _at_the_end(self, last: Table) -> None:
        case, dataset = self.case, self.dataset
        if "expected_any_of" in case:
            self._any_of(last, case["expected_any_of"])
        elif "expected" in case:
            self._table("at the end", last, case["expected"])
        if "expected_rejected" in case and dataset.rejected() != Counter(case["expected_rejected"]):
            self.wrong.append(f"rejected: {dict(dataset.rejected())}, expected {case['expected_rejected']}")
        if "expected_state" in case:
            found = difference(_data(dataset.state(), case), case["expected_state"])
            if found:
                self.wrong.append(f"state: {found}")
        for moment, rows in case.get("expected_as_of", {}).items():
            found = difference(_data(dataset.as_of(moment), case), rows)
            if found:
                self.wrong.append(f"as of {moment}: {found}")
        self.wrong += self._again(last)

    def _any_of(self, last: Table, choices: Sequence[Sequence[Row]]) -> None:
        trimmed = without(last, own_to_leave_out(self.case))
        found = [difference(trimmed, choice, ordered=self.is_log) for choice in choices]
        if all(found):
            self.wrong.append(f"at the end, none of {len(choices)} tables; against the first: {found[0]}")

    def _again(self, last: Table) -> list[str]:
        """G1: the last batch once more under its number changes nothing."""
        places = len(self.case["batches"])
        if self.error or not places:
            return []
        batch = {
            name: value for name, value in self.case["batches"][-1].items() if name not in ("feed", "history")
        }
        try:
            report = self.dataset.apply(batch, schema_of(self.case, batch), number_of(self.case, places))
        except Failed as failed:
            return [f"the last batch again failed: {failed}"]
        if not report.get("already_applied"):
            return [f"the last batch again was not seen as already applied: {dict(report)}"]
        found = difference(self._look(), last.rows)
        return [f"the last batch again changed the table: {found}"] if found else []


def _at(place: int) -> str:
    return f"batch {place}" if place else "building it"


def _data(table: Table, case: Case) -> Table:
    """Only the data columns: not the table's own ones, which an answer may or may not repeat."""
    return without(table, invariants.own_names(case))
