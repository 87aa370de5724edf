"""The command line. Results go to standard output, everything else to standard error."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from lakebed.cli.app import app
from lakebed.cli.failures import exit_code_of


def main(arguments: Sequence[str] | None = None) -> None:
    """The `lakebed` command. Ends the process with the exit code of docs/cli.md."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    sys.exit(exit_code_of(lambda: app(arguments, prog_name="lakebed", standalone_mode=False), arguments))
