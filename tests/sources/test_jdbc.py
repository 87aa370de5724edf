"""A database as a source: a real PostgreSQL, read through Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tests.control.postgres import free_port, server

from lakebed.control import open_store
from lakebed.errors import LakebedError, ManifestError, TransientError
from lakebed.manifest import Dataset, load_project
from lakebed.runner import anything_new, preview_project, retry, run_project
from lakebed.runner.work import no_spark
from lakebed.session import log_file
from lakebed.sources import Look
from lakebed.sources.jdbc import JdbcSource

PASSWORD = "open sesame, quietly"  # noqa: S105
ROWS = [(n, f"name {n}", None if n % 5 else "x", n / 4) for n in range(1, 21)]


@dataclass(frozen=True)
class Database:
    admin: str
    port: int

    @property
    def url(self) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/postgres"

    def run(self, statement: str, *values: Any) -> None:
        with psycopg.connect(self.admin) as connection:
            connection.execute(statement, values)


@pytest.fixture(scope="module")
def started() -> Iterator[Database]:
    port = free_port()
    with server(port) as admin:
        found = Database(admin, port)
        found.run(f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'")
        found.run(
            'CREATE TABLE people (id bigint, "Näme" text, note text, share numeric(6, 2), seen timestamptz)'
        )
        found.run("GRANT SELECT ON people TO reader")
        yield found


@pytest.fixture
def database(started: Database) -> Database:
    """The server, with the rows that every test begins with."""
    started.run("TRUNCATE people")
    for row in ROWS:
        started.run("INSERT INTO people VALUES (%s, %s, %s, %s, '2024-01-31 12:00+00')", *row)
    return started


def dataset(url: str, **more: Any) -> Dataset:
    asked = {} if "query" in more else {"table": "people"}
    jdbc = {"url": url, "user": "reader", "password": PASSWORD, **asked, **more}
    schema = {"schema": jdbc.pop("schema")} if "schema" in jdbc else {}
    return Dataset.model_validate(
        {
            "dataset": "crm.people",
            "source": {"jdbc": jdbc, **schema},
            "feed": {"kind": "snapshot", "key": ["id"]},
            "history": {"kind": "versions"},
        }
    )


def read(spark: SparkSession, of: Dataset) -> Any:
    source = JdbcSource(of, lambda: spark)
    with source.errors():
        frame = source.read(spark, [source.input("jdbc/people", 0, 0)]).frame
        return frame.withColumn("part", F.spark_partition_id()).orderBy("id").collect()


def test_a_query_is_read_by_several_connections(spark: SparkSession, database: Database) -> None:
    for more in (
        {"partition_column": "id", "partitions": 3},
        {"partition_column": "ID", "partitions": 3, "lower": 1, "upper": 21},
        {"query": "SELECT * FROM people", "partition_column": "id", "partitions": 3},
    ):
        rows = read(spark, dataset(database.url, **more))
        assert [(row["id"], row["Näme"]) for row in rows] == [row[:2] for row in ROWS]
        assert len({row["part"] for row in rows}) == 3
        assert {row["_lb_file"] for row in rows} == {"jdbc/people"}
    only = read(spark, dataset(database.url, query="SELECT id FROM people WHERE id < 3"))
    assert [(row["id"], row["part"]) for row in only] == [(1, 0), (2, 0)]
    none = dataset(database.url, query="SELECT id FROM people WHERE id < 0", partition_column="id")
    assert read(spark, none) == []


def test_G5_declared_types_are_held_to(spark: SparkSession, database: Database) -> None:
    rows = read(spark, dataset(database.url, schema="id int, note bigint"))
    assert [row["id"] for row in rows if row["_lb_bad"] == "bad_cast"] == [5, 10, 15, 20]
    assert json.loads(rows[4]["_lb_raw"])["note"] == "x"


def test_G5_numbers_keep_all_their_digits(spark: SparkSession, database: Database) -> None:
    """Spark would cut what is behind the point, or fail."""
    numbers = "SELECT 1 AS id, 123456.12345::numeric(50, 5) AS a, 1e29::numeric AS b, 0.1234567890123456789012345 AS c"
    [row] = read(
        spark, dataset(database.url, query=numbers, schema="id int, a decimal(20,5), b string, c string")
    )
    assert (row["a"], row["b"], row["c"]) == (
        Decimal("123456.12345"),
        "1" + "0" * 29,
        "0.1234567890123456789012345",
    )
    [row] = read(spark, dataset(database.url, query=numbers, schema="id int, a decimal(20,2)"))
    assert row["_lb_bad"] == "bad_cast"
    whole = "SELECT 1 AS id, 5::numeric(10, 2) AS a, 1::numeric(10, 2) AS b, 2.50::numeric(10, 2) AS c"
    [row] = read(spark, dataset(database.url, query=whole, schema="id int, a bigint, b boolean, c double"))
    assert (row["_lb_bad"], row["a"], row["b"], row["c"]) == (None, 5, True, 2.5)
    [row] = read(spark, dataset(database.url, query=whole, schema="id int, c int"))
    assert row["_lb_bad"] == "bad_cast"


def test_what_goes_wrong_is_a_sentence_without_a_secret(spark: SparkSession, database: Database) -> None:
    cases: list[tuple[dict[str, Any], type[LakebedError], str, str]] = [
        ({"password": "wrong"}, ManifestError, "database_login", "authentication failed"),
        ({"query": "SELECT nothing FROM people"}, ManifestError, "query_refused", "nothing"),
        (
            {"query": "SELECT id / (id - 7) AS id FROM people"},
            ManifestError,
            "query_refused",
            "division by zero",
        ),
        ({"partition_column": "nobody"}, ManifestError, "query_refused", "nobody"),
        ({"partition_column": "note"}, ManifestError, "query_refused", "note"),
        ({"driver": "com.example.Driver"}, ManifestError, "no_driver", "jdbc:postgresql"),
    ]
    for more, kind, code, said in cases:
        with pytest.raises(kind, match=said) as caught:
            read(spark, dataset(database.url, **more))
        assert caught.value.code == code
        assert PASSWORD not in str(caught.value)
        assert database.url not in str(caught.value)
    with pytest.raises(TransientError, match="does not answer") as caught:
        read(spark, dataset(f"jdbc:postgresql://127.0.0.1:{free_port()}/postgres"))
    assert caught.value.code == "database_unreachable"


class Taken:
    """Bookmarks of a dataset whose newest batch is of this time."""

    def __init__(self, last: datetime | None) -> None:
        self.last = last

    def last_planned(self) -> datetime | None:
        return self.last

    def not_taken(self, inputs: Any) -> Any:
        return inputs

    def taken_paths(self, _paths: Any) -> Any:
        raise AssertionError("a database has no paths to compare")

    def known_paths(self) -> Any:
        raise AssertionError("a database has no paths to compare")


def test_a_run_asks_once_and_every_so_often_if_that_is_said() -> None:
    now = datetime(2026, 1, 1, 12, tzinfo=UTC)

    def new(source: JdbcSource, last: datetime | None, *, asked: bool = True) -> list[Any]:
        look = Look(Taken(last), lambda: now, lambda _: None, asked)
        return source.next_batch(source.new(look))

    source = JdbcSource(dataset("jdbc:postgresql://db/x"), no_spark)
    assert new(source, None, asked=False) == []
    assert [one.path for one in new(source, now)] == ["jdbc/people"]
    asked = new(source, now)  # once more: the plan of the first may not have been kept
    with pytest.raises(AttributeError):
        source.read(None, asked)  # type: ignore[arg-type]  # whatever became of it
    assert new(source, now) == []
    hourly = dataset("jdbc:postgresql://db/x", every="1h")
    assert new(JdbcSource(hourly, no_spark), now - timedelta(minutes=59)) == []
    assert len(new(JdbcSource(hourly, no_spark), now - timedelta(minutes=60), asked=False)) == 1
    assert len(new(JdbcSource(hourly, no_spark), None, asked=False)) == 1


PROJECT = """\
project: crm
"""
DATASET = """\
dataset: crm.people
source:
  jdbc:
    url: ${env:CRM_URL}
    table: people
    user: reader
    password: ${env:CRM_PASSWORD}
    partition_column: id
    partitions: 2
