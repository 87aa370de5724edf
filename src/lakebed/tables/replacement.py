"""Rows that take the place of others, in one commit, by the cheapest way that is right.

MERGE joins three times; replacing rows by key joins once. Which form is used depends on what the staged rows do: only
add, only remove, replace, or both replace and remove.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame

from lakebed.history.columns import quote_ident
from lakebed.tables.delta import ROWS, TABLE, Commit, DeltaTable, Head
from lakebed.tables.sql import quote_text


@dataclass(frozen=True)
class Replacement:
    """A staged write set. `staged` also has the rows that only remove; `rows` are those to be written.

    `columns` identify a row; `open_only` says that nothing but live rows is replaced.
    """

    staged: str
    rows: DataFrame
    columns: list[str]
    replaced: int
    gone: int
    written: int
    open_only: bool = False

    @property
    def is_empty(self) -> bool:
        return not self.written and not self.gone


def equals(column: str, text: str | None) -> str:
    """The condition that a column of the table is true, or is this text."""
    flag = f"{TABLE}.{quote_ident(column)}"
    return flag if text is None else f"{flag} = {quote_text(text)}"


def replace(table: DeltaTable, rows: Replacement, where: str, commit: Commit, *, empty: bool) -> Head:
    """One commit. `where` narrows the rows of the table that can be meant; `empty` says that it holds none."""
    if empty or (not rows.replaced and not rows.gone):
        return table.append(rows.rows, commit)
    if not rows.written:
        return table.remove(rows.staged, rows.columns, where, commit)
    also = f"{where} AND " if where else ""
    names = [quote_ident(name) for name in rows.columns]
    if not rows.gone:
        same = " AND ".join(f"{TABLE}.{name} = {ROWS}.{name}" for name in names)
        return table.replace(rows.rows, also + same, commit)
    mine = ", ".join(f"{TABLE}.{name}" for name in names)
    key = f"({mine})" if len(names) > 1 else mine
    staged = f"SELECT {', '.join(names)} FROM parquet.{quote_ident(rows.staged)}"
    return table.replace(rows.rows, f"{also}{key} IN ({staged})", commit)
