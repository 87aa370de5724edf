"""What a step's statement does: which table it writes, and where its rows begin."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakebed.manifest import load_project
from lakebed.manifest.problems import ProblemsError
from lakebed.manifest.statements import Statement, names_in, read_statement, without_end

INSERTS = {
    "INSERT INTO a.b SELECT 1": Statement("insert", "a.b", "SELECT 1"),
    "insert into a.b ( SELECT *, 'x' FROM t )": Statement("insert", "a.b", "( SELECT *, 'x' FROM t )"),
    "INSERT INTO TABLE b (x, `Y y`) VALUES (1, 2);": Statement("insert", "b", "VALUES (1, 2)", ("x", "y y")),
    "WITH q AS (SELECT 1) INSERT INTO b SELECT * FROM q": Statement(
        "insert", "b", "WITH q AS (SELECT 1) SELECT * FROM q"
    ),
    "INSERT OVERWRITE b PARTITION (day='1', c) SELECT 1": Statement(
        "insert", "b", "SELECT 1", partition=(("day", "1"), ("c", None))
    ),
    "-- into x\n/* INSERT INTO y */ INSERT INTO `A`.`B` SELECT 'INSERT INTO z'": Statement(
        "insert", "a.b", "-- into x\n/* INSERT INTO y */ SELECT 'INSERT INTO z'"
    ),
}
OTHERS = {
    "SELECT 1": ("rows", None),
    "(SELECT 1) UNION (SELECT 2)": ("rows", None),
    "WITH insert_x AS (SELECT 1) SELECT * FROM insert_x": ("rows", None),
    "VALUES (1)": ("rows", None),
    "FROM t SELECT 1": ("rows", None),
    "FROM t INSERT INTO a SELECT 1 INSERT INTO b SELECT 2": ("unknown", None),
    "CREATE OR REPLACE TEMP VIEW v AS SELECT 1": ("view", None),
    "CREATE VIEW a.v AS SELECT 1": ("write", "a.v"),
    "CREATE TABLE IF NOT EXISTS a.t AS SELECT 1": ("write", "a.t"),
    "MERGE INTO a.t USING s ON true": ("write", "a.t"),
    "DELETE FROM spark_catalog.a.t": ("write", "a.t"),
    "UPDATE t SET x = 1": ("write", "t"),
    "DROP TABLE IF EXISTS a.t": ("write", "a.t"),
    "SET spark.x = 1": ("setting", None),
    "INSERT INTO t BY NAME SELECT 1": ("unknown", "t"),
    "EXPLAIN SELECT 1": ("unknown", None),
    "": ("unknown", None),
    "it's": ("unknown", None),
}


@pytest.mark.parametrize("sql", INSERTS)
def test_D9_an_insert_is_a_table_and_a_query(sql: str) -> None:
    assert read_statement(sql) == INSERTS[sql]


@pytest.mark.parametrize("sql", OTHERS)
def test_what_a_statement_does(sql: str) -> None:
    found = read_statement(sql)
    assert (found.kind, found.table) == OTHERS[sql]


def test_a_table_without_a_database_is_in_the_steps_own() -> None:
    assert read_statement("INSERT INTO T SELECT 1").writes("Shop") == "shop.t"


def test_a_semicolon_ends_a_statement_and_does_not_belong_to_it() -> None:
    assert without_end("SELECT ';' ; -- end\n;") == "SELECT ';'"


def test_every_table_that_is_read_is_among_the_names() -> None:
    assert {"orders", "b c", "crm"} <= names_in("SELECT * FROM crm.Orders, `b C` -- other")


MANIFEST = "dataset: a.t\ndependencies: [{{table_name: elsewhere.sales, usage: overwrite}}]\nsteps: [{steps}]\n{more}\n"


def _project(root: Path, steps: str, more: str = "") -> Path:
    (root / "datasets").mkdir()
    (root / "lakebed.yaml").write_text("project: p\n")
    (root / "datasets" / "t.yaml").write_text(MANIFEST.format(steps=steps, more=more))
    return root


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ("{sql: SELECT 1}, {sql: INSERT INTO a.other SELECT 1}", "it writes a.other"),
        ("{db: b, sql: MERGE INTO t USING s ON true}, {sql: SELECT 1}", "it writes b.t"),
        ("{sql: DELETE FROM a.t}, {sql: SELECT 1}", "only INSERT and SELECT give rows to a.t"),
        ("{sql: SHOW TABLES}, {sql: SELECT 1}", "it cannot be told which table"),
        ("{sql: CREATE TEMP VIEW v AS SELECT 1}", "no step gives rows to a.t"),
    ],
)
def test_a_step_that_writes_elsewhere_is_refused(tmp_path: Path, steps: str, said: str) -> None:
    with pytest.raises(ProblemsError) as caught:
        load_project(_project(tmp_path, steps))
    (problem,) = caught.value.problems
    assert said in problem.what


def test_a_declared_helper_may_be_written(tmp_path: Path) -> None:
    steps = "{sql: INSERT INTO a.Other SELECT 1}, {sql: INSERT INTO t SELECT 1}"
    assert load_project(_project(tmp_path, steps, "helpers: [A.other]")).warnings == ()


def test_an_item_in_JSON_cannot_declare_helpers_and_is_warned_of(tmp_path: Path) -> None:
    _project(tmp_path, "{sql: SELECT 1}")
    (tmp_path / "datasets" / "t.yaml").unlink()
    item = """{"dataset": "a.t", "dependencies": [{"TableName": "elsewhere.sales", "Usage": "overwrite"}], "steps":
      [{"sql": "INSERT INTO a.other SELECT 1"}, {"sql": "INSERT INTO a.t SELECT 1"}]}"""
    (tmp_path / "datasets" / "t.json").write_text(item)
    (warning,) = load_project(tmp_path).warnings
    assert "it writes a.other" in str(warning)
