"""Files as rows, through Spark."""

from __future__ import annotations

import gzip
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.sources.datasets import dataset, put
from tests.sources.reading import bad, data, in_order, names, read

from lakebed.errors import BatchError
from lakebed.manifest import Dataset


def test_without_a_schema_everything_is_text(spark: SparkSession, tmp_path: Path) -> None:
    rows = read(spark, tmp_path, dataset(), put(tmp_path, "in/a.csv", "id,name\n007,x\n2,\n"))
    assert names(rows) == ["id", "name"]
    assert data(rows) == [("007", "x"), ("2", None)]


def test_types_are_seen_where_it_is_asked_for(spark: SparkSession, tmp_path: Path) -> None:
    of = dataset(options={"inferSchema": True})
    assert data(read(spark, tmp_path, of, put(tmp_path, "in/a.csv", "id,n\n1,2.5\n"))) == [(1, 2.5)]


def test_columns_are_matched_by_name_not_by_place(spark: SparkSession, tmp_path: Path) -> None:
    of = dataset(schema="id bigint, name string")
    rows = read(spark, tmp_path, of, put(tmp_path, "in/a.csv", "NAME,id\nx,1\n"))
    assert names(rows) == ["id", "name"]
    assert data(rows) == [(1, "x")]


def test_files_with_other_headers_are_not_mixed_up(spark: SparkSession, tmp_path: Path) -> None:
    of = dataset(schema="id bigint, name string, city string")
    files = [
        put(tmp_path, "in/a.csv", "id,name\n1,x\n2,y\n"),
        put(tmp_path, "in/b.csv", "city,name,id\nRome,z,3\n"),
    ]
    assert data(read(spark, tmp_path, of, *files)) == [(1, "x", None), (2, "y", None), (3, "z", "Rome")]


def test_G9_a_declared_column_that_the_file_lacks_stays_missing(spark: SparkSession, tmp_path: Path) -> None:
    of = dataset(schema="id bigint, name string")
    assert names(read(spark, tmp_path, of, put(tmp_path, "in/a.csv", "id\n1\n"))) == ["id"]


def test_a_column_that_is_not_declared_is_not_read_and_said(spark: SparkSession, tmp_path: Path) -> None:
    of = dataset(schema="id bigint")
    rows = read(spark, tmp_path, of, put(tmp_path, "in/a.csv", "id,secret\n1,x\n"))
    assert data(rows) == [(1,)]
    assert rows.notes == ("the column 'secret' is in the source, but not in source.schema: it is not read",)


def test_G5_a_bad_cast_makes_a_bad_row_never_a_null(spark: SparkSession, tmp_path: Path) -> None:
    of = dataset(schema="id bigint, day date, price decimal(6,2), ok boolean")
    text = "id,day,price,ok\n1,2024-01-31,1.50,true\nx,2024-01-31,1,true\n3,2024-02-31,1,true\n4,,,\n5,2024-01-31,12345.00,no\n6,,,maybe\n"
    rows = read(spark, tmp_path, of, put(tmp_path, "in/a.csv", text))
    assert data(rows)[0] == (1, date(2024, 1, 31), Decimal("1.50"), True)
    assert data(rows)[3] == (4, None, None, None)
    assert [(why, line) for why, _, line in bad(rows)] == [("bad_cast", line) for line in (3, 4, 6, 7)]
    assert bad(rows)[0][1] == "x,2024-01-31,1,true"


def test_G5_a_row_with_too_few_or_too_many_values_is_bad(spark: SparkSession, tmp_path: Path) -> None:
    either: tuple[dict[str, Any], ...] = ({"schema": "id bigint, name string"}, {})
    for schema in either:
        file = put(tmp_path, "in/a.csv", "id,name\n1,x\n2\n3,y,z\n")
        rows = read(spark, tmp_path, dataset(**schema), file)
        assert bad(rows) == [("unreadable", "2", 3), ("unreadable", "3,y,z", 4)]
        assert rows.frame.where("_lb_bad is not null").count() == 2
        assert rows.frame.count() == 3


