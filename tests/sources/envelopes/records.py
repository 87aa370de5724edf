"""Debezium's messages, by the name of what is special about each."""

from __future__ import annotations

import json
from typing import Any

AWAY = "__debezium_unavailable_value"
CONNECT = "org.apache.kafka.connect.data"
TIME = 1_709_368_200_100

POSTGRES = {"connector": "postgresql", "ts_ms": TIME, "snapshot": "false", "lsn": 500}


def message(
    op: str | None = "c",
    after: dict[str, Any] | None = None,
    before: dict[str, Any] | None = None,
    **source: Any,
) -> str:
    """A nested message of PostgreSQL, unless `source` says otherwise."""
    block = {**POSTGRES, **source} if "connector" not in source else {"ts_ms": TIME, **source}
    body = {"before": before, "after": after, "source": block, "op": op, "ts_ms": TIME + 1}
    return json.dumps(body)


def row(**values: Any) -> str:
    return message("c", {"id": 1, **values})


def with_schema(values: dict[str, Any], **meanings: tuple[str, dict[str, str]]) -> str:
    """A message that carries its schema: each value's type by name, and its parameters."""
    fields = [
        {"field": name, "type": "x", "name": meaning[0], "parameters": meaning[1], "optional": True}
        if (meaning := meanings.get(name))
        else {"field": name, "type": "x", "optional": True}
        for name in values
    ]
    images = [{"type": "struct", "field": image, "fields": fields} for image in ("before", "after")]
    schema = {
        "type": "struct",
        "fields": [*images, {"type": "string", "field": "op"}],
        "name": "shop.Envelope",
    }
    return json.dumps({"schema": schema, "payload": json.loads(message("u", values))})


def flat(**values: Any) -> str:
    return json.dumps({"id": 1, **values})


# Operations, and what is no change.
OPERATIONS = {
    "create": message("c", {"id": 1, "name": "x"}),
    "update": message("u", {"id": 1, "name": "y"}, {"id": 1, "name": "x"}),
    "snapshot read": message("r", {"id": 1, "name": "x"}, snapshot="first"),
    "delete with the key only": message("d", None, {"id": 1, "name": None}),
    "delete whose other values do not fit": message("d", None, {"id": 1, "amount": 1e99}),
    "delete whose key does not fit": message("d", None, {"id": "one"}),
    "truncate": json.dumps({"source": POSTGRES, "op": "t", "ts_ms": TIME}),
    "logical message": json.dumps({"source": POSTGRES, "op": "m", "message": {"prefix": "p"}}),
    "tombstone": "null",
    "blank line": "",
    "tombstone in a schema": '{"schema": null, "payload": null}',
    "begin": '{"status":"BEGIN","id":"571:1","ts_ms":1,"event_count":null,"data_collections":null}',
    "end": '{"status":"END","id":"571:1","ts_ms":1,"event_count":1,"data_collections":[{"data_collection":"a","event_count":1}]}',
    "unknown operation": message("x", {"id": 1}),
    "no operation": message(None, {"id": 1}),
    "upsert without a row": message("u", None),
    "torn": message("c", {"id": 1})[:-5],
    "two messages on a line": message("c", {"id": 1}) + message("c", {"id": 2}),
    "something after it": message("c", {"id": 1}) + " x",
    "a list": "[1]",
    "no JSON": "id;name",
    "other case": json.dumps({"op": "c", "after": {"ID": 7, "Name": "x"}, "source": POSTGRES}),
    "a status that is data": flat(status="BEGIN", name="x"),
}

# Values without a schema: the declared type tells.
VALUES = {
    "decimal 123.45": row(amount="MDk="),
    "decimal -123.45": row(amount="z8c="),
    "decimal 0": row(amount="AA=="),
    "decimal 1.28": row(amount="AIA="),
    "decimal of digits alone": row(amount="1234"),
    "whole decimal of digits alone": row(big="1234"),
    "decimal as a number": row(amount=1234),
    "decimal as text": row(amount="123.45"),
    "decimal with its own scale": row(amount={"scale": 1, "value": "MDk="}),
    "decimal with digits that would be lost": row(amount={"scale": 3, "value": "MDk="}),
    "number with digits that would be lost": row(amount=1.005),
    "whole number with its own scale": message("c", {"id": {"scale": 0, "value": "MDk="}}),
    "decimal too big": row(amount="f////////////w=="),
    "biggest decimal": row(big="SztMqFqGxHoJiiI//////w=="),
    "smallest decimal": row(big="tMSzV6V5O4X2dd3AAAAAAQ=="),
    "many digits": row(big=12345678901234567890123456789012345678),
    "day": row(day=19782),
    "day before 1970": row(day=-1),
    "day as text": row(day="2024-02-29"),
    "moment without a unit": row(at=TIME),
    "zoned moment": row(at="2018-06-20T13:37:03.123456Z"),
    "zoned moment elsewhere": row(at="2018-06-20T15:37:03+02:00"),
    "a time is no moment": row(at="12:30:00"),
    "bytes": row(doc="aGVsbG8="),
    "flag": row(flag=True),
    "text in a number": message("c", {"id": "one"}),
    "fraction in a whole number": message("c", {"id": 1.5}),
    "number in a text": row(name=5),
    "JSON in a text": row(name='{"b": 1, "a": 2}'),
    "null": row(name=None, amount=None, day=None, at=None, nums=None),
    "array": row(nums=[1, None, 3]),
    "array with a stranger": row(nums=[1, "x"]),
    "array that is none": row(nums=5),
    "map": row(props={"a": "b"}),
    "infinity": row(moment=9223372036825200000),
    "minus infinity": row(moment=-9223372036832400000),
}

