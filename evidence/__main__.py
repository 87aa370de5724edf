"""`python -m evidence --seed N`: runs every series, writes docs/evidence.md with the commit and the seed."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import evidence
from evidence.figure import Figure

PAGE = Path(__file__).parent.parent / "docs" / "evidence.md"


def series() -> dict[str, ModuleType]:
    """The modules of this package that have a `run`."""
    names = sorted(
        found.name for found in pkgutil.iter_modules(evidence.__path__) if found.name != "__main__"
    )
    modules = {name: importlib.import_module(f"evidence.{name}") for name in names}
    return {name: module for name, module in modules.items() if hasattr(module, "run")}


def page(figures: dict[str, list[Figure]], about: dict[str, str], commit: str, seed: int) -> str:
    """The text of docs/evidence.md."""
    lines = [
        "# Evidence",
        "",
        f"Written by `make evidence SEED={seed}` at commit {commit}. Every series is random, and the same again with the same seed.",
    ]
    for name, rows in figures.items():
        lines += ["", f"## {name}", "", about[name], "", "| what | figure |", "|---|---|"]
        lines += [
            f"| {row.what} | {row.value:,} |"
            if not isinstance(row.value, str)
            else f"| {row.what} | {row.value} |"
            for row in rows
        ]
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m evidence", description="Runs the long random series.")
    parser.add_argument("--seed", type=int, default=1)
    seed: int = parser.parse_args(arguments).seed
    found = series()
    if not found:
        print("there is no series yet", file=sys.stderr)
        return 1
    figures: dict[str, list[Figure]] = {}
    for name, module in found.items():
        print(f"{name} …", flush=True)
        figures[name] = module.run(seed)
    about = {name: (module.__doc__ or "").strip() for name, module in found.items()}
    PAGE.write_text(page(figures, about, _commit(), seed), encoding="utf-8")
    print(f"wrote {PAGE}")
    return 0


def _commit() -> str:
    """The commit's short name, with a word if the tree differs from it."""
    git = ["git", "-C", str(PAGE.parent)]
    name = subprocess.run(
        [*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True
    )
    changed = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True, check=True)
    return name.stdout.strip() + (" with uncommitted changes" if changed.stdout.strip() else "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