def test_a_short_record_is_filled_where_the_manifest_says_so(spark: SparkSession, tmp_path: Path) -> None:
    """A quoted separator is none; a record that is too long, or cut off inside quotes, stays bad."""
    text = b'id,name,town\n1\n2,"a, ""b"""\r\n3,\r\n4,x,\r\n5,x,y,z\n6,"cut'
    of = dataset(schema="id bigint, name string, town string", short_records="fill")
    rows = read(spark, tmp_path, of, put(tmp_path, "in/a.csv", text))
    good = [(1, None, None), (2, 'a, "b"', None), (3, None, None), (4, "x", None)]
    assert data(rows)[:4] == good
    assert [(why, line) for why, _, line in bad(rows)] == [("unreadable", 6), ("unreadable", 7)]
    single = dataset(short_records="fill", options={"sep": ";", "quote": "'", "escape": "\\"})
    rows = read(spark, tmp_path, single, put(tmp_path, "in/b.csv", "id;name;town\n1;'a\\';b'\n2;x;y;z\n"))
    assert (data(rows)[0], len(bad(rows))) == (("1", "a';b", None), 1)


def test_a_time_of_day_is_no_instant(spark: SparkSession, tmp_path: Path) -> None:
    """Spark would take today's date: another table on every replay."""
    of = dataset(schema="t timestamp")
    text = "t\n12:30\nT12:30:00\n2024-01-31T10:00:00+02:00\n2024-01-31 10:00:00.123456\n"
    rows = read(spark, tmp_path, of, put(tmp_path, "in/a.csv", text))
    assert [line for _, _, line in bad(rows)] == [2, 3]
    instants = [value.astimezone(UTC) for (value,) in data(rows)[2:]]
    assert instants[0] == datetime(2024, 1, 31, 8, tzinfo=UTC)


def test_formats_of_dates_and_times_are_honoured(spark: SparkSession, tmp_path: Path) -> None:
    options = {"dateFormat": "dd.MM.yyyy", "timestampFormat": "dd.MM.yyyy HH:mm"}
    of = dataset(schema="d date, t timestamp_ntz", options=options)
    text = "d,t\n31.01.2024,31.01.2024 12:00\n2024-01-31,31.01.2024 12:00\n"
    rows = read(spark, tmp_path, of, put(tmp_path, "in/a.csv", text))
    assert data(rows)[0] == (date(2024, 1, 31), datetime(2024, 1, 31, 12))  # noqa: DTZ001 - it has no zone
    assert [line for _, _, line in bad(rows)] == [3]


def test_quotes_and_line_breaks_as_in_rfc_4180(spark: SparkSession, tmp_path: Path) -> None:
    text = 'id,t\r\n1,"say ""hi"", then"\r\n2,"two\nlines"\r\n3,""\r\n4,\r\n5,back\\slash\r\n'
    rows = read(spark, tmp_path, dataset(), put(tmp_path, "in/a.csv", text))
    # An empty value is NULL, quoted or not, as everywhere in Spark: many exporters quote all they write.
    expected = ['say "hi", then', "two\nlines", None, None, "back\\slash"]
    assert data(rows) == [(str(place), value) for place, value in enumerate(expected, start=1)]
    assert bad(rows) == []


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (b"\xef\xbb\xbfid;name\n1;x\n", {"sep": ";"}),
        ("id\tname\n1\tx\n".encode("utf-16"), {"sep": "\\t", "encoding": "UTF-16"}),
        (b"# a comment\nid|name\n1|x\n", {"delimiter": "|", "comment": "#"}),
        (b"\n\nid,name\n1,x\n", {}),
        (b"'id','name'\n'1','x'\n", {"quote": "'"}),
    ],
)
def test_dialects(spark: SparkSession, tmp_path: Path, text: bytes, options: dict[str, str]) -> None:
    of = dataset(schema="name string, id int", options=options)
    assert data(read(spark, tmp_path, of, put(tmp_path, "in/a.csv", text))) == [("x", 1)]


def test_G5_bytes_that_are_no_utf_8_make_a_bad_row(spark: SparkSession, tmp_path: Path) -> None:
    text = b"id,n\xc3\xa4me\n1,\xc3\xbc\n2,f\xfcr\n3,\xef\xbf\xbd\n\xe9\n"
    rows = read(spark, tmp_path, dataset(schema="id int, näme string"), put(tmp_path, "in/a.csv", text))
    assert [row for row, why in zip(data(rows), [None, "bad", None, "bad"], strict=True) if not why] == [
        (1, "ü"),
        (3, "\ufffd"),  # the sign itself may well be in the data
    ]
    assert [(why, line) for why, _, line in bad(rows)] == [("unreadable", 3), ("unreadable", 5)]
    assert bad(rows)[0][1] == "2,f\ufffdr"
    plain = dataset(options={"header": False}, schema="name string")
    file = put(tmp_path, "in/b.csv", b"\xef\xbb\xbf\xc3\xbc\n\xff\n")
    assert data(read(spark, tmp_path, plain, file))[0] == ("ü",)
    latin = dataset(options={"encoding": "ISO-8859-1"})
    assert data(read(spark, tmp_path, latin, put(tmp_path, "in/c.csv", b"a\n\xfc\n"))) == [("ü",)]


