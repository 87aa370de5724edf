"""`lakebed validate` and `lakebed schema`: about the files themselves. No Spark."""

from __future__ import annotations

from enum import StrEnum
from importlib import metadata
from typing import Annotated

import typer

from lakebed.cli.options import ResultFormat
from lakebed.cli.output import Format, ShortFormat, print_rows, say, to_json
from lakebed.cli.settings import settings
from lakebed.dependencies.sql import leftovers
from lakebed.manifest import AtLeast, Dataset, Derived, LandingFiles, Project, json_schema


class Which(StrEnum):
    PROJECT = "project"
    DATASET = "dataset"


def add_to(app: typer.Typer) -> None:
    app.command()(validate)
    app.command()(schema)


def validate(
    context: typer.Context,
    format_: ResultFormat = ShortFormat.TABLE,
) -> None:
    """Check lakebed.yaml and every dataset's file, and show all mistakes together.

    \b
    Example:
      lakebed --project shop validate
    """
    project = settings(context).as_written()
    rows = [_about(dataset) for dataset in project.datasets]
    derived = [_about_derived(dataset) for dataset in project.derived]
    warnings = [*map(str, project.warnings), *_leftovers(project)]
    if format_ is ShortFormat.JSON:
        about = {"project": project.name, "profile": project.profile, "datasets": rows}
        print(to_json({**about, "derived": derived, "warnings": warnings}, indent=2))  # noqa: T201
        return
    if rows or not derived:
        print_rows(["dataset", "feed", "history", "source"], rows, Format.TABLE)
    if derived:
        print_rows(["dataset", "partition", "when", "computed from"], derived, Format.TABLE)
    for warning in warnings:
        say(f"warning: {warning}")
    count = len(rows) + len(derived)
    print(f"{project.name}: {count} dataset{'' if count == 1 else 's'}, no mistakes")  # noqa: T201


def _about(dataset: Dataset) -> dict[str, str]:
    return {
        "dataset": dataset.name,
        "feed": dataset.feed.kind,
        "history": dataset.history.kind,
        "source": dataset.source.files if isinstance(dataset.source, LandingFiles) else "jdbc",
    }


def _about_derived(derived: Derived) -> dict[str, str | None]:
    when = derived.when
    return {
        "dataset": derived.name,
        "partition": derived.partition_column,
        "when": f"at least {when.at_least}" if isinstance(when, AtLeast) else when,
        "computed from": ", ".join(dict.fromkeys(one.table_name for one in derived.dependencies)),
    }


def _leftovers(project: Project) -> list[str]:
    """Runs that could not be: their SQL has a token without a value."""
    return [
        f"{derived.name}: no date_substitutions give a value to {', '.join(names)}, so its runs will fail (D5)"
        for derived in project.derived
        if (names := leftovers(derived))
    ]


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