# Numbers so odd that plain arithmetic would fail the job.
ABSURD = {
    "absurd scale": row(amount={"scale": 2147483647, "value": "MDk="}),
    "absurd decimal": row(amount="MDk" * 40),
    "absurd day": row(day=2147483647),
    "absurd moment": with_schema({"id": 1, "at": 10**37}, at=("io.debezium.time.MicroTimestamp", {})),
    "absurd time of day": with_schema({"id": 1, "name": -(2**63)}, name=("io.debezium.time.MicroTime", {})),
    "absurd times of the source": message("c", {"id": 1}, ts_ms=10**37, ts_ns="x", lsn="x", sequence="{"),
    "absurd position": message(
        "c",
        {"id": 1},
        connector="sqlserver",
        commit_lsn="z" * 99,
        change_lsn="f" * 99,
        file=".9" * 60,
        pos={},
    ),
    "absurd sequence": message("c", {"id": 1}, lsn=10**37, sequence="[[]]", rs_id="f" * 40, scn=-1),
}

# What is declared wins only where the schema is silent.
SCHEMAS = {
    "schema decimal": with_schema({"id": 1, "amount": "MDk="}, amount=(f"{CONNECT}.Decimal", {"scale": "1"})),
    "schema negative scale": with_schema(
        {"id": 1, "amount": "BQ=="}, amount=(f"{CONNECT}.Decimal", {"scale": "-2"})
    ),
    "schema decimal as number": with_schema(
        {"id": 1, "amount": 1234}, amount=(f"{CONNECT}.Decimal", {"scale": "2"})
    ),
    "schema decimal to text": with_schema(
        {"id": 1, "name": "z8c="}, name=(f"{CONNECT}.Decimal", {"scale": "2"})
    ),
    "schema decimal to double": with_schema(
        {"id": 1, "rate": "MDk="}, rate=(f"{CONNECT}.Decimal", {"scale": "1"})
    ),
    "schema decimal in string mode": with_schema({"id": 1, "amount": "1234"}),
    "schema ms": with_schema({"id": 1, "at": 1529507596945}, at=("io.debezium.time.Timestamp", {})),
    "schema us": with_schema({"id": 1, "at": 1529507596945104}, at=("io.debezium.time.MicroTimestamp", {})),
    "schema ns": with_schema({"id": 1, "at": 1529507596945104999}, at=("io.debezium.time.NanoTimestamp", {})),
    "schema zoned": with_schema(
        {"id": 1, "at": "2018-06-20T13:37:03Z"}, at=("io.debezium.time.ZonedTimestamp", {})
    ),
    "schema day": with_schema({"id": 1, "day": 19782}, day=("io.debezium.time.Date", {})),
    "schema moment to day": with_schema(
        {"id": 1, "day": 1529507596945104}, day=("io.debezium.time.MicroTimestamp", {})
    ),
    "schema time to text": with_schema(
        {"id": 1, "name": 45_296_000_007}, name=("io.debezium.time.MicroTime", {})
    ),
    "schema negative time": with_schema({"id": 1, "name": -3_600_000}, name=("io.debezium.time.Time", {})),
    "schema day to text": with_schema({"id": 1, "name": 19782}, name=(f"{CONNECT}.Date", {})),
}

# Values that PostgreSQL did not send.
UNAVAILABLE = {
    "unavailable text": row(name=AWAY, amount="MDk="),
    "unavailable bytes": row(doc="X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="),
    "unavailable texts": row(tags=[AWAY]),
    "unavailable uuids": row(tags=["b68a35a7-17ad-35b3-af2a-ae46edb4545a"]),
    "unavailable numbers": row(nums=list(AWAY.encode())),
    "unavailable map": row(props={AWAY: AWAY}),
    "unavailable JSON": row(name=json.dumps({AWAY: AWAY}, separators=(",", ":"))),
    "nothing unavailable": row(name="x"),
}

