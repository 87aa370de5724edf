"""Arguments and options that several commands have, said once."""

from __future__ import annotations

from typing import Annotated

import typer

from lakebed.cli.output import Format, ShortFormat

DatasetName = Annotated[str, typer.Argument(help="The dataset, such as crm.customers.", metavar="NAME")]
ResultFormat = Annotated[ShortFormat, typer.Option("--format", help="How to print the result.")]
RowFormat = Annotated[Format, typer.Option("--format", help="How to print the rows.")]
RowLimit = Annotated[int, typer.Option(help="How many rows at most; 0 for all.", min=0, metavar="N")]
PartitionValue = Annotated[
    str | None,
    typer.Option("--partition", help="The partition; none for a dataset without.", metavar="VALUE"),
]
