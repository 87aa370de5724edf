"""`python -m bench [workload …]`: runs the named workloads, all if none is named."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable

import bench
from bench.result import Result


def workloads() -> dict[str, Callable[[], Result]]:
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
        print(known[name](), end="\n\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