feed: {kind: snapshot, key: [id]}
history: {kind: versions}
"""


def test_F3_the_states_of_a_table_become_its_history(
    spark: SparkSession, database: Database, tmp_path: Path
) -> None:
    (tmp_path / "datasets").mkdir()
    (tmp_path / "lakebed.yaml").write_text(PROJECT)
    (tmp_path / "datasets" / "crm.people.yaml").write_text(DATASET)
    environment = {"CRM_URL": database.url, "CRM_PASSWORD": PASSWORD}
    project = load_project(tmp_path, environment=environment)
    [shown] = preview_project(project, spark=lambda: spark)
    assert (shown.error, (shown.report or {})["applied"]) == (None, 20)
    assert run_project(project, spark=lambda: spark).failed == ()
    database.run("""UPDATE people SET "Näme" = 'other' WHERE id = 3""")
    database.run("DELETE FROM people WHERE id = 4")
    outcome = run_project(project, spark=lambda: spark)
    assert outcome.failed == ()
    assert outcome.datasets[0].batches[0].report["deleted"] == 1
    rows = spark.read.format("delta").load(str(tmp_path / "warehouse" / "crm" / "people"))
    changed = (
        rows.where("id in (3, 4)").orderBy("sk").select("id", "Näme", "is_current", "is_deleted").collect()
    )
    assert sorted(map(tuple, changed)) == [
        (3, "name 3", False, False),
        (3, "other", True, False),
        (4, "name 4", False, True),
    ]
    assert rows.where("is_current").count() == 19
    assert anything_new(project) == []
    with open_store(project.control, base=tmp_path) as store:
        kept = [batch.plan.inputs[0].path for batch in store.batches("crm.people")]
    assert kept == ["jdbc/people", "jdbc/people"]
    wrong = load_project(tmp_path, environment={**environment, "CRM_PASSWORD": "guessed"})
    error = run_project(wrong, spark=lambda: spark).failed[0].error
    assert error is not None
    assert error.code == "database_login"
    again = run_project(project, spark=lambda: spark)  # nobody must say `retry`
    assert (again.failed, [batch.number for batch in again.datasets[0].batches]) == ((), [3])
    database.run("DELETE FROM people")
    error = run_project(project, spark=lambda: spark).failed[0].error
    assert error is not None
    assert error.code == "empty_snapshot"
    with open_store(project.control, base=tmp_path) as store:
        planned = store.open_batch("crm.people")
    database.run("INSERT INTO people (id) VALUES (1)")
    assert retry(project, "crm.people", spark=lambda: spark) == 4
    assert run_project(project, spark=lambda: spark).failed == ()
    with open_store(project.control, base=tmp_path) as store:
        done = store.last_done("crm.people")
    assert planned is not None
    assert done is not None
    assert done.number == planned.number
    assert done.plan.system_time > planned.plan.system_time  # it tells when the database said so
    for path in [*tmp_path.rglob("*"), *([log] if (log := log_file()) else [])]:
        assert not path.is_file() or PASSWORD.encode() not in path.read_bytes(), path
