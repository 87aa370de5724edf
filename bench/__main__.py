"""`python -m bench [workload …]`: runs the named workloads, all if none is named, and writes them into docs/speed.md."""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Callable, Iterator

from evidence.page import commit, keep_section

import bench
from bench.result import Result

HEAD = """\
# Speed

Seconds, measured by `make bench`, the ways of a workload in turn in one run. Read the ratios: machines differ, and this one is small.
"""


def workloads() -> dict[str, Callable[[], Iterator[Result]]]:
    """The modules of this package that have a `run`."""
    names = sorted(found.name for found in pkgutil.iter_modules(bench.__path__) if found.name != "__main__")
    modules = {name: importlib.import_module(f"bench.{name}") for name in names}
    return {name: module.run for name, module in modules.items() if hasattr(module, "run")}


def main(names: list[str]) -> int:
    known = workloads()
    if unknown := [name for name in names if name not in known]:
        print(f"no such workload: {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    for name in names or known:
        at = commit()
        for result in known[name]():
            print(result, end="\n\n", flush=True)
            page = keep_section(
                "speed.md", result.workload, f"{result.about}\n\n{result.table()}\n\n{_how(name, at)}", HEAD
            )
            print(f"written into {page}", flush=True)
    return 0


def _how(name: str, at: str) -> str:
    settings = [
        f"{key}={value}" for key, value in sorted(os.environ.items()) if key.startswith("LAKEBED_BENCH_")
    ]
    return f"`make bench WORKLOADS={name}`{''.join(f', {one}' for one in settings)}; {os.cpu_count()} cores, commit {at}."


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
