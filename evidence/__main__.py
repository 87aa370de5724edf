"""`python -m evidence [series …] --seed N --share S`: runs the series, all if none is named, and writes them into docs/evidence.md."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from types import ModuleType

import evidence
from evidence.figure import Figure
from evidence.page import commit, keep_section

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


def shown(figure: Figure) -> str:
    return figure.value if isinstance(figure.value, str) else f"{figure.value:,}"


def table(figures: list[Figure]) -> str:
    rows = [f"| {row.what} | {shown(row)} |" for row in figures]
    return "\n".join(["| what | figure |", "|---|---|", *rows])


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
        length = "" if given.share == 1 else f" SHARE={given.share:g}"
        how = f"`make evidence SERIES={name} SEED={given.seed}{length}` at commit {commit()}"
        about = (known[name].__doc__ or "").strip() + "\n\n" + how
        figures: list[Figure] = []
        for figure in known[name].run(given.seed, given.share):
            figures.append(figure)
            print(f"  {figure.what}: {shown(figure)}", flush=True)
            keep_section("evidence.md", name, f"{about}; it was ended early.\n\n{table(figures)}", HEAD)
        page = keep_section("evidence.md", name, f"{about}.\n\n{table(figures)}", HEAD)
        print(f"written into {page}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
