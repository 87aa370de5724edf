"""Tables made ready for a batch's new columns and wider types (G9)."""

from __future__ import annotations

from lakebed.history.shape import Shape
from lakebed.table.opening import Book, Tables


def evolve(tables: Tables, book: Book, shape: Shape) -> bool:
    """After it every table that exists can take what the batch brings; the columns come with the rows. Gives whether the target is to
    get any. A crash leaves features turned on that nothing uses yet.

    The target is there even where no batch has written it."""
    known = {f.name for f in (*book.known.data, *book.known.kept)}
    new = [f for f in shape.columns if f.name not in known]
    beside = {f.name for f in shape.columns} - {f.name for f in shape.data}  # for the journal alone
    stored = [f for f in new if f.name not in beside]
    wider = [f for f in shape.widened if f.name not in beside]
    for name in {"target", "journal", "state"} & {"target", *book.versions}:
        columns, types = (new, shape.widened) if name == "journal" else (stored, wider)
        tables.named(name).evolve(columns, types)
    return bool(stored or wider)
