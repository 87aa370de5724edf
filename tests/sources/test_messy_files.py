"""Files as they come from elsewhere: nothing of them is lost without a word."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.sources.datasets import dataset, put
from tests.sources.reading import bad, data, in_order, known, names, read

from lakebed.errors import BatchError, TransientError
from lakebed.manifest import Dataset
from lakebed.sources import FileSource, LocalFolder
from lakebed.sources.first_bytes import Start

LINES: dict[str, Any] = {"files": "in/{name}.json", "format": "ndjson"}


def debezium(format_: str, **source: Any) -> Dataset:
    return Dataset.model_validate(
        {
            "dataset": "demo.orders",
            "source": {
                "files": "{partitions}/{file}",
                "format": format_,
                "envelope": {"kind": "debezium"},
                "schema": "id bigint, name string, at timestamp, region string",
                **source,
            },
            "feed": {"kind": "changes", "key": ["id"]},
            "history": {"kind": "current"},
        }
    )


def test_debezium_in_parquet_keeps_its_operation_and_position(spark: SparkSession, tmp_path: Path) -> None:
    at = dt.datetime(2024, 1, 31, 12, 0, 0, 123456, tzinfo=dt.UTC)
    flat = [(1, "x", at, "false", "u", 6), (2, None, None, "true", "d", 7)]
    columns = "id bigint, name string, at timestamp, __deleted string, __op string, __lsn bigint"
    nested = [(None, (3, "y"), ("postgresql", 8, 1_700_000_000_000), "c")]
    image, block = "struct<id:bigint,name:string>", "struct<connector:string,lsn:bigint,ts_ms:bigint>"
    spark.createDataFrame(flat, columns).coalesce(1).write.parquet(str(tmp_path / "flat"))
    spark.createDataFrame(nested, f"before {image}, after {image}, source {block}, op string").coalesce(
        1
    ).write.parquet(str(tmp_path / "nested"))
    files = []
    for place, name in enumerate(("flat", "nested")):
        part = next((tmp_path / name).glob("part-*.parquet"))
        files.append(put(tmp_path, f"region=EU/{place}.parquet", part.read_bytes()))
    rows = in_order(read(spark, tmp_path, debezium("parquet"), *files))
    assert [(row["id"], row["_change_operation"], row["_lb_bad"]) for row in rows] == [
        (1, "upsert", None),
        (2, "delete", None),
        (3, "upsert", None),
    ]
    assert rows[0]["at"].microsecond == 123456
    assert rows[0]["_change_minor"] < rows[1]["_change_minor"] < rows[2]["_change_minor"]


def test_debezium_in_parquet_keeps_its_position_where_files_differ_inside_of_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    image, files = "struct<id:bigint,name:string>", []
    for place, (lsn, kind, xmin) in enumerate([(2000, "string", None), (1000, "bigint", 7)]):
        block = f"struct<connector:string,lsn:bigint,ts_ms:bigint,xmin:{kind}>"
        message = [(None, (1, f"n{lsn}"), ("postgresql", lsn, 1_700_000_000_000, xmin), "u")]
        frame = spark.createDataFrame(message, f"before {image}, after {image}, source {block}, op string")
        frame.coalesce(1).write.parquet(str(tmp_path / kind))
        part = next((tmp_path / kind).glob("part-*.parquet"))
        files.append(put(tmp_path, f"region=EU/{place}.parquet", part.read_bytes()))
    first, second = in_order(read(spark, tmp_path, debezium("parquet"), *files))
    assert [first["name"], second["name"]] == ["n2000", "n1000"]
    assert (first["_change_major"], first["_change_minor"]) > (
        second["_change_major"],
        second["_change_minor"],
    )


def test_G5_of_a_line_with_two_messages_only_that_line_is_bad(spark: SparkSession, tmp_path: Path) -> None:
    one = '{"op": "c", "after": {"id": 1}, "source": {"lsn": 1}}'
    file = put(tmp_path, "in/a.json", f"{one}{one}\n{one}\n")
    rows = read(spark, tmp_path, debezium("ndjson"), file)
    assert [(row["id"], row["_lb_bad"]) for row in in_order(rows)] == [(None, "unreadable"), (1, None)]


def test_beside_nullValue_an_empty_value_is_null_quoted_or_not(spark: SparkSession, tmp_path: Path) -> None:
    of = dataset("in/{file}.csv", format="csv", schema="id int, n int, s string", options={"nullValue": "NA"})
    file = put(tmp_path, "in/a.csv", 'id,n,s\n1,"",""\n2,,\n3,NA,"NA"\n4,5,x\n')
    rows = read(spark, tmp_path, of, file)
    assert (data(rows), bad(rows)) == (
        [(1, None, None), (2, None, None), (3, None, None), (4, 5, "x")],
        [],
    )


def test_F6_a_message_that_lacks_a_value_sets_the_columns_of_its_path(
    spark: SparkSession, tmp_path: Path
) -> None:
    text = '{"op":"u","after":{"id":1,"name":"__debezium_unavailable_value","at":null},"source":{"lsn":7}}\n'
    [row] = in_order(read(spark, tmp_path, debezium("ndjson"), put(tmp_path, "region=EU/a", text)))
    assert sorted(row["_change_sets"]) == ["at", "id", "region"]


def test_a_message_has_the_last_word_on_a_column_that_its_path_tells_too(
    spark: SparkSession, tmp_path: Path
) -> None:
    """As Kafka Connect's folders `partition=0` beside a table with a column of that name."""
    texts = [
        '{"op":"c","after":{"id":1,"region":"US"},"source":{"lsn":7}}',
        '{"op":"c","after":{"id":2,"region":null},"source":{"lsn":8}}',
        '{"op":"c","after":{"id":3},"source":{"lsn":9}}',
    ]
    rows = read(spark, tmp_path, debezium("ndjson"), put(tmp_path, "region=EU/a", "\n".join(texts)))
    assert [row["region"] for row in in_order(rows)] == ["US", None, "EU"]


