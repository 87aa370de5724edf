"""`lakebed dependents` and `lakebed lineage`: who depends on whom. No Spark."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from lakebed.cli.output import Format, print_rows, say, to_json
from lakebed.cli.settings import settings
from lakebed.dependencies import Graph
from lakebed.dependencies.lineage import Lineage
from lakebed.errors import ManifestError
from lakebed.manifest import Project
from lakebed.manifest.explain import nearest


class Drawing(StrEnum):
    """How the lineage is drawn."""

    TREE = "tree"
    MERMAID = "mermaid"
    DOT = "dot"
    JSON = "json"


def add_to(app: typer.Typer) -> None:
    app.command()(dependents)
    app.command()(lineage)


def dependents(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A table, such as shop.orders.", metavar="NAME")],
    format_: Annotated[Format, typer.Option("--format", help="How to print them.")] = Format.TABLE,
) -> None:
    """Show what is computed from a table, directly and over several hops, nearest first.

    \b
    Example:
      lakebed --project shop dependents shop.orders
    """
    project = settings(context).load()
    graph = Graph.of(project.derived)
    known_name(project, graph, name)
    rows = []
    for dataset, hops in graph.downstream(name).items():
        edges = [edge for edge in graph.edges_into(dataset) if edge.source == name.lower()]
        usages = ", ".join(dict.fromkeys(edge.dependency.usage for edge in edges))
        rows.append({"dataset": graph.spelling[dataset], "hops": hops, "usage": usages or None})
    if format_ is not Format.TABLE:
        print_rows(["dataset", "hops", "usage"], rows, format_)
    elif rows:
        print_rows(
            ["dataset", "hops", "usage"], [{**row, "usage": row["usage"] or ""} for row in rows], format_
        )
    else:
        say(f"nothing is computed from {name}")


def lineage(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(help="Only what feeds this table, and what it feeds.", metavar="[NAME]")
    ] = None,
    format_: Annotated[Drawing, typer.Option("--format", help="How to draw it.")] = Drawing.TREE,
) -> None:
    """Show which tables are computed from which.

    \b
    Example:
      lakebed --project shop lineage
      lakebed --project shop lineage analytics.weekly_sales --format mermaid
    """
    project = settings(context).load()
    graph = Graph.of(project.derived)
    if name is not None:
        known_name(project, graph, name)
    found = Lineage.of(graph, [dataset.name for dataset in project.datasets], name)
    if format_ is Drawing.JSON:
        print(to_json(found.data(), indent=2))  # noqa: T201
        return
    lines = {Drawing.TREE: found.tree, Drawing.MERMAID: found.mermaid, Drawing.DOT: found.dot}[format_]()
    for line in lines:
        print(line)  # noqa: T201
    if not lines:
        say("the project has no datasets yet")


def known_name(project: Project, graph: Graph, name: str) -> str:
    """The name of a table that the project knows of, as it is written there; ManifestError if it knows of none."""
    known = {**graph.spelling, **{dataset.name.lower(): dataset.name for dataset in project.datasets}}
    if name.lower() not in known:
        raise ManifestError(
            f"no dataset is called {name!r}, and none depends on a table of that name",
            code="unknown_dataset",
            where=str(project.root),
            hint=nearest(name, list(known)),
        )
    return known[name.lower()]