# Orders: in each list every message comes before the next, though text or plain numbers would say otherwise.
POSITIONS: dict[str, list[str]] = {
    "mysql": [
        message("c", {"id": 1}, connector="mysql", file="bin.000001", pos=900, row=0, snapshot="true"),
        message("u", {"id": 1}, connector="mysql", file="bin.000009", pos=1000, row=0),
        message("u", {"id": 1}, connector="mysql", file="bin.000010", pos=99, row=0),
        message("u", {"id": 1}, connector="mysql", file="bin.000010", pos=100, row=0),
        message("u", {"id": 1}, connector="mysql", file="bin.000010", pos=100, row=2),
        message("u", {"id": 1}, connector="mysql", file="bin.999999", pos=100, row=10),
        message("u", {"id": 1}, connector="mysql", file="bin.1000000", pos=4, row=0),
    ],
    "postgresql": [
        message("r", {"id": 1}, snapshot="last", lsn=900, sequence='[null,"900"]'),
        message("u", {"id": 1}, lsn=90, sequence='[null,"90"]'),
        message("u", {"id": 1}, lsn=120, sequence='["100","120"]'),
        # Written to the log before the one above, committed after it.
        message("u", {"id": 1}, lsn=110, sequence='["130","110"]'),
        message("u", {"id": 1}, lsn=1000, sequence='["130","1000"]'),
        message("r", {"id": 1}, snapshot="incremental", lsn=1200, sequence='["1100","1200"]'),
    ],
    "postgresql without sequence": [
        message("u", {"id": 1}, lsn=99),
        message("u", {"id": 1}, lsn=100),
        message("u", {"id": 1}, lsn=24023128),
    ],
    "sqlserver": [
        message("r", {"id": 1}, connector="sqlserver", commit_lsn="00000027:00000ac0:0002", snapshot="true"),
        *[
            message(
                "u",
                {"id": 1},
                connector="sqlserver",
                commit_lsn=commit,
                change_lsn=change,
                event_serial_no=serial,
            )
            for commit, change, serial in [
                ("00000027:00000758:0005", "00000027:00000758:0003", 1),
                ("00000027:00000758:0005", "00000027:00000758:0003", 2),
                ("00000027:00000758:0005", "00000027:00000758:0003", 10),
                ("00000027:00000758:0005", "00000027:00000758:000a", 1),
                ("00000027:00000ac0:0002", "00000027:00000758:0003", 1),
                ("fffffff7:00000ac0:0002", "00000027:00000758:0003", 1),
            ]
        ],
    ],
    "db2": [
        message("u", {"id": 1}, connector="db2", commit_lsn=lsn, change_lsn=lsn)
        for lsn in (
            "00000000:00000000:000000000004a101",
            "00000000:00000000:000000000004a102",
            "00000000:00000000:00000000ffff0000",
        )
    ],
    "oracle": [
        message("r", {"id": 1}, connector="oracle", scn="9000000", snapshot="last"),
        *[
            message("u", {"id": 1}, connector="oracle", scn=scn, commit_scn=commit, rs_id=redo, ssn=statement)
            for scn, commit, redo, statement in [
                ("999999", "1000001", "0x000123.00000abc.0010", 0),
                ("1000000", "1000001", "0x000123.00000abc.0010", 0),
                ("1000000", "1000001", "0x000123.00000abc.0010", 10),
                ("1000000", "1000001", "0x000123.00000abd.0010", 9),
                ("999998", "1000002", "0x000123.00000abc.0010", 0),
            ]
        ],
    ],
    "mongodb": [
        message("u", {"id": 1}, connector="mongodb", ord=2, ts_ms=1000),
        message("u", {"id": 1}, connector="mongodb", ord=10, ts_ms=1000),
        message("u", {"id": 1}, connector="mongodb", ord=1, ts_ms=2000),
    ],
    "any other": [
        message("r", {"id": 1}, connector="other", ts_ms=9000, snapshot="true"),
        message("u", {"id": 1}, connector="other", ts_ms=1000),
        message("u", {"id": 1}, connector="other", ts_ms=1000),
        message("u", {"id": 1}, connector="other", ts_ms=1000, ts_us=1_000_001),
        message("u", {"id": 1}, connector="other", ts_ms=2000),
    ],
}

MONGO = {
    "mongodb row": json.dumps(
        {
            "after": json.dumps(
                {
                    "_id": {"$oid": "5f1"},
                    "id": {"$numberLong": "7"},
                    "at": {"$date": 1529507596945},
                    "name": "x",
                }
            ),
            "source": {"connector": "mongodb", "ts_ms": TIME, "ord": 1},
            "op": "c",
        }
    ),
}

FLAT = {
    "flat": flat(name="x"),
    "flat with fields": flat(name="x", __op="u", __lsn=5, __source_ts_ms=TIME, __table="t"),
    "flat snapshot": flat(name="x", __op="r"),
    "flat kept": flat(name="x", __deleted="false"),
    "flat deleted": flat(name="x", __deleted="true"),
    "flat deleted by op": flat(name=None, __op="d"),
    "flat with a binlog": flat(__source_file="b.000007", __source_pos=9, __source_row=1),
}

# For `form: flat`: columns of the table that look like parts of an envelope.
FLAT_ONLY = {"columns like an envelope": json.dumps({"id": 1, "op": "c", "source": "web", "after": "x"})}

# For `decimals: string` and `times`.
OPTIONED = {
    "string mode": row(amount="1234"),
    "moment with a unit": row(at=1529507596945),
    "moment with another unit": row(moment=1529507596945104),
}
MISSING = {"a field is missing": message("u", {"id": 1, "amount": 5})}