def test_another_quote_is_doubled_as_the_usual_one_is(spark: SparkSession, tmp_path: Path) -> None:
    of = dataset(options={"quote": "'"}, schema="id int, v string")
    text = "id,v\n1,'it''s'\n2,'say \"hi\"'\n3,'tail \"'\n4,'a\nb'\n5,y\n"
    rows = read(spark, tmp_path, of, put(tmp_path, "in/a.csv", text))
    assert data(rows) == [(1, "it's"), (2, 'say "hi"'), (3, 'tail "'), (4, "a\nb"), (5, "y")]


def test_blanks_around_a_name_keep_no_column_out(spark: SparkSession, tmp_path: Path) -> None:
    of = dataset(schema="id int, `n ` string")
    rows = read(spark, tmp_path, of, put(tmp_path, "in/a.csv", "id , n\n1,x\n"))
    assert (names(rows), data(rows), rows.notes) == (["id", "n "], [(1, "x")], ())


def test_encodings_have_the_names_that_people_give_them(spark: SparkSession, tmp_path: Path) -> None:
    of = dataset(options={"encoding": "latin-1"})
    rows = read(spark, tmp_path, of, put(tmp_path, "in/a.csv", "id\nMüller\n".encode("iso-8859-1")))
    assert data(rows) == [("Müller",)]


@pytest.mark.parametrize(
    ("message", "new"),
    [
        ('{"op":"c","before":null,"after":{"id":1,"name":"x","vip":true},"source":{"lsn":7}}', ["vip"]),
        ('{"schema":{},"payload":{"op":"d","before":{"id":1,"vip":true},"after":null,"source":{}}}', ["vip"]),
        ('{"id":1,"name":"x","vip":true,"__op":"c","__lsn":7}', ["vip"]),
        ('{"op":"c","after":{"ID":1,"Region":"EU"},"source":{"lsn":7}}', []),
        ('{"ts_ms":1700000000000}', []),
        ('{"status":"BEGIN","id":"571:5","event_count":null,"data_collections":null}', []),
        ('{"id":1,"status":"new","op":"x","vip":true}', ["status", "op", "vip"]),
        ("null", []),
    ],
)
def test_a_column_that_is_new_in_the_messages_is_told(
    spark: SparkSession, tmp_path: Path, message: str, new: list[str]
) -> None:
    rows = read(spark, tmp_path, debezium("ndjson"), put(tmp_path, "region=EU/a", message + "\n"))
    assert [note.split("'")[1] for note in rows.notes] == new


def test_G5_a_message_without_its_key_keeps_its_text(spark: SparkSession, tmp_path: Path) -> None:
    text = '{"op":"d","before":null,"source":{"lsn":7}}'
    [row] = in_order(read(spark, tmp_path, debezium("ndjson"), put(tmp_path, "region=EU/a", text)))
    assert (row["id"], row["_lb_raw"], row["_lb_bad"]) == (None, text, None)