def test_G5_a_folder_that_does_not_fit_its_type_makes_bad_rows(spark: SparkSession, tmp_path: Path) -> None:
    of = dataset("in/year={year}/{file}.csv", schema="id int, year int")
    rows = read(spark, tmp_path, of, put(tmp_path, "in/year=soon/a.csv", "id\n1\n"))
    assert bad(rows) == [("bad_cast", "(the path) year=soon", 2)]


def test_without_a_header_columns_come_by_place(spark: SparkSession, tmp_path: Path) -> None:
    file = put(tmp_path, "in/a.csv", "1,x\n2,y\n")
    rows = read(spark, tmp_path, dataset(options={"header": False}, schema="id int, name string"), file)
    assert data(rows) == [(1, "x"), (2, "y")]
    assert [row["_lb_line"] for row in in_order(rows)] == [1, 2]
    assert names(read(spark, tmp_path, dataset(options={"header": False}), file)) == ["_c0", "_c1"]


def test_compressed_files(spark: SparkSession, tmp_path: Path) -> None:
    file = put(tmp_path, "in/a.csv.gz", gzip.compress(b"name,id\nx,1\n"))
    assert data(read(spark, tmp_path, dataset(schema="id int, name string"), file)) == [(1, "x")]


# Made with `zstd -19` from "name,id\nx,1\n" and from '[{"id":3,"n":"c"}]': Python cannot write them.
ZSTD_CSV = bytes.fromhex("28b52ffd04686100006e616d652c69640a782c310aa25a065b")
ZSTD_JSON = bytes.fromhex("28b52ffd04689100005b7b226964223a332c226e223a2263227d5d132f83ce")


def test_files_packed_as_zstandard(spark: SparkSession, tmp_path: Path) -> None:
    file = put(tmp_path, "in/a.csv.zst", ZSTD_CSV)
    assert data(read(spark, tmp_path, dataset(schema="id int, name string"), file)) == [(1, "x")]
    of = dataset("in/{file}", format="json", schema="id bigint, n string")
    assert data(read(spark, tmp_path, of, put(tmp_path, "in/b.json.zst", ZSTD_JSON))) == [(3, "c")]
    with pytest.raises(BatchError, match="cannot be read"):
        read(spark, tmp_path, dataset(), put(tmp_path, "in/c.csv.zst", ZSTD_CSV[:12]))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("id,ID\n1,2\n", "duplicate_column"),
        ("id,_lb_bad\n1,2\n", "reserved_name"),
        ("a,b\n1,2\n", "missing_columns"),
        (b"id,\xff\xfe\n1,2\n", "unreadable_file"),
    ],
)
def test_headers_that_cannot_be_used(
    spark: SparkSession, tmp_path: Path, text: str | bytes, code: str
) -> None:
    with pytest.raises(BatchError) as caught:
        read(spark, tmp_path, dataset(schema="id int"), put(tmp_path, "in/a.csv", text))
    assert caught.value.code == code
    assert "in/a.csv" in str(caught.value)


def test_an_empty_file_has_no_rows_where_columns_are_declared(spark: SparkSession, tmp_path: Path) -> None:
    file = put(tmp_path, "in/a.csv", "")
    rows = read(spark, tmp_path, dataset(schema="id int"), file)
    assert (names(rows), data(rows)) == (["id"], [])
    with pytest.raises(BatchError, match="its columns are not known"):
        read(spark, tmp_path, dataset(), file)
    only_header = put(tmp_path, "in/b.csv", "id\n")
    assert data(read(spark, tmp_path, dataset(schema="id int"), file, only_header)) == []


def test_odd_names_of_files_and_columns(spark: SparkSession, tmp_path: Path) -> None:
    file = put(tmp_path, "in/we[i]rd {a} *?+ 100% ü.csv", "a.b,`c d`,é\n1,2,3\n")
    rows = read(spark, tmp_path, dataset(), file)
    assert names(rows) == ["a.b", "`c d`", "é"]
    assert data(rows) == [("1", "2", "3")]
    assert in_order(rows)[0]["_lb_file"] == file.path


