"""Every error lakebed raises on purpose.

::

    LakebedError                 code, what, where, hint, counts, sample
    ├── ManifestError            a project's files are wrong (file, line, field)
    ├── OptionsError             feed or history options are wrong, or do not go together
    ├── BatchError               this batch cannot be applied; nothing of it was written
    │   └── BadRowsError         G5 with `on_bad_rows: fail`; counts per reason and a sample
    ├── SettingsChangedError     the table was made with other settings (G9)
    ├── DependencyError          a derived partition cannot be computed: its date, its SQL (D4-D6)
    ├── TableError               a table, or the store beside it, is not as it must be
    ├── SetupError               Java, jars or packages are missing
    └── TransientError           trying again may help
        └── ConflictError        another writer was faster

Each says what happened, where, and what to do next::

    try:
        customers.apply(df, batch=7, system_time=now)
    except lb.LakebedError as error:
        print(error.code, error.what, error.hint)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class LakebedError(Exception):
    """Base of the tree. `code` is stable and meant for scripts; the text is meant for people."""

    code = "error"

    def __init__(
        self,
        what: str,
        *,
        code: str | None = None,
        where: str | None = None,
        hint: str | None = None,
        counts: Mapping[str, int] | None = None,
        sample: Sequence[Any] = (),
    ) -> None:
        super().__init__(what)
        self.what = what
        self.code = code or type(self).code
        self.where = where
        self.hint = hint
        self.counts = dict(counts or {})
        self.sample = list(sample)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        counted = f" ({', '.join(f'{name}: {n}' for name, n in self.counts.items())})" if self.counts else ""
        sample = f"\n  for example: {self.sample[0]}" if self.sample else ""
        hint = f"\n  what to do: {self.hint}" if self.hint else ""
        return f"{place}{self.what}{counted} [{self.code}]{sample}{hint}"

    def as_dict(self) -> dict[str, Any]:
        """The same as data, for `--format json`."""
        return {
            "code": self.code,
            "what": self.what,
            "where": self.where,
            "hint": self.hint,
            "counts": self.counts,
            "sample": self.sample,
        }


class ManifestError(LakebedError):
    code = "invalid_manifest"


class OptionsError(LakebedError):
    code = "invalid_options"


class BatchError(LakebedError):
    code = "batch_refused"


class BadRowsError(BatchError):
    code = "bad_rows"


class SettingsChangedError(LakebedError):
    code = "settings_changed"


class DependencyError(LakebedError):
    code = "dependency"


class TableError(LakebedError):
    code = "table_broken"


class SetupError(LakebedError):
    code = "setup"


class TransientError(LakebedError):
    code = "transient"


class ConflictError(TransientError):
    code = "conflict"
