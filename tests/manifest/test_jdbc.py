"""`source: {jdbc: …}`: what is taken, and what is refused with its place."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.manifest.conftest import WriteProject

from lakebed.manifest import JdbcQuery, ProblemsError, load_project

PEOPLE = """\
dataset: crm.people
source:
  jdbc:
    url: jdbc:postgresql://db/crm
    {question}
    user: reader
    password: ${{env:CRM_PASSWORD}}
    {more}
{beside}
feed: {{kind: {feed}}}
history: {{kind: log}}
"""


def load(
    write: WriteProject,
    question: str = "table: people",
    more: str = "",
    beside: str = "",
    feed: str = "snapshot, key: [id]",
) -> JdbcQuery:
    text = PEOPLE.format(question=question, more=more, beside=beside, feed=feed)
    root = write({"datasets/crm.people.yaml": text, "datasets/crm.customers.yaml": None})
    source = load_project(root, environment={"CRM_PASSWORD": "hush-hush"}).dataset("crm.people").source
    assert isinstance(source, JdbcQuery)
    return source


def test_a_table_or_a_query(write_project: WriteProject) -> None:
    source = load(write_project, more="partition_column: id\n    every: 6h")
    assert (source.jdbc.table, source.jdbc.partitions) == ("people", 4)
    assert source.jdbc.every == timedelta(hours=6)
    assert "hush-hush" not in repr(source)
    assert load(write_project, 'query: "SELECT 1 AS id"').jdbc.query == "SELECT 1 AS id"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"question": "table: a\n    query: b"}, "either 'table' or 'query'"),
        ({"question": ""}, "either 'table' or 'query'"),
        ({"more": "partitions: 4"}, "need a 'partition_column'"),
        ({"more": "partition_column: id\n    lower: 1"}, "'lower' and 'upper' belong together"),
        ({"more": "every: 5 weeks"}, "expected a time such as 30s"),
        ({"more": "options: {dbtable: x}"}, "has a name of its own"),
        ({"more": "tabel: x"}, "unknown name 'tabel'"),
        ({"more": "options: {apiKey: clear}"}, "a secret is written here in clear"),
        ({"beside": "  event_time: {from: path, part: x}"}, "expected column | system"),
        ({"beside": "  format: csv"}, "unknown name 'format'"),
        ({"feed": "append"}, "complete state again and again"),
    ],
)
def test_what_cannot_be_meant(write_project: WriteProject, options: dict[str, str], said: str) -> None:
    with pytest.raises(ProblemsError) as caught:
        load(write_project, **options)
    assert said in str(caught.value)
    assert "hush-hush" not in str(caught.value)


def test_a_password_in_clear_is_refused(write_project: WriteProject) -> None:
    text = PEOPLE.format(question="table: t", more="", beside="", feed="snapshot, key: [id]")
    for clear in (
        text.replace("${env:CRM_PASSWORD}", "hush-hush"),
        text.replace("//db/crm", "//db/crm?password=hush-hush"),
    ):
        with pytest.raises(ProblemsError, match="in clear"):
            load_project(
                write_project({"datasets/crm.people.yaml": clear}), environment={"CRM_PASSWORD": "x"}
            )
