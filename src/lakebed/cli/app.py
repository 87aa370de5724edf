"""The application: its global options, and its commands in the order in which a user meets them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lakebed.cli import batches, derived, describe, init, lineage, plan, rejected, run, runs, show, watch
from lakebed.cli.settings import Settings

HELP = """History for the data lake: files that land become Delta tables that tell the truth.

\b
First steps:
  lakebed init shop
  lakebed --project shop run
  lakebed --project shop show demo.cities
"""

app = typer.Typer(
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _global(
    context: typer.Context,
    project: Annotated[
        Path,
        typer.Option(
            help="The project's folder, where lakebed.yaml is.", envvar="LAKEBED_PROJECT", metavar="DIR"
        ),
    ] = Path(),
    profile: Annotated[
        str | None,
        typer.Option(
            help="A profile of lakebed.yaml, such as prod.", envvar="LAKEBED_PROFILE", metavar="NAME"
        ),
    ] = None,
    version: Annotated[  # noqa: ARG001 - handled by its callback
        bool,
        typer.Option(
            "--version", help="Show lakebed's version.", callback=describe.print_version, is_eager=True
        ),
    ] = False,
    traceback: Annotated[  # noqa: ARG001 - read from the arguments by failures.py, which sees errors before this
        bool, typer.Option("--traceback", help="Show where in the code an error came from.")
    ] = False,
) -> None:
    context.obj = Settings(project, profile)


for module in (init, describe, run, watch, show, rejected, batches, lineage, plan, derived, runs):
    module.add_to(app)
