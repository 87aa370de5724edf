"""What the code may not do outside the few places made for it, and the names that users rely on.

The layers themselves are contracts of import-linter, in pyproject.toml.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import lakebed

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "lakebed"

# What `from lakebed import *` gives. A change here is a change for users: it needs a changelog fragment.
PUBLIC = [
    "Append",
    "BatchReport",
    "Changes",
    "Current",
    "LakebedError",
    "Ledger",
    "Log",
    "Snapshot",
    "Table",
    "Updates",
    "Versions",
    "fold",
    "table",
]

# Where each thing is allowed (a file, or a folder with its slash), and why.
PRIVATE_PLACES = {"session.py": "starts and ends the JVM"}
COLLECT_PLACES = {
    "tables/staging.py": "one row per partition of the write set, to number its rows",
    "cli/rows.py": "the rows that a person wants to see, all of them if asked",
    "sources/remote_folder.py": "names of files: on the driver they are what os.scandir gives",
    "runner/plan_records.py": "one line per planned batch",
}
SQL_PLACES = {"tables/": "the Delta edge: names are quoted there, values are literals made there"}

PRIVATE = {"_jvm", "_jsc", "_jdf", "_jsparkSession", "_gateway", "rdd", "sparkContext"}
COLLECTS = {"collect", "toPandas", "toLocalIterator"}
TAKES_SQL = {"sql", "expr", "selectExpr", "where", "filter"}
LOOKS_LIKE_SQL = re.compile(
    r"\s*(SELECT|INSERT (INTO|OVERWRITE)|MERGE INTO|DELETE FROM|UPDATE \S+ SET|CREATE (OR REPLACE )?(TABLE|VIEW|TEMP)"
    r"|ALTER TABLE|DROP (TABLE|VIEW)|DESCRIBE|OPTIMIZE|VACUUM|WITH \S+ AS)\b"
)


def private_calls(tree: ast.AST) -> Iterator[ast.AST]:
    """`x._jvm`, `x.rdd` and the like: they do not exist over Spark Connect."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in PRIVATE)


def collecting_calls(tree: ast.AST) -> Iterator[ast.AST]:
    """`x.collect()` and the like: they bring rows, maybe all of them, to the driver."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call) and _called(node) in COLLECTS)


def pasted_sql(tree: ast.AST) -> Iterator[ast.AST]:
    """SQL made of pieces: given to Spark as such, or text with gaps that begins as a statement does."""
    for node in ast.walk(tree):
        given = node.args if isinstance(node, ast.Call) and _called(node) in TAKES_SQL else []
        if any(_is_pasted(argument) for argument in given) or (_is_pasted(node) and _is_statement(node)):
            yield node


def shrinking_frames(tree: ast.AST) -> Iterator[ast.AST]:
    """Windows from somewhere to the end of a partition: Spark reads such a frame anew for each row, so that a key with many events
    costs their number squared. The same in the opposite order is a frame that grows."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called(node) in {"rowsBetween", "rangeBetween"}:
            start, end = (one.attr if isinstance(one, ast.Attribute) else None for one in node.args)
            if end == "unboundedFollowing" and start != "unboundedPreceding":
                yield node


def _called(call: ast.Call) -> str | None:
    return call.func.attr if isinstance(call.func, ast.Attribute) else None


def _is_pasted(node: ast.AST) -> bool:
    """An f-string with gaps, a sum or a `%` of text, `"…".format(…)`."""
    if isinstance(node, ast.JoinedStr):
        return any(isinstance(value, ast.FormattedValue) for value in node.values)
    if isinstance(node, ast.BinOp):
        sides = (node.left, node.right)
        return isinstance(node.op, ast.Add | ast.Mod) and any(
            _is_text(side) or _is_pasted(side) for side in sides
        )
    return isinstance(node, ast.Call) and _called(node) == "format" and _is_text(_receiver(node))


def _is_text(node: ast.AST | None) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _receiver(call: ast.Call) -> ast.AST | None:
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def _is_statement(node: ast.AST) -> bool:
    texts = (
        leaf.value
        for leaf in ast.walk(node)
        if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str)
    )
    return LOOKS_LIKE_SQL.match(next(texts, "")) is not None