def test_positions_follow_the_files_and_their_lines(spark: SparkSession, tmp_path: Path) -> None:
    """Also where Spark cuts a file into splits and reads the biggest first."""
    big = "id,pad\n" + "".join(f"{n},{'x' * 40}\n" for n in range(60_000))
    files = [
        put(tmp_path, "in/b.csv", "id,pad\n-2,\n-1,\n"),
        put(tmp_path, "in/a.csv", big),
        put(tmp_path, "in/c.csv", "id,pad\n60000,\n"),
    ]
    of = dataset(schema="id bigint", options={"multiLine": False})
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    spark.conf.set("spark.sql.files.maxPartitionBytes", str(2**20))
    try:
        found = [row["id"] for row in in_order(read(spark, tmp_path, of, *files))]
    finally:
        spark.conf.set("spark.sql.files.maxPartitionBytes", str(before))
    assert found == list(range(-2, 60_001))


def test_folders_of_the_path_become_columns(spark: SparkSession, tmp_path: Path) -> None:
    pattern = "in/country={country}/year={year}/{file}.csv"
    file = put(tmp_path, "in/country=DE/year=2024/a.csv", "id\n1\n")
    rows = read(spark, tmp_path, dataset(pattern, schema="id int, year int"), file)
    assert names(rows) == ["id", "country", "year"]
    assert data(rows) == [(1, "DE", 2024)]


def test_json_lines(spark: SparkSession, tmp_path: Path) -> None:
    text = '{"id":1,"n":"a"}\n{"id":"x","n":"b"}\n{broken\n{"n":null,"id":3}\n'
    of = dataset("in/{file}.json", format="json", schema="id bigint, n string")
    rows = read(spark, tmp_path, of, put(tmp_path, "in/a.json", text))
    assert [data(rows)[0], data(rows)[3]] == [(1, "a"), (3, None)]
    assert bad(rows) == [("unreadable", '{"id":"x","n":"b"}', 2), ("unreadable", "{broken", 3)]
    assert rows.frame.where("_lb_bad is not null").count() == 2


def test_json_as_one_array_and_compressed(spark: SparkSession, tmp_path: Path) -> None:
    of = dataset("in/{file}", format="json", schema="id bigint, n string")
    array = put(tmp_path, "in/a.json", ' [{"id":1,"n":"a"},\n {"id":2,"n":"b"}]')
    lines = put(tmp_path, "in/b.json.gz", gzip.compress(b'{"id":3,"n":"c"}\n'))
    assert data(read(spark, tmp_path, of, array, lines)) == [(1, "a"), (2, "b"), (3, "c")]
    of = dataset("in/{file}", format="ndjson", schema="id bigint, n string")
    assert data(read(spark, tmp_path, of, lines)) == [(3, "c")]


def test_json_without_a_schema(spark: SparkSession, tmp_path: Path) -> None:
    of = dataset("in/{file}.json", format="json")
    assert data(read(spark, tmp_path, of, put(tmp_path, "in/a.json", '{"id":1}\n'))) == [(1,)]
    with pytest.raises(BatchError, match="no readable record"):
        read(spark, tmp_path, of, put(tmp_path, "in/b.json", "nonsense\n"))


