"""Manifests with one mistake each: file, line, field and sentence are told, and never a traceback."""

from __future__ import annotations

import pytest
from tests.manifest.conftest import CUSTOMERS, PROJECT, WriteProject

from lakebed.manifest import ProblemsError, load_project

# What is replaced in the file, by what, then the line, the field and the sentence (or its start).
DATASET = [
    ("crm.customers", "customers", 1, "dataset", "expected `database.table`, each of letters, digits and _"),
    ("crm.customers", "crm.a-b", 1, "dataset", "expected `database.table`"),
    ("crm.customers", "crm.a__b", 1, "dataset", "a table name with two _ in a row is kept for lakebed's own tables"),
    ("crm.customers", "${env:NOPE}.x", 1, "dataset", "the environment variable 'NOPE' is not set"),
    ("crm.customers", "${env:}.x", 1, "dataset", "a reference to the environment is not complete"),
    ("source:", "sources:", 1, "", "'source' is missing"),
    ("crm/customers/", "/crm/", 3, "source.files", "the pattern cannot be used: it must be relative"),
    ("crm/customers/", "../crm/", 3, "source.files", "the pattern cannot be used: it has an empty folder name, '.' or '..'"),
    ("%Y%m%d", "%Y%q", 3, "source.files", "the pattern cannot be used: the format '%Y%q' of the part 'date'"),
    ("files: crm/customers/{date:%Y%m%d}.csv", "files: []", 3, "source.files", "expected a text, found an empty list"),
    ("format: csv", "format: xls", 4, "source.format", "expected csv | json | ndjson | parquet | orc, found the text 'xls'"),
    ("format: csv", "format: json\n  short_records: fill", 5, "source.short_records", "only records of csv can be short, and the format is json"),
    ("header: true", "header: yes", 5, "source.options.header", "'yes' may mean true or false, or a text"),
    ("header: true", "header: [1]", 5, "source.options.header", "expected a text, a number, true or false, found a list"),
    ("header: true", "mode: 010", 5, "source.options.mode", "'010' is read as different numbers by different programs"),
    ("header: true", "password: x", 5, "source.options.password", "a secret is written here in clear"),
    ("header: true", "pathGlobFilter: x", 5, "source.options", "the option 'pathGlobFilter' cannot be used: which files are taken is said by 'files'"),
    ("header: true", "ignoreCorruptFiles: true", 5, "source.options", "the option 'ignoreCorruptFiles' cannot be used: a file that cannot be read is told"),
    ("header: true", "locale: de-DE", 5, "source.options", "the option 'locale' cannot be used: numbers are read with a point"),
    ("header: true", "encoding: utf-9", 5, "source.options", "there is no encoding 'utf-9'"),
    ("name string", "name string, SK string", 6, "source.schema", "the column 'SK' has the name of one of the table's own columns"),
    ("id bigint", "id bigit", 6, "source.schema", "the schema cannot be used: 'bigit' is no type of Spark; did you mean 'bigint'?"),
    ("name string", "id string", 6, "source.schema", "the schema cannot be used: the column 'id' is there twice"),
    ("part: date", "part: day", 7, "source.event_time.part", "'source.files' has no part 'day'; its named parts are: date"),
    ("{date:%Y%m%d}", "{date}", 7, "source.event_time.part", "the part 'date' has no format, so it is no time"),
    ("from: path", "form: path", 7, "source.event_time", "'from' is missing"),
    ("from: path", "from: pth", 7, "source.event_time.from", "expected path | column | file | system | message, found the text 'pth'"),
    ("from: path, part: date", "from: message", 7, "source.event_time.from", "files have no messages, so their time is not available here"),
    ("from: path, part: date", "from: column, column: t", 7, "source.event_time.column", "the column 't' is not in 'source.schema'"),
    ("from: path, part: date", "from: column, column: t, format: '%H'", 7, "source.event_time.format", "the format cannot be used: it has no year"),
    ("{from: path, part: date}", "path", 7, "source.event_time", "expected a mapping of options, found the text 'path'"),
    ("kind: snapshot", "kind: snapshto", 8, "feed.kind", "expected append | ledger | snapshot | updates | changes, found the text 'snapshto'"),
    ("kind: snapshot, ", "", 8, "feed", "'kind' is missing"),
    ("{kind: snapshot, key: [id]}", "snapshot", 8, "feed", "expected a mapping of options, found the text 'snapshot'"),
    ("key: [id]", "key: id", 8, "feed.key", "expected a list of column names, found the text 'id'"),
    ("key: [id]", "key: [idd]", 8, "feed.key[0]", "the column 'idd' is not in 'source.schema'"),
    ("key: [id]", "key: [id, ID]", 8, "feed.key", "names the column 'ID' twice"),
    ("key: [id]", "key: [id], keys: [id]", 8, "feed.keys", "unknown name 'keys'; known here are kind, except_columns"),
    ("key: [id]", "key: [id], event_time: name", 8, "feed.event_time", "the event time is given twice: here and in 'source.event_time'"),
    ("key: [id]", "key: [id], max_delete_fraction: 20", 8, "feed.max_delete_fraction", "expected a number of at most 1, found 20"),
    ("kind: snapshot", "kind: ledger", 9, "history.kind", "feed 'ledger' does not go with history 'versions'"),
    ("[address]", "[id]", 9, "history.track", "track names the column 'id', which is in the key"),
    ("track: [address]", "deletes: off", 9, "history.deletes", "'off' may mean true or false, or a text"),
    ("track: [address]", "initial_valid_from: soon", 9, "history.initial_valid_from", "expected a date such as 1900-01-31, found the text 'soon'"),
    ("[country]", "[land]", 10, "partition_by[0]", "the column 'land' is not in 'source.schema'"),
    ("128MiB", "128MB", 11, "files.target_size", "expected a size such as 128MiB (B, KiB, MiB, GiB), found the text '128MB'"),
    ("target_size: 128MiB", "by: [country]", 11, "files", "'by' needs a 'count' beside it"),
    ("files: {target_size", "partition_by: [id]\nfiles: {target_size", 11, "partition_by", "'partition_by' is there twice; the first stands in line 10"),
    ("[id]", "&keys [id]", 8, "", "anchors (&) and aliases (*) cannot be used"),
    ("[id]", "*keys", 8, "", "anchors (&) and aliases (*) cannot be used"),
    ("true", "!!python/name:os.system ''", 5, "", "the tag 'tag:yaml.org,2002:python/name:os.system' cannot be used"),
    ("  format", "\tformat", 4, "", "a tab stands here"),
    ("[id]", "[id", 8, "", "this is not YAML: expected ',' or ']', but got '}'"),
    ("header: true", "1: true", 5, "source.options", "the name '1' is not a text"),
    ("header: true", "no: true", 5, "source.options", "'no' may mean true or false, or a text"),
    ("header: true", "[a]: true", 5, "source.options", "a name must be a text, not a list or a mapping"),
    ("header: true", "<<: {a: b}", 5, "source.options", "merge keys (<<) cannot be used"),
    ("partition_by", "---\npartition_by", 10, "", "a second document starts here"),
    ("[id]", "[" * 50, 8, "", "more than 40 levels inside each other"),
]  # fmt: skip

