"""Pages of docs/ that commands write: one section per series or workload, each saying how and at which commit it was run."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


def keep_section(name: str, title: str, text: str, head: str) -> Path:
    """Put a section into docs/`name`, in place of the one of that title; the others stay, sorted by title."""
    page = DOCS / name
    told = _sections(page.read_text(encoding="utf-8")) if page.exists() else {}
    told[title] = f"## {title}\n\n{text.rstrip()}\n"
    page.write_text("\n".join([head, *(told[one] for one in sorted(told))]), encoding="utf-8")
    return page


def _sections(page: str) -> dict[str, str]:
    found = re.split(r"^(?=## )", page, flags=re.MULTILINE)[1:]
    return {text.partition("\n")[0].removeprefix("## "): text.rstrip() + "\n" for text in found}


def commit() -> str:
    """The commit's short name, with a word if the tree differs from it, pages of this kind left aside."""
    git = ["git", "-C", str(DOCS)]
    name = subprocess.run(
        [*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True
    )
    changed = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True, check=True)
    pages = ("docs/evidence.md", "docs/speed.md")
    others = [line for line in changed.stdout.splitlines() if not line.endswith(pages)]
    return name.stdout.strip() + (" with uncommitted changes" if others else "")
