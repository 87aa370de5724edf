"""Steps whose SQL stands in a file of the project (D16)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lakebed.manifest.derived import Derived, Step

FOLDER = "sql"
MAX_BYTES = 1024 * 1024
Report = Callable[[tuple[str | int, ...], str], None]


def with_sql(derived: Derived, root: Path, report: Report) -> Derived:
    """The same dataset with the SQL of every step in `sql`. A file is looked for in `sql/{team}/`, where the team is the
    first word of the dataset's database, then in `sql/`. `sql` that is given wins. What cannot be read is reported."""
    steps = tuple(_filled(step, index, derived, root, report) for index, step in enumerate(derived.steps))
    return derived.model_copy(update={"steps": steps})


def _filled(step: Step, index: int, derived: Derived, root: Path, report: Report) -> Step:
    if step.sql.strip() or step.sql_file is None:
        return step
    team = derived.name.partition(".")[0].partition("_")[0]
    tried = [root / FOLDER / team / step.sql_file, root / FOLDER / step.sql_file]
    path = next((path for path in tried if path.is_file()), None)
    here = ("steps", index, "sql_file")
    if path is None:
        names = " nor ".join(place.relative_to(root).as_posix() for place in tried)
        report(here, f"there is no file {names}")
        return step
    name = path.relative_to(root).as_posix()
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        report(here, f"the file {name} cannot be read: {error}")
        return step
    if not text.strip() or len(content) > MAX_BYTES:
        why = "is empty" if not text.strip() else f"is larger than {MAX_BYTES // 1024} KiB"
        report(here, f"the file {name} {why}")
    return step.model_copy(update={"sql": text})
