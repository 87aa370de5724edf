"""Broken landing files of every sort, made from a seed, and a project that has to live with them. Used by the test beside this,
and by evidence/broken_files.py."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from lakebed.control import open_store
from lakebed.manifest import Project, load_project
from lakebed.runner import pending_files, run_project, skip

SCHEMA = "id bigint, name string, amount double"
FORMATS = {"csv": "csv", "packed": "csv", "ndjson": "ndjson", "json": "json", "parquet": "parquet"}
SUFFIX = {"csv": "csv", "packed": "csv.gz", "ndjson": "ndjson", "json": "json", "parquet": "parquet"}
DATASET = """\
dataset: broken.{kind}
source:
  files: "{kind}/{{file}}.{suffix}"
  format: {format}
  schema: "{schema}"
feed: {{kind: append}}
history: {{kind: log}}
"""
ROWS = 5
Rows = list[tuple[int, str, float]]
RUNS = 500


@dataclass
class Accounts:
    """What became of every file and row. `unexpected` are errors that no user should see."""

    files: Counter[str] = field(default_factory=Counter)
    rows: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    unexpected: list[str] = field(default_factory=list)
    not_accounted: list[str] = field(default_factory=list)
    good_rows_lost: int = 0
    good_rows_doubled: int = 0


def as_text(kind: str, rows: Rows) -> bytes:
    if kind in ("csv", "packed"):
        lines = ["id,name,amount", *[f"{a},{b},{c}" for a, b, c in rows]]
        return ("\n".join(lines) + "\n").encode()
    objects = [{"id": a, "name": b, "amount": c} for a, b, c in rows]
    if kind == "json":
        return json.dumps(objects).encode()
    return b"".join(json.dumps(one).encode() + b"\n" for one in objects)


def truncated(chance: random.Random, text: bytes) -> bytes:
    return text[: chance.randrange(1, max(2, len(text) - 1))]


def empty(_chance: random.Random, _text: bytes) -> bytes:
    return b""


def rubbish(chance: random.Random, text: bytes) -> bytes:
    return chance.randbytes(chance.choice([10, 500, 5000])) + text[: chance.choice([0, 30])]


def wrong_delimiter(_chance: random.Random, text: bytes) -> bytes:
    return text.replace(b",", b";").replace(b":", b"=")


def wrong_types(_chance: random.Random, text: bytes) -> bytes:
    return text.replace(b"1", b"one").replace(b"2", b"two").replace(b"5", b"V")


def huge_line(chance: random.Random, text: bytes) -> bytes:
    sort = chance.randrange(3)
    if sort == 0:
        return text + b"x" * 3_000_000
    if sort == 1:
        return text + b"," * 50_000 + b"\n"
    return text.replace(b"name", b"n" * 200_000, 1)


def twice(_chance: random.Random, text: bytes) -> bytes:
    """A column, or a field, is there twice."""
    return text.replace(b"name", b"id", 1).replace(b'"amount"', b'"id"')


def wrong_encoding(chance: random.Random, text: bytes) -> bytes:
    encoding = chance.choice(["latin-1", "utf-16"])
    return text.decode().replace("name", "nämé").encode(encoding)


def quotes(chance: random.Random, text: bytes) -> bytes:
    place = chance.randrange(len(text))
    return text[:place] + b'"' + text[place:]


def zeros(_chance: random.Random, text: bytes) -> bytes:
    return text[:20] + b"\0" * 100 + text[20:]


BREAKERS: list[Callable[[random.Random, bytes], bytes]] = [
    truncated, empty, rubbish, wrong_delimiter, wrong_types, huge_line, twice, wrong_encoding, quotes, zeros,
]  # fmt: skip
TRICKS = [
    "..%2f..%2fetc",
    "%2e%2e%2fx",
    "[a-z]*",
    "{a,b}",
    "a b",
    "-rf",
    "ü\u0301",
    "x" * 150,
    "a=b",
    "a:b",
    "#x?y",
    "back\\slash",
]


def make_project(
    folder: Path, seed: int, count: int, spark: SparkSession
) -> tuple[Path, dict[str, set[int]]]:
    """A project with so many files, about one in five of them good; and the ids of the good ones' rows, by dataset."""
    chance, good = random.Random(seed), {kind: set[int]() for kind in FORMATS}
    (folder / "datasets").mkdir(parents=True)
    (folder / "lakebed.yaml").write_text("project: broken\n")
    for kind, format_ in FORMATS.items():
        text = DATASET.format(kind=kind, format=format_, suffix=SUFFIX[kind], schema=SCHEMA)
        (folder / "datasets" / f"broken.{kind}.yaml").write_text(text)
        (folder / "landing" / kind).mkdir(parents=True)
    parquet = _parquet_files(folder, spark)
    for number in range(count):
        kind = chance.choice(list(FORMATS))
        rows = [(number * 100 + n, f"name {n}", n + 0.5) for n in range(ROWS)]
        is_good = chance.random() < 0.2
        name = f"{number:05}" + (chance.choice(TRICKS) if chance.random() < 0.1 else "")
        if ":" in name:  # Hadoop reads no local file of such a name: it is set aside, with that reason
            is_good = False
        if kind == "parquet":
            pops = is_good and len(parquet) > 1
            ids, content = parquet.pop() if pops else (set[int](), chance.choice(parquet)[1])
            is_good = bool(ids)
            good[kind] |= ids
        else:
            content = as_text(kind, rows)
            good[kind] |= {row[0] for row in rows} if is_good else set()
        if not is_good:
            breaker = chance.choice(BREAKERS[:3] if kind == "parquet" else BREAKERS)
            content = breaker(chance, content)
        if kind == "packed":
            content = gzip.compress(content)
            if not is_good and chance.random() < 0.5:
                content = content[: len(content) // 2]
        (folder / "landing" / kind / f"{name}.{SUFFIX[kind]}").write_bytes(content)
    _lead_out(folder)
    return folder, good


def _lead_out(folder: Path) -> None:
    """Links that leave the root; what they lead to must not be seen."""
    outside = folder / "outside"
    outside.mkdir()
    (outside / "secret.csv").write_bytes(as_text("csv", [(-1, "secret", 1.0)]))
    landing = folder / "landing" / "csv"
    (landing / "link.csv").symlink_to(outside / "secret.csv")
    (landing / "up.csv").symlink_to(Path("..") / ".." / "outside" / "secret.csv")
    (landing / "folder.csv").symlink_to(outside)
    (landing / "nowhere.csv").symlink_to(landing / "no-such-file")


def _parquet_files(folder: Path, spark: SparkSession) -> list[tuple[set[int], bytes]]:
    made, parts = folder / "made", 40
    ids = spark.range(0, parts * ROWS, 1, parts)
    frame = ids.selectExpr("-1000 - id AS id", "concat('name ', id) AS name", "id + 0.5D AS amount")
    frame.write.parquet(str(made))
    found = []
    for path in sorted(made.glob("part-*.parquet")):
        held = {row[0] for row in spark.read.parquet(str(path)).select("id").toLocalIterator()}
        found.append((held, path.read_bytes()))
    return found


def live_with(root: Path, good: dict[str, set[int]], spark: SparkSession) -> Accounts:
    """Run until nothing waits; a batch that is refused is skipped, as a person would do."""
    project, accounts = load_project(root), Accounts()
    for _ in range(RUNS):
        outcome = run_project(project, spark=lambda: spark)
        for one in outcome.datasets:
            for batch in one.batches:
                accounts.rows.update(
                    {name: int(batch.report.get(name) or 0) for name in ("read", "applied", "rejected")}
                )
        if not outcome.failed:
            break
        for failed in outcome.failed:
            assert failed.error is not None
            if failed.error.code in ("spark", "disk") or not failed.error.hint:
                accounts.unexpected.append(f"{failed.dataset}: {failed.error}")
            accounts.refused[failed.error.code] += 1
            skip(project, failed.dataset, spark=lambda: spark)
    _count_files(project, accounts)
    for kind, ids in good.items():
        _compare_rows(project, kind, ids, spark, accounts)
    return accounts


def _count_files(project: Project, accounts: Accounts) -> None:
    with open_store(project.control, base=project.root) as store:
        for dataset in project.datasets:
            folder = Path(project.landing, dataset.name.partition(".")[2])
            landed = {path.name for path in folder.iterdir() if path.is_file() and not path.is_symlink()}
            done = {Path(one.path).name for batch in store.batches(dataset.name) for one in batch.plan.inputs}
            accounts.files.update({"landed": len(landed), "in a batch": len(done)})
            waiting = pending_files(project, dataset, store)
            accounts.not_accounted += waiting
            accounts.files["skipped"] += len(landed - done) - len(waiting)


def _compare_rows(
    project: Project, kind: str, good: set[int], spark: SparkSession, accounts: Accounts
) -> None:
    """The rows of good files: each once, unless its batch was skipped. Set aside whole: one row in the quarantine."""
    place = f"{project.warehouse}/broken/{kind}"
    found: Counter[Any] = Counter()
    rows = spark.read.format("delta").load(place) if Path(place).exists() else None
    if rows is not None and "id" in rows.columns:  # a header may have been broken, and no other file there
        found = Counter(row[0] for row in rows.select("id").toLocalIterator())
    if Path(f"{place}__rejected").exists():
        whole = spark.read.format("delta").load(f"{place}__rejected").where("raw LIKE '(the whole file)%'")
        accounts.files["set aside whole"] += whole.count()
    accounts.good_rows_lost += len(good - set(found))
    accounts.good_rows_doubled += sum(found[one] > 1 for one in good)
    assert -1 not in found, "a link out of the landing folder was followed"