PROJECT_FILE = [
    ("project: shop", "project: my shop", 1, "project", "expected a name of letters, digits, _ and -, found the text 'my shop'"),
    ("project: shop\n", "", 1, "", "'project' is missing"),
    ("landing: ./landing", "landin: ./landing", 2, "landin", "unknown name 'landin'; known here are project, landing, warehouse"),
    ("landing: ./landing", "landing: 2024", 2, "landing", "expected a text, found 2024"),
    ("warehouse: ./warehouse", "warehouse:", 3, "warehouse", "expected a text, found nothing"),
    ("sqlite:///.lakebed/control.db", "postgresql://me:hush@db/control", 4, "control", "a password is written here in clear"),
    ("sqlite:///.lakebed/control.db", "postgresql://db/control?user=me&password=hush", 4, "control", "a password is written here in clear"),
    ("./landing", "s3a://id:hush@bucket/x", 2, "landing", "a password is written here in clear"),
    ("master:", "mastr:", 6, "spark.mastr", "unknown name 'mastr'; known here are master, conf"),
    ("spark.sql.shuffle.partitions: 4", "spark.hadoop.fs.s3a.secret.key: hush", 7, "spark.conf.spark.hadoop.fs.s3a.secret.key", "a secret is written here in clear"),
    ("spark.sql.shuffle.partitions: 4", "a: 0x1F", 7, "spark.conf.a", "'0x1F' is read as different numbers by different programs"),
    ("    landing:", "    landing: 3\n    lading:", 10, "profiles.prod.landing", "expected a text, found 3"),
    ("${env:CONTROL_PASSWORD}", "hush", 11, "profiles.prod.control", "a password is written here in clear"),
]  # fmt: skip


def check(error: ProblemsError, file: str, line: int, field: str, sentence: str) -> None:
    first = error.problems[0]
    assert (first.file, first.line, first.field) == (file, line, field)
    assert first.what.startswith(sentence)
    assert first.column >= 1
    assert f"{file}:{line}:" in str(error)
    assert "hush" not in str(error)
    assert "Traceback" not in str(error)


@pytest.mark.parametrize(("old", "new", "line", "field", "sentence"), DATASET)
def test_dataset(
    write_project: WriteProject, old: str, new: str, line: int, field: str, sentence: str
) -> None:
    assert old in CUSTOMERS
    root = write_project({"datasets/crm.customers.yaml": CUSTOMERS.replace(old, new, 1)})
    with pytest.raises(ProblemsError) as caught:
        load_project(root, environment={})
    check(caught.value, "datasets/crm.customers.yaml", line, field, sentence)