def test_parquet_by_name_and_type(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([("x", 1, 300), ("y", 2, 3)], "name string, id int, small int")
    frame.coalesce(1).write.parquet(str(tmp_path / "made"))
    part = next((tmp_path / "made").glob("part-*.parquet"))
    file = put(tmp_path, "in/a.parquet", part.read_bytes())
    of = dataset("in/{file}.parquet", format="parquet", schema="id bigint, NAME string, small tinyint")
    rows = read(spark, tmp_path, of, file)
    assert names(rows) == ["id", "NAME", "small"]
    assert data(rows)[1] == (2, "y", 3)
    assert [why for why, _, _ in bad(rows)] == ["bad_cast"]


@pytest.mark.parametrize(
    ("format_", "text", "options"),
    [
        ("json", '{"id": 1}\n', {}),
        ("csv", "1\n", {"header": False}),
    ],
)
def test_a_declared_column_comes_from_the_path_where_the_file_has_none(
    spark: SparkSession, tmp_path: Path, format_: str, text: str, options: dict[str, Any]
) -> None:
    of = dataset(
        "in/country={country}/{file}", format=format_, schema="id bigint, country string", options=options
    )
    rows = read(spark, tmp_path, of, put(tmp_path, "in/country=DE/a", text))
    assert bad(rows) == []
    assert [(row["id"], row["country"]) for row in in_order(rows)] == [(1, "DE")]


def test_messages_keep_their_text_beside_the_columns_of_their_path(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Kafka Connect writes `topics/orders/partition=0/…`."""
    of = Dataset.model_validate(
        {
            "dataset": "demo.orders",
            "source": {
                "files": "orders/{partitions}/{file}.json",
                "format": "json",
                "envelope": {"kind": "debezium"},
                "schema": "id bigint, name string",
            },
            "feed": {"kind": "changes", "key": ["id"]},
            "history": {"kind": "current"},
        }
    )
    message = '{"op": "c", "after": {"id": 1, "name": "x"}, "source": {"lsn": 7, "ts_ms": 5}, "ts_ms": 6}\n'
    rows = read(spark, tmp_path, of, put(tmp_path, "orders/partition=0/a.json", message))
    [row] = in_order(rows)
    assert (row["id"], row["name"], row["_lb_bad"]) == (1, "x", None)


def test_a_header_in_windows_1252_is_read_as_it_is_declared(spark: SparkSession, tmp_path: Path) -> None:
    of = dataset(options={"encoding": "windows-1252"})
    rows = read(spark, tmp_path, of, put(tmp_path, "in/a.csv", "id,größe\n1,5 €\n".encode("cp1252")))
    assert names(rows) == ["id", "größe"]
    assert data(rows) == [("1", "5 €")]


def test_a_long_document_may_be_in_the_first_record(spark: SparkSession, tmp_path: Path) -> None:
    of = dataset(schema="id bigint, text string", options={"header": False})
    rows = read(spark, tmp_path, of, put(tmp_path, "in/a.csv", f"1,{'x' * 200_000}\n"))
    assert [(row["id"], len(row["text"])) for row in in_order(rows)] == [(1, 200_000)]


@pytest.mark.parametrize("options", [{"escape": "\\\\"}, {"quote": "''"}])
def test_a_sign_of_two_characters_is_refused(
    spark: SparkSession, tmp_path: Path, options: dict[str, str]
) -> None:
    with pytest.raises(BatchError, match="more than one character"):
        read(spark, tmp_path, dataset(options=options), put(tmp_path, "in/a.csv"))


def test_a_packed_file_is_known_by_its_name_in_lower_case(spark: SparkSession, tmp_path: Path) -> None:
    file = put(tmp_path, "in/a.csv.GZ", gzip.compress(b"id\n1\n"))
    with pytest.raises(BatchError, match="cannot be read"):
        read(spark, tmp_path, dataset("in/{file}"), file)


def test_files_that_know_their_own_types_meet_in_the_wider_one_or_in_text(
    spark: SparkSession, tmp_path: Path
) -> None:
    of = dataset("in/{file}.json", format="json")
    first = put(tmp_path, "in/a.json", '{"code": "007", "n": 1, "empty": null}\n')
    second = put(tmp_path, "in/b.json", '{"code": 8, "n": 2.5, "empty": 3}\n')
    rows = read(spark, tmp_path, of, first, second)
    found = [(row["code"], row["n"], row["empty"]) for row in in_order(rows)]
    assert found == [("007", 1.0, None), ("8", 2.5, 3)]


@pytest.mark.parametrize(
    "text", ['{"ID": 1, "At": "2024-01-31T10:00:00Z"}\n', '[{"ID": 1, "At": "2024-01-31T10:00:00Z"}]']
)
def test_G9_names_of_json_are_matched_whatever_their_case(
    spark: SparkSession, tmp_path: Path, text: str
) -> None:
    of = dataset("in/{file}.json", format="json", schema="id bigint, at timestamp")
    rows = read(spark, tmp_path, of, put(tmp_path, "in/a.json", text))
    assert names(rows) == ["id", "at"]
    assert [(row["id"], row["at"].astimezone(UTC)) for row in in_order(rows)] == [
        (1, datetime(2024, 1, 31, 10, tzinfo=UTC))
    ]


def test_a_time_of_day_in_json_is_no_time(spark: SparkSession, tmp_path: Path) -> None:
    of = dataset("in/{file}.json", format="json", schema="id bigint, at timestamp")
    rows = read(spark, tmp_path, of, put(tmp_path, "in/a.json", '{"id": 1, "at": "12:30"}\n{"id": 2}\n'))
    assert [row["_lb_bad"] for row in in_order(rows)] == ["bad_cast", None]


@pytest.mark.parametrize("kind", ["keep", "fail"])
def test_G9_a_column_that_no_record_of_json_has_is_missing(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    feed = {"kind": "updates", "key": ["id"], "on_missing_column": kind}
    of = dataset("in/{file}.json", feed=feed, format="json", schema="id bigint, name string, n bigint")
    text = '{"id": 1, "NAME": null}\n{"id": 2}\n'
    assert names(read(spark, tmp_path, of, put(tmp_path, "in/a.json", text))) == ["id", "name"]
    assert names(read(spark, tmp_path, of, put(tmp_path, "in/b.json", ""))) == ["id", "name", "n"]