RULES: dict[str, tuple[Callable[[ast.AST], Iterator[ast.AST]], dict[str, str]]] = {
    "private": (private_calls, PRIVATE_PLACES),
    "collect": (collecting_calls, COLLECT_PLACES),
    "sql": (pasted_sql, SQL_PLACES),
    "frame": (shrinking_frames, {}),
}


@pytest.mark.parametrize("rule", RULES)
def test_is_only_in_its_places(rule: str) -> None:
    find, places = RULES[rule]
    found = [
        f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', '?')}"
        for path in sorted(SOURCE.rglob("*.py"))
        if not path.relative_to(SOURCE).as_posix().startswith(tuple(places))
        for node in find(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == [], f"allowed only in {places}"


@pytest.mark.parametrize(
    ("rule", "code", "is_found"),
    [
        ("private", "spark._jvm.java.lang.System", True),
        ("private", "df.rdd.map(f)", True),
        ("private", "spark.sparkContext.master", True),
        ("private", "row.order", False),
        ("collect", "rows = df.collect()", True),
        ("collect", "df.limit(3).toPandas()", True),
        ("collect", "F.collect_list('a')", False),
        ("frame", "w.rowsBetween(1, Window.unboundedFollowing)", True),
        ("frame", "w.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)", False),
        ("frame", "w.rowsBetween(Window.unboundedPreceding, -1)", False),
        ("sql", "spark.sql(f'SELECT {a}')", True),
        ("sql", "spark.sql('SELECT ' + a)", True),
        ("sql", "spark.sql('SELECT %s' % a)", True),
        ("sql", "spark.sql('SELECT {}'.format(a))", True),
        ("sql", "text = f'DELETE FROM {table} WHERE id = 1'", True),
        ("sql", "text = 'MERGE INTO ' + table + ' USING s'", True),
        ("sql", "df.where(f'{name} > 1')", True),
        ("sql", "F.expr(f'`{name}`')", True),
        ("sql", "spark.sql('SELECT 1')", False),
        ("sql", "spark.sql('SELECT * FROM IDENTIFIER(:name)', args={'name': name})", False),
        ("sql", "df.where(condition)", False),
        ("sql", "raise SetupError(f'Delete {path} and try again')", False),
        ("sql", "raise SetupError(f'WITH was not expected in {path}')", False),
    ],
)
def test_the_rules_find_what_they_are_for(rule: str, code: str, is_found: bool) -> None:  # noqa: FBT001
    assert bool(list(RULES[rule][0](ast.parse(code)))) is is_found


@pytest.mark.parametrize("rule", RULES)
def test_no_place_is_listed_in_vain(rule: str) -> None:
    find, places = RULES[rule]
    for place in places:
        files = SOURCE.glob(f"{place}**/*.py") if place.endswith("/") else [SOURCE / place]
        assert any(list(find(ast.parse(file.read_text(encoding="utf-8")))) for file in files), place


def test_public_names_are_pinned_sorted_and_there() -> None:
    names = list(getattr(lakebed, "__all__", []))
    assert names == PUBLIC
    assert names == sorted(names)
    assert [name for name in names if not hasattr(lakebed, name)] == []


def test_importing_lakebed_starts_no_JVM() -> None:
    script = "import lakebed, lakebed.session; from pyspark import SparkContext; assert SparkContext._gateway is None"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_no_file_names_a_registry_or_this_machine() -> None:
    """Where packages and jars come from is the user's setting, in the lock files too."""
    registries = [
        "pypi" + r"\.org",
        "python" + r"hosted\.org",
        "maven" + r"\.(org|apache)",
        "registry" + r"\.npmjs",
    ]
    machine = r"(^|[^A-Za-z0-9_.-])/(work|farm|root|home)/"
    named = subprocess.run(
        ["git", "grep", "-nIE", "|".join([*registries, machine])],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert named.stdout == ""