@pytest.mark.parametrize(("old", "new", "line", "field", "sentence"), PROJECT_FILE)
def test_project(
    write_project: WriteProject, old: str, new: str, line: int, field: str, sentence: str
) -> None:
    assert old in PROJECT
    root = write_project({"lakebed.yaml": PROJECT.replace(old, new, 1)})
    with pytest.raises(ProblemsError) as caught:
        load_project(root, environment={})
    check(caught.value, "lakebed.yaml", line, field, sentence)


def test_a_missing_variable_of_the_profile_in_use(write_project: WriteProject) -> None:
    with pytest.raises(ProblemsError) as caught:
        load_project(write_project(), profile="prod", environment={})
    check(
        caught.value,
        "lakebed.yaml",
        11,
        "profiles.prod.control",
        "the environment variable 'CONTROL_PASSWORD' is not set",
    )


def test_an_unknown_profile(write_project: WriteProject) -> None:
    with pytest.raises(ProblemsError) as caught:
        load_project(write_project(), profile="pord")
    check(caught.value, "lakebed.yaml", 8, "profiles", "there is no profile 'pord'; known are: prod")
    assert caught.value.hint == "did you mean 'prod'?"


def test_what_came_from_the_environment_is_not_shown(write_project: WriteProject) -> None:
    text = CUSTOMERS.replace("crm.customers", "${env:NAME}")
    with pytest.raises(ProblemsError) as caught:
        load_project(write_project({"datasets/crm.customers.yaml": text}), environment={"NAME": "hush hush"})
    check(caught.value, "datasets/crm.customers.yaml", 1, "dataset", "expected `database.table`")
    assert "found the value of ${env:NAME}" in str(caught.value)


@pytest.mark.parametrize(
    ("old", "field", "sentence"),
    [
        (
            "crm/customers/{date:%Y%m%d}.csv",
            "source.files",
            "it cannot be used, found the value of ${env:NAME}",
        ),
        ("[id]", "feed.key", "expected a list of column names, found the value of ${env:NAME}"),
        ("address]", "history.track[0]", "it cannot be used, found the value of ${env:NAME}"),
    ],
)
def test_nor_in_part(write_project: WriteProject, old: str, field: str, sentence: str) -> None:
    new = '"${env:NAME}"' + ("]" if old.endswith("]") and not old.startswith("[") else "")
    text = CUSTOMERS.replace(old, new)
    with pytest.raises(ProblemsError) as caught:
        load_project(write_project({"datasets/crm.customers.yaml": text}), environment={"NAME": "hush*" * 50})
    assert "hush" not in str(caught.value)
    assert (caught.value.problems[0].field, caught.value.problems[0].what) == (field, sentence)


def test_two_datasets_of_one_name(write_project: WriteProject) -> None:
    with pytest.raises(ProblemsError) as caught:
        load_project(
            write_project({"datasets/other.yaml": CUSTOMERS.replace("crm.customers", "CRM.Customers")})
        )
    check(
        caught.value,
        "datasets/other.yaml",
        1,
        "dataset",
        "the name 'CRM.Customers' is taken by datasets/crm.customers.yaml",
    )


def test_a_dataset_called_like_the_view_of_another(write_project: WriteProject) -> None:
    with pytest.raises(ProblemsError) as caught:
        load_project(
            write_project({"datasets/a.yaml": CUSTOMERS.replace("crm.customers", "crm.customers_current")})
        )
    check(
        caught.value, "datasets/a.yaml", 1, "dataset", "the name 'crm.customers_current' is taken by the view"
    )


@pytest.mark.parametrize(
    ("content", "line", "sentence"),
    [
        (b"", 1, "the file is empty"),
        (b"# nothing\n", 1, "the file is empty"),
        (b"- a\n- b\n", 1, "expected a mapping (`name: value`) at the top of the file"),
        (b"dataset: a.b\nx: \xff\xfe\n", 2, "the file is not UTF-8 text"),
        (b"dataset: a.b\nx: \x07\n", 2, "a character that cannot be printed stands here"),
        (b"# " + b"x" * 1024 * 1024, 0, "the file is larger than 1024 KiB: that is no manifest"),
    ],
)
def test_files_that_are_no_manifest(
    write_project: WriteProject, content: bytes, line: int, sentence: str
) -> None:
    with pytest.raises(ProblemsError) as caught:
        load_project(write_project({"datasets/crm.customers.yaml": content}))
    (problem,) = caught.value.problems
    assert (problem.file, problem.line) == ("datasets/crm.customers.yaml", line)
    assert problem.what.startswith(sentence)


def test_a_file_whose_name_would_be_overlooked(write_project: WriteProject) -> None:
    with pytest.raises(ProblemsError, match=r"ends in \.yaml, so this one would not be looked at"):
        load_project(write_project({"datasets/x.yml": CUSTOMERS}))