def test_G5_messages_that_are_no_utf_8_are_bad_unless_their_encoding_is_named(
    spark: SparkSession, tmp_path: Path
) -> None:
    message = '{"op":"c","after":{"id":1,"name":"Müller","at":null},"source":{"lsn":7}}\n'
    file = put(tmp_path, "region=EU/a", message.encode("iso-8859-1"))
    assert [why for why, _, _ in bad(read(spark, tmp_path, debezium("ndjson"), file))] == ["unreadable"]
    rows = read(spark, tmp_path, debezium("ndjson", options={"encoding": "ISO-8859-1"}), file)
    assert [(row["name"], row["_lb_bad"]) for row in in_order(rows)] == [("Müller", None)]


@pytest.mark.parametrize(
    ("format_", "text"),
    [
        ("ndjson", '{"id":1}{"id":2}\n'),
        ("ndjson", '{"id":1},\n{"id":2}\n'),
        ("json", '[{"id":1},{"id":2}]\n[{"id":3}]\n'),
    ],
)
def test_G5_json_values_that_nobody_would_read_are_told(
    spark: SparkSession, tmp_path: Path, format_: str, text: str
) -> None:
    """Spark reads the first value of a line, or of a file with an array, and passes over the rest."""
    schemas: tuple[dict[str, Any], ...] = ({"schema": "id bigint"}, {})
    for schema in schemas:
        of = dataset("in/{name}.json", format=format_, **schema)
        with pytest.raises(BatchError, match="several JSON values") as caught:
            read(spark, tmp_path, of, put(tmp_path, "in/a.json", text))
        assert caught.value.code == "unreadable_file"


def test_G5_json_values_behind_others_are_told_wherever_they_stand(
    spark: SparkSession, tmp_path: Path
) -> None:
    """As where files were put one behind the other, and one had no line feed at its end."""
    long = "[" + ",".join(['{"id":1,"t":"' + "x" * 100 + '"}'] * 12_000) + "]"
    texts = {"ndjson": '{"id":1}\n{"id":2}{"id":3}\n', "json": f"{long}\n{long}\n"}
    for format_, text in texts.items():
        of = dataset("in/{name}.json", format=format_, schema="id bigint, t string")
        source, file = FileSource(of, LocalFolder(tmp_path)), put(tmp_path, "in/a.json", text)
        with pytest.raises(TransientError, match="read: several JSON values") as caught, source.errors():
            source.read(spark, [file]).frame.count()  # and once more, the file set aside
        assert (caught.value.code, caught.value.where) == ("unreadable_file", "demo.things, in/a.json")
    inside = put(tmp_path, "in/b.json", r'{"id":1,"t":"a}{b\" }{ \\"}' + '\n\n{"id":2,"t":"[] []"}\n')
    rows = read(spark, tmp_path, dataset(**LINES, schema="id bigint, t string"), inside)
    assert data(rows) == [(1, 'a}{b" }{ \\'), (2, "[] []")]


def test_G5_names_of_json_that_are_spelled_in_two_ways_are_told(spark: SparkSession, tmp_path: Path) -> None:
    """Spark would give the value of the one as NULL. Inside an object the spelling is the object's own affair."""
    records = ['{"Id":1,"v":{"ID":1}}', '{"v":{"ID":2},"id":2}']
    texts = {"ndjson": "\n".join(records), "json": f"[{','.join(records)}]"}
    either: tuple[dict[str, Any], ...] = ({"schema": "id bigint, v struct<ID:bigint>"}, {})
    for format_, text in texts.items():
        for schema in either:
            of = dataset("in/{name}.json", format=format_, **schema)
            source, file = FileSource(of, LocalFolder(tmp_path)), put(tmp_path, "in/a.json", text)
            with pytest.raises(TransientError, match="different letters") as caught, source.errors():
                source.read(spark, [file]).frame.count()
            assert caught.value.code == "unreadable_file"
            alike = put(tmp_path, "in/b.json", text.replace('"id"', '"Id"'))
            assert [row[0] for row in data(read(spark, tmp_path, of, alike))] == [1, 2]


def test_a_text_stays_a_text_however_much_it_looks_like_a_number(spark: SparkSession, tmp_path: Path) -> None:
    of = dataset(options={"inferSchema": True})
    rows = read(
        spark, tmp_path, of, put(tmp_path, "in/a.csv", "id,zip\n1,007\n"), known=known("id int, zip string")
    )
    assert data(rows) == [(1, "007")]


