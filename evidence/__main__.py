"""`python -m evidence [series …] --seed N --share S`: runs the series, all if none is named, and writes them into docs/evidence.md."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import evidence
from evidence.figure import Figure

PAGE = Path(__file__).parent.parent / "docs" / "evidence.md"
HEAD = """\
# Evidence

Long random series, written here by `make evidence`. `SERIES` names some of them, `SEED` chooses another course, the same again with the
same seed; `SHARE=0.1` runs a tenth of their length. Each section says how it was run.
"""


def series() -> dict[str, ModuleType]:
    """The modules of this package that have a `run`."""
    names = sorted(
        found.name for found in pkgutil.iter_modules(evidence.__path__) if found.name != "__main__"
    )
    modules = {name: importlib.import_module(f"evidence.{name}") for name in names}
    return {name: module for name, module in modules.items() if hasattr(module, "run")}


def section(name: str, about: str, figures: list[Figure], how: str) -> str:
    """The text of one series."""
    rows = [
        f"| {row.what} | {row.value if isinstance(row.value, str) else f'{row.value:,}'} |" for row in figures
    ]
    return "\n".join([f"## {name}", "", about, "", how, "", "| what | figure |", "|---|---|", *rows]) + "\n"


def sections(page: str) -> dict[str, str]:
    """The series that a page tells of, by name."""
    found = re.split(r"^(?=## )", page, flags=re.MULTILINE)[1:]
    return {text.partition("\n")[0].removeprefix("## "): text.rstrip() + "\n" for text in found}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m evidence", description="Runs the long random series.")
    parser.add_argument("series", nargs="*", help="only these")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=1.0, help="of the length that each series has")
    given = parser.parse_args(arguments)
    known = series()
    if unknown := [name for name in given.series if name not in known]:
        print(f"no such series: {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    for name in given.series or known:
        print(f"{name} …", flush=True)
        commit = _commit()
        figures = known[name].run(given.seed, given.share)
        length = "" if given.share == 1 else f" SHARE={given.share:g}"
        how = f"`make evidence SERIES={name} SEED={given.seed}{length}` at commit {commit}."
        text = section(name, (known[name].__doc__ or "").strip(), figures, how)
        print(text, flush=True)
        told = sections(PAGE.read_text(encoding="utf-8")) if PAGE.exists() else {}
        told[name] = text
        PAGE.write_text("\n".join([HEAD, *(told[one] for one in sorted(told))]), encoding="utf-8")
    print(f"wrote {PAGE}")
    return 0


def _commit() -> str:
    """The commit's short name, with a word if the tree differs from it, this page left aside."""
    git = ["git", "-C", str(PAGE.parent)]
    name = subprocess.run(
        [*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True
    )
    changed = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True, check=True)
    others = [line for line in changed.stdout.splitlines() if not line.endswith("docs/evidence.md")]
    return name.stdout.strip() + (" with uncommitted changes" if others else "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
