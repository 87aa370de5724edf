"""2,000 landing files, four in five of them broken (cut off, empty, another delimiter, binary rubbish, other types, huge
lines, columns twice, other encodings, odd names, links that leave the landing folder), in five formats. Runs until nothing
is left; a batch that is refused is skipped, as a person would do. Every file must be in a batch, set aside or skipped; every row read
must be applied or in the quarantine; the rows of good files must be there once."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from tests.end_to_end.breaking import live_with, make_project

from evidence.figure import Figure, part
from lakebed.session import session

FILES = 2_000


def run(seed: int, share: float) -> list[Figure]:
    return series(seed, part(FILES, share))


def series(seed: int, files: int) -> list[Figure]:
    """The same with another number, to try it out."""
    spark = session("local[2]")
    with tempfile.TemporaryDirectory(prefix="lakebed-broken-") as name:
        root, good = make_project(Path(name) / "broken", seed, files, spark)
        began = time.monotonic()
        found = live_with(root, good, spark)
        took = round(time.monotonic() - began)
    for text in found.unexpected[:10]:
        print(text)
    return [
        Figure("files landed", found.files["landed"]),
        Figure("files taken by batches", found.files["in a batch"]),
        Figure("of them set aside as a whole", found.files["set aside whole"]),
        Figure("files of batches that were refused and skipped", found.files["skipped"]),
        Figure("files not accounted for", len(found.not_accounted)),
        Figure("rows read, applied, set aside", ", ".join(f"{found.rows[name]:,}" for name in ("read", "applied", "rejected"))),
        Figure("rows of good files", sum(map(len, good.values()))),
        Figure("of them missing (only where their batch was skipped), twice", f"{found.good_rows_lost}, {found.good_rows_doubled}"),
        Figure("batches refused, by reason", ", ".join(f"{code}: {n}" for code, n in sorted(found.refused.items())) or "none"),
        Figure("errors without a sentence of their own", len(found.unexpected)),
        Figure("seconds", took),
    ]  # fmt: skip