def test_a_text_in_one_file_makes_it_a_text_in_all_files_of_a_first_batch(
    spark: SparkSession, tmp_path: Path
) -> None:
    zips = [put(tmp_path, "in/a.csv", "id,zip\n1,007\n"), put(tmp_path, "in/b.csv", "id,zip\n2,A1\n")]
    of = dataset(options={"inferSchema": True})
    assert data(read(spark, tmp_path, of, *zips)) == [(1, "007"), (2, "A1")]
    prices = [put(tmp_path, "in/a.json", '{"p":1.10}\n'), put(tmp_path, "in/b.json", '{"p":"free"}\n')]
    assert data(read(spark, tmp_path, dataset(**LINES), *prices)) == [("1.10",), ("free",)]


def test_objects_of_json_keep_the_type_that_the_table_has(spark: SparkSession, tmp_path: Path) -> None:
    table = known("id bigint, a struct<x:bigint,y:string>")
    file = put(tmp_path, "in/a.json", '{"id":1,"a":{"x":1,"y":null}}\n{"id":2,"a":null}\n')
    rows = read(spark, tmp_path, dataset(**LINES), file, known=table)
    assert [(row["id"], row["a"] and tuple(row["a"])) for row in in_order(rows)] == [
        (1, (1, None)),
        (2, None),
    ]
    file = put(tmp_path, "in/b.json", '{"id":1,"a":{"x":1,"z":"new"}}\n')
    rows = read(spark, tmp_path, dataset(**LINES), file, known=table)
    assert (
        rows.frame.schema["a"].dataType.simpleString() == "struct<x:bigint,z:string>"
    )  # for the table to judge


def test_objects_that_differ_between_files_become_one_with_the_fields_of_both(
    spark: SparkSession, tmp_path: Path
) -> None:
    one = put(tmp_path, "in/a.json", '{"id":1,"a":{"x":1}}\n')
    other = put(tmp_path, "in/b.json", '{"id":2,"a":{"x":2,"y":"b"}}\n')
    rows = read(spark, tmp_path, dataset(**LINES), one, other)
    assert [row["a"].asDict() for row in in_order(rows)] == [{"x": 1, "y": None}, {"x": 2, "y": "b"}]
    text = put(tmp_path, "in/c.json", '{"id":3,"a":"none"}\n')
    rows = read(spark, tmp_path, dataset(**LINES), one, text)
    assert [row["a"] for row in in_order(rows)] == ['{"x":1}', "none"]


@pytest.mark.parametrize(("format_", "text"), [("json", "[]"), ("ndjson", ""), ("csv", "")])
def test_a_file_without_rows_has_the_columns_of_the_table(
    spark: SparkSession, tmp_path: Path, format_: str, text: str
) -> None:
    of = dataset("in/{name}", format=format_)
    rows = read(spark, tmp_path, of, put(tmp_path, "in/a", text), known=known("id bigint, name string"))
    assert (names(rows), data(rows)) == (["id", "name"], [])


@pytest.mark.parametrize("format_", ["json", "ndjson"])
@pytest.mark.parametrize("encoding", ["ISO-8859-1", "UTF-16LE"])
def test_json_in_other_encodings(spark: SparkSession, tmp_path: Path, format_: str, encoding: str) -> None:
    text = '[{"id":1,"name":"ü"}]' if format_ == "json" else '{"id":1,"name":"ü"}\n'
    of = dataset("in/{name}", format=format_, schema="id bigint, name string", options={"encoding": encoding})
    rows = read(spark, tmp_path, of, put(tmp_path, "in/a", text.encode(encoding)))
    assert (data(rows), bad(rows)) == ([(1, "ü")], [])


def test_a_byte_order_mark_is_no_part_of_a_name(spark: SparkSession, tmp_path: Path) -> None:
    of = dataset(options={"encoding": "UTF-16LE"})
    rows = read(spark, tmp_path, of, put(tmp_path, "in/a.csv", "\ufeffid,name\n1,ü\n".encode("utf-16-le")))
    assert (names(rows), data(rows)) == (["id", "name"], [("1", "ü")])


@pytest.mark.parametrize(("name", "format_"), [("in/b.csv", "csv"), ("in/b.json", "json")])
def test_a_file_out_of_reach_is_not_set_aside(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, format_: str
) -> None:
    """What is in it is not known: it may be whole, and be read tomorrow."""
    files = [put(tmp_path, "in/a", "id\n1\n" if format_ == "csv" else '{"id":1}\n'), put(tmp_path, name)]
    opened = Start.opened

    def refused(start: Start) -> Any:
        if start.address.endswith(name):
            raise PermissionError(13, "Permission denied", start.address)
        return opened(start)

    monkeypatch.setattr(Start, "opened", refused)
    with pytest.raises(TransientError, match="Permission denied") as caught:
        read(spark, tmp_path, dataset("in/{file}", format=format_, schema="id int"), *files)
    assert caught.value.code == "out_of_reach"
