"""Derived datasets: what is written arrives, and every mistake is told by file, line and field."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.manifest.conftest import WriteProject

from lakebed.manifest import AtLeast, Derived, ProblemsError, Project, Shift, load_project

FILE = "datasets/analytics.weekly_sales.yaml"
WEEKLY = """\
dataset: analytics.weekly_sales
dependencies:
  - table_name: shop.orders
    usage: overwrite
    field_column: date
    date_expression: "%Y%m%d"
    relativedelta_attributes: {weekday: SA(-1)}
  - {table_name: crm.customers, usage: validate, required: true}
partition_column: week
partition_python_mask: "%Y%m%d"
when: any
steps:
  - {db: analytics, info: totals of the week, sql: "SELECT 1 FROM shop.orders WHERE date >= '$week'"}
date_substitutions:
  - {token: $week, format: "%Y%m%d", relativedelta_attributes: {days: 0}}
helpers: [analytics.audit]
files: {count: 4, by: [country]}
"""
ITEM: dict[str, Any] = {
    "dataset": "engineering_analytics_dev.destination_table",
    "dependencies": [
        {
            "TableName": "engineering_mysql_dev.customers",
            "FieldColumn": "date",
            "Usage": "overwrite",
            "DateExpression": "%Y%m%d",
            "relativedelta_attributes": {"weekday": "SA(1)"},
        }
    ],
    "partitionPythonMask": "%Y%m%d",
    "partitionColumn": "date",
    "steps": [
        {
            "sql_file": "",
            "db": "engineering_analytics_dev",
            "info": "SQL to insert into destination_table",
            "sql": "insert into engineering_analytics_dev.destination_table ( SELECT *, '$start_date' FROM TABLE_X where date = '$end_date' ",
        }
    ],
    "date_substitutions": [
        {"format": "%Y%m%d", "relativedelta_attributes": {"days": -1}, "token": "$start_date"},
        {"format": "%Y%m%d", "relativedelta_attributes": {"days": -5}, "token": "$end_date"},
    ],
}


def test_D1_everything_that_is_written_arrives(write_project: WriteProject) -> None:
    project = load_project(write_project({FILE: WEEKLY}))
    assert [one.name for one in project.datasets] == ["crm.customers"]
    (weekly,) = project.derived
    orders, customers = weekly.dependencies
    assert (orders.table_name, orders.usage, orders.triggers) == ("shop.orders", "overwrite", True)
    assert orders.relativedelta_attributes == Shift(weekday="SA(-1)")
    assert (customers.required, customers.triggers, customers.field_column) == (True, False, None)
    assert (weekly.partition_column, weekly.partition_python_mask, weekly.when) == ("week", "%Y%m%d", "any")
    assert weekly.steps[0].info == "totals of the week"
    assert weekly.date_substitutions[0].token == "$week"  # noqa: S105
    assert weekly.helpers == ("analytics.audit",)
    assert (weekly.files.count, weekly.files.by) == (4, ("country",))
    assert project.warnings == ()


def test_D1_what_may_be_left_out(write_project: WriteProject) -> None:
    text = "dataset: a.b\ndependencies: [{table_name: a.s, usage: append}]\nsteps: [{sql: SELECT 1}]\n"
    (item,) = load_project(write_project({FILE: text})).derived
    assert (item.partition_column, item.when, item.date_substitutions, item.helpers) == (None, "any", (), ())
    assert item.database_of(item.steps[0]) == "a"


@pytest.mark.parametrize("name", ["datasets/item.json", "datasets/items/one.json", "datasets/a/b/c.json"])
@pytest.mark.parametrize("content", [ITEM, [ITEM]])
def test_D1_the_item_in_json_is_taken_unchanged(
    write_project: WriteProject, name: str, content: object
) -> None:
    text = json.dumps(content, indent="\t")
    project = load_project(write_project({name: text}))
    (item,) = project.derived
    assert item.name == "engineering_analytics_dev.destination_table"
    assert item.dependencies[0].table_name == "engineering_mysql_dev.customers"
    assert item.dependencies[0].usage == "overwrite"
    assert item.partition_column == "date"
    assert item.steps[0].sql == ITEM["steps"][0]["sql"]
    assert [one.relativedelta_attributes.days for one in item.date_substitutions] == [-1, -5]
    assert project.warnings == ()


def test_D1_yaml_and_json_mean_the_same(write_project: WriteProject) -> None:
    def snake(value: Any) -> Any:
        names = {"TableName": "table_name", "Usage": "usage", "FieldColumn": "field_column", "DateExpression": "date_expression", "partitionColumn": "partition_column", "partitionPythonMask": "partition_python_mask"}  # fmt: skip
        if isinstance(value, dict):
            return {names.get(key, key): snake(one) for key, one in value.items() if one != ""}
        return [snake(one) for one in value] if isinstance(value, list) else value

    (from_json,) = load_project(write_project({"datasets/i.json": json.dumps(ITEM)})).derived
    assert Derived.model_validate(snake(ITEM)) == from_json


def test_D3_a_missing_usage_in_json_is_validate_with_a_warning(write_project: WriteProject) -> None:
    country = {"TableName": "s.country"}
    item = {**ITEM, "dependencies": [*ITEM["dependencies"], country]}
    project = load_project(write_project({"datasets/i.json": json.dumps([item], indent=1)}))
    assert project.derived[0].dependencies[1].usage == "validate"
    (warning,) = project.warnings
    assert (warning.file, warning.line, warning.field) == ("datasets/i.json", 14, "[0].dependencies[1]")
    assert warning.what.startswith("'Usage' is missing, so it is taken as validate")


def test_D3_nothing_that_triggers_is_a_warning(write_project: WriteProject) -> None:
    text = WEEKLY.replace("usage: overwrite", "usage: validate")
    project = load_project(write_project({FILE: text}))
    assert [one.what for one in project.warnings] == [
        "no dependency triggers, so it never runs by itself (D3)"
    ]


def test_a_name_near_that_of_a_dataset_is_a_warning(write_project: WriteProject) -> None:
    project = load_project(write_project({FILE: WEEKLY.replace("crm.customers", "crm.custmers")}))
    (warning,) = project.warnings
    assert (warning.line, warning.field) == (8, "dependencies[1].table_name")
    assert warning.hint == "did you mean 'crm.customers'?"


@pytest.mark.parametrize(
    ("table", "column", "format_", "field", "what"),
    [
        ("crm.customers", "date", "%Y%m%d", "field_column", "crm.customers is not partitioned by 'date' (but by country), so its arrivals"),
        ("analytics.weekly_sales", "date", "%Y%m%d", "field_column", "analytics.weekly_sales is not partitioned by 'date' (but by week)"),
        ("analytics.weekly_sales", "WEEK", "%Y", "date_expression", "analytics.weekly_sales writes its partitions as '%Y%m%d'"),
        ("crm.customers_current", "date", "%Y%m%d", "table_name", "'crm.customers_current' is the view of crm.customers"),
    ],
)  # fmt: skip
def test_D6_arrivals_that_could_tell_no_partition_are_a_warning(
    write_project: WriteProject, table: str, column: str, format_: str, field: str, what: str
) -> None:
    text = (
        "dataset: x.y\npartition_column: year\npartition_python_mask: '%Y'\nsteps: [{sql: SELECT 1}]\ndependencies:\n"
        f"  - {{table_name: {table}, usage: overwrite, field_column: {column}, date_expression: '{format_}'}}\n"
    )
    (warning,) = load_project(write_project({FILE: WEEKLY, "datasets/x.yaml": text})).warnings
    assert (warning.file, warning.line, warning.field) == ("datasets/x.yaml", 6, f"dependencies[0].{field}")
    assert warning.what.startswith(what)


@pytest.mark.parametrize(("text", "when"), [("all", "all"), ("{at_least: 1}", AtLeast(at_least=1))])
def test_D8_when(write_project: WriteProject, text: str, when: Any) -> None:
    (item,) = load_project(write_project({FILE: WEEKLY.replace("when: any", f"when: {text}")})).derived
    assert item.when == when


BROKEN = [
    ("analytics.weekly_sales", "weekly", 1, "dataset", "expected `database.table`"),
    ("table_name: shop.orders", "table: shop.orders", 3, "dependencies[0]", "'table_name' is missing"),
    ("table_name: shop", "TableName: shop", 3, "dependencies[0]", "'table_name' is missing"),
    ("shop.orders", "orders", 3, "dependencies[0].table_name", "expected `database.table`"),
    ("    usage: overwrite\n", "", 3, "dependencies[0]", "'usage' is missing"),
    ("overwrite", "overwirte", 4, "dependencies[0].usage", "expected append | overwrite | validate, found the text 'overwirte'"),
    ("required: true", "required: 1", 8, "dependencies[1].required", "expected true or false, found 1"),
    ("    field_column: date\n", "", 3, "dependencies[0]", "'field_column' is missing: without it no arrival tells"),
    ('    date_expression: "%Y%m%d"\n', "", 3, "dependencies[0]", "'date_expression' is missing"),
    ('date_expression: "%Y%m%d"', 'date_expression: "%Y%q"', 6, "dependencies[0].date_expression", "the format cannot be used: "),
    ('date_expression: "%Y%m%d"', "date_expression: day", 6, "dependencies[0].date_expression", "the format cannot be used: 'day' has no directive"),
    ('date_expression: "%Y%m%d"', 'date_expression: "%m%d"', 6, "dependencies[0].date_expression", "the format cannot be used: it has no year"),
    ("SA(-1)", "SATURDAY", 7, "dependencies[0].relativedelta_attributes.weekday", "expected one of MO, TU, WE"),
    ("SA(-1)", "SA(0)", 7, "dependencies[0].relativedelta_attributes.weekday", "expected a count that is not 0"),
    ("weekday: SA(-1)", "day: 32", 7, "dependencies[0].relativedelta_attributes.day", "expected a number of at most 31, found 32"),
    ("weekday: SA(-1)", "dais: 1", 7, "dependencies[0].relativedelta_attributes.dais", "unknown name 'dais'; known here are years, months"),
    ("weekday: SA(-1)", "days: one", 7, "dependencies[0].relativedelta_attributes.days", "expected a whole number, found the text 'one'"),
    ("partition_column: week\n", "", 9, "partition_python_mask", "'partition_column' is missing beside it"),
    ('partition_python_mask: "%Y%m%d"\n', "", 9, "partition_column", "'partition_python_mask' is missing beside it"),
    ('partition_python_mask: "%Y%m%d"', 'partition_python_mask: "%G-W%V"', 10, "partition_python_mask", "the format cannot be used: a date that was written as"),
    ("when: any", "when: some", 11, "when", "expected any, all or {at_least: 2}, found the text 'some'"),
    ("when: any", "when: {at_least: 0}", 11, "when", "expected any, all or {at_least: 2}, found {at_least: 0}"),
    ("when: any", "when: {at_least: 2}", 11, "when", "at_least is 2, but only 1 dependencies can trigger"),
    ("when: any", "whenn: any", 11, "whenn", "unknown name 'whenn'; known here are dataset, dependencies, steps"),
    ("sql: \"SELECT 1 FROM shop.orders WHERE date >= '$week'\"", "sql: ' '", 13, "steps[0]", "a step needs 'sql' or 'sql_file'"),
    ("sql: \"SELECT 1 FROM shop.orders WHERE date >= '$week'\"", "sql_file: x.sql", 13, "steps[0].sql_file", "there is no file sql/analytics/x.sql nor sql/x.sql"),
    ("sql: \"SELECT 1 FROM shop.orders WHERE date >= '$week'\"", "sql_file: ../x.sql", 13, "steps[0].sql_file", "expected a path inside the project's sql/ folder"),
    ("token: $week", "token: ''", 15, "date_substitutions[0].token", "expected a text, found an empty one"),
    ("token: $week, format: \"%Y%m%d\"", "token: $week, format: day", 15, "date_substitutions[0].format", "the format cannot be used: 'day' has no directive"),
    ("helpers:", "  - {token: $week, format: \"%Y\"}\nhelpers:", 16, "date_substitutions[1].token", "the token '$week' is there twice"),
    ("analytics.audit", "audit", 16, "helpers[0]", "expected `database.table`"),
    ("analytics.audit", "Analytics.Weekly_Sales", 16, "helpers", "the dataset 'analytics.weekly_sales' itself"),
    ("count: 4", "target_size: 1MiB, count: 4", 17, "files", "target_size and count contradict each other"),
    ("shop.orders", "Analytics.Weekly_sales", 3, "dependencies[0].table_name", "the datasets depend on each other in a circle: analytics.weekly_sales → analytics.weekly_sales"),
    ("analytics.weekly_sales", "crm.customers_current", 1, "dataset", "the name 'crm.customers_current' is taken by the view"),
    ("dependencies:\n", "dependencies: []\nx:\n", 2, "dependencies", "expected at least one entry, found an empty list"),
]  # fmt: skip


def problems_of(write_project: WriteProject, files: dict[str, str | bytes | None]) -> ProblemsError:
    with pytest.raises(ProblemsError) as caught:
        load_project(write_project(files), environment={})
    return caught.value


@pytest.mark.parametrize(("old", "new", "line", "field", "sentence"), BROKEN)
def test_D1_a_mistake_in_yaml(
    write_project: WriteProject, old: str, new: str, line: int, field: str, sentence: str
) -> None:
    assert old in WEEKLY
    error = problems_of(write_project, {FILE: WEEKLY.replace(old, new, 1)})
    found = [(one.file, one.line, one.field) for one in error.problems]
    assert (FILE, line, field) in found
    assert any(one.what.startswith(sentence) for one in error.problems if one.field == field)


def test_a_derived_and_an_ingested_dataset_share_the_names(write_project: WriteProject) -> None:
    text = (
        "dataset: CRM.Customers\ndependencies: [{table_name: a.s, usage: append}]\nsteps: [{sql: SELECT 1}]\n"
    )
    (problem,) = problems_of(write_project, {"datasets/z.yaml": text}).problems
    assert (problem.file, problem.line) == ("datasets/z.yaml", 1)
    assert problem.what.startswith("the name 'CRM.Customers' is taken by datasets/crm.customers.yaml")


@pytest.mark.parametrize(
    ("change", "line", "field", "sentence"),
    [
        ({"Usage": "replace"}, 7, "dependencies[0].Usage", "expected append | overwrite | validate"),
        ({"Usag": "append"}, 12, "dependencies[0].Usag", "unknown name 'Usag'; known here are TableName, Usage"),
        ({"TableName": "x"}, 5, "dependencies[0].TableName", "expected `database.table`"),
        ({"DateExpression": ""}, 4, "dependencies[0]", "'DateExpression' is missing"),
        ({"relativedelta_attributes": {"weekday": "XX"}}, 10, "dependencies[0].relativedelta_attributes.weekday", "expected one of MO"),
    ],
)  # fmt: skip
def test_D1_a_mistake_in_json_is_told_in_its_own_words(
    write_project: WriteProject, change: dict[str, Any], line: int, field: str, sentence: str
) -> None:
    item = {**ITEM, "dependencies": [{**ITEM["dependencies"][0], **change}]}
    error = problems_of(write_project, {"datasets/i.json": json.dumps(item, indent=1)})
    (problem,) = error.problems
    assert (problem.file, problem.line, problem.field) == ("datasets/i.json", line, field)
    assert problem.what.startswith(sentence)


def test_D1_a_list_with_something_else_in_it(write_project: WriteProject) -> None:
    error = problems_of(write_project, {"datasets/i.json": json.dumps([ITEM, 3])})
    assert str(error.problems[0]).endswith("[1]: expected an item, found 3")


def test_D12_a_cycle_is_refused_with_its_path(write_project: WriteProject) -> None:
    def item(name: str, source: str) -> str:
        return f"dataset: {name}\ndependencies: [{{table_name: {source}, usage: overwrite}}]\nsteps: [{{sql: SELECT 1}}]\n"

    files: dict[str, str | bytes | None] = {
        "datasets/a.yaml": item("k.a", "K.C"),
        "datasets/b.yaml": item("k.b", "k.a"),
        "datasets/c.yaml": item("k.c", "k.B"),
    }
    error = problems_of(write_project, files)
    assert error.code == "dependency_cycle"
    (problem,) = error.problems
    assert (problem.file, problem.line, problem.field) == (
        "datasets/b.yaml",
        2,
        "dependencies[0].table_name",
    )
    assert "k.a → k.b → k.c → k.a" in problem.what


@pytest.mark.parametrize("place", ["sql/analytics/x.sql", "sql/x.sql"])
def test_D16_sql_from_a_file(write_project: WriteProject, place: str) -> None:
    files: dict[str, str | bytes | None] = {place: "SELECT 2", FILE: _with_file(sql="")}
    assert load_project(write_project(files)).derived[0].steps[0].sql == "SELECT 2"


def test_D16_the_teams_file_comes_first_and_sql_wins_over_both(write_project: WriteProject) -> None:
    files: dict[str, str | bytes | None] = {
        "sql/analytics/x.sql": "SELECT 2",
        "sql/x.sql": "SELECT 3",
        FILE: _with_file(sql=""),
    }
    root = write_project(files)
    assert load_project(root).derived[0].steps[0].sql == "SELECT 2"
    assert (
        load_project(write_project({FILE: _with_file(sql="sql: SELECT 4, ")})).derived[0].steps[0].sql
        == "SELECT 4"
    )


def _with_file(sql: str) -> str:
    old = "sql: \"SELECT 1 FROM shop.orders WHERE date >= '$week'\""
    return WEEKLY.replace(old, f"{sql}sql_file: x.sql")


def test_a_derived_dataset_is_not_ingested(write_project: WriteProject) -> None:
    project: Project = load_project(write_project({FILE: WEEKLY}))
    with pytest.raises(Exception, match="is a derived dataset"):
        project.dataset("Analytics.weekly_sales")
