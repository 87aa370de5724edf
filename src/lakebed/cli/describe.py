"""`lakebed validate` and `lakebed schema`: about the files themselves. No Spark."""

from __future__ import annotations

from enum import StrEnum
from importlib import metadata
from typing import Annotated

import typer

from lakebed.cli.output import Format, ShortFormat, print_rows, to_json
from lakebed.cli.settings import settings
from lakebed.manifest import Dataset, json_schema


class Which(StrEnum):
    PROJECT = "project"
    DATASET = "dataset"


def add_to(app: typer.Typer) -> None:
    app.command()(validate)
    app.command()(schema)


def validate(
    context: typer.Context,
    format_: Annotated[
        ShortFormat, typer.Option("--format", help="How to print the result.")
    ] = ShortFormat.TABLE,
) -> None:
    """Check lakebed.yaml and every dataset's file, and show all mistakes together.

    \b
    Example:
      lakebed --project shop validate
    """
    project = settings(context).load()
    rows = [_about(dataset) for dataset in project.datasets]
    if format_ is ShortFormat.JSON:
        print(to_json({"project": project.name, "profile": project.profile, "datasets": rows}, indent=2))  # noqa: T201
        return
    print_rows(["dataset", "feed", "history", "files"], rows, Format.TABLE)
    count = len(rows)
    print(f"{project.name}: {count} dataset{'' if count == 1 else 's'}, no mistakes")  # noqa: T201


def _about(dataset: Dataset) -> dict[str, str]:
    return {
        "dataset": dataset.name,
        "feed": dataset.feed.kind,
        "history": dataset.history.kind,
        "files": dataset.source.files,
    }


def schema(
    which: Annotated[Which, typer.Argument(help="Which file: lakebed.yaml, or one of datasets/.")],
) -> None:
    """Print the JSON Schema of a file, for editors that complete and check YAML.

    \b
    Example:
      lakebed schema dataset > dataset.schema.json
    """
    print(to_json(json_schema(which.value), indent=2))  # noqa: T201


def print_version(wanted: bool) -> None:  # noqa: FBT001 - a callback of typer
    if wanted:
        print(f"lakebed {metadata.version('lakebed')}")  # noqa: T201
        raise typer.Exit
