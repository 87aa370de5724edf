"""Where a table is: a path, or a name in the session's catalog."""

from __future__ import annotations

from dataclasses import dataclass

from lakebed.history.columns import quote_ident


@dataclass(frozen=True)
class Place:
    """`crm.customers`, or a path or URL; anything with a slash is a path."""

    text: str

    @property
    def is_path(self) -> bool:
        return "/" in self.text or "\\" in self.text

    @property
    def sql(self) -> str:
        """The table as it may stand in SQL."""
        if self.is_path:
            return f"delta.{quote_ident(self.text)}"
        return ".".join(quote_ident(part) for part in self.text.split("."))

    @property
    def short(self) -> str:
        """The last part, for messages and views."""
        return self.text.rstrip("/").rsplit("/", 1)[-1]

    def within(self, database: str) -> Place:
        """The same table, whatever database is the current one later, and whatever views have its name."""
        return self if self.is_path or "." in self.text else Place(f"{database}.{self.text}")

    def sibling(self, suffix: str) -> Place:
        """The table beside this one that has its name plus `suffix`."""
        return Place(self.text.rstrip("/") + suffix)
