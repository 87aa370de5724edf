"""Errors as a user sees them, and exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from tests.cli.conftest import Lakebed

from lakebed.cli.failures import exit_code_of, wants_json
from lakebed.errors import BatchError, ConflictError, LakebedError, ManifestError, OptionsError, SetupError


def raising(error: BaseException) -> Callable[[], Any]:
    def command() -> None:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ManifestError("x"), 2),
        (OptionsError("x"), 2),
        (SetupError("x"), 3),
        (BatchError("x"), 1),
        (ConflictError("x"), 1),
        (RuntimeError("x"), 1),
        (KeyboardInterrupt(), 130),
    ],
)
def test_exit_codes(error: BaseException, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of(raising(error), []) == code
    assert "Traceback" not in capsys.readouterr().err


def test_ctrl_c_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    exit_code_of(raising(KeyboardInterrupt()), [])
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_a_block_says_what_where_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    error = BatchError(
        "it went wrong",
        where="crm.customers, batch 7",
        hint="do this",
        counts={"null_key": 3},
        sample=[{"id": None}],
    )
    exit_code_of(raising(error), [])
    assert capsys.readouterr().err.splitlines() == [
        "error: crm.customers, batch 7: it went wrong (null_key: 3) [batch_refused]",
        "  for example: {'id': None}",
        "  what to do: do this",
    ]


def test_the_same_for_scripts(capsys: pytest.CaptureFixture[str]) -> None:
    exit_code_of(raising(BatchError("it went wrong", counts={"null_key": 3})), ["run", "--format", "json"])
    error = json.loads(capsys.readouterr().err)["error"]
    assert (error["code"], error["counts"]) == ("batch_refused", {"null_key": 3})


def test_data_in_an_error_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    exit_code_of(raising(BatchError("bad", sample=["\x1b[2J\x9b31m\r"])), [])
    assert "\x1b" not in capsys.readouterr().err


def test_something_unexpected_is_one_block_and_the_traceback_is_for_those_who_ask(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert exit_code_of(raising(ZeroDivisionError("division\nby zero")), []) == 1
    shown = capsys.readouterr().err
    assert "ZeroDivisionError: division [unexpected]" in shown
    assert "Traceback" not in shown
    exit_code_of(raising(ZeroDivisionError("division")), ["--traceback"])
    assert "Traceback" in capsys.readouterr().err


def test_where_sparks_log_is(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    import lakebed.session

    monkeypatch.setattr(lakebed.session, "log_file", lambda: "/logs/spark-1.log")
    exit_code_of(raising(LakebedError("x")), [])
    assert "Spark's log: /logs/spark-1.log" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["show", "--format", "json"], True),
        (["show", "--format=ndjson"], True),
        (["show", "--format", "csv"], False),
        (["show", "--format"], False),
        (["--format", "json", "--format", "table"], False),
        ([], False),
    ],
)
def test_wants_json(arguments: list[str], expected: bool) -> None:  # noqa: FBT001 - a column of the table above
    assert wants_json(arguments) is expected


def test_wrong_usage(lakebed: Lakebed) -> None:
    ended = lakebed("validate", "--fromat", "json")
    assert ended.code == 2
    assert "--fromat" in ended.err
    assert "Usage: lakebed validate" in ended.err
    ended = lakebed("validat", "--format", "json")
    assert ended.code == 2
    assert json.loads(ended.err)["error"]["code"] == "usage"


def test_no_command_shows_the_help(lakebed: Lakebed) -> None:
    ended = lakebed()
    assert ended.code == 2
    assert "First steps:" in ended.out + ended.err


def test_a_reader_that_stops_reading_is_no_error() -> None:
    program = "from lakebed.cli import main; main(['schema', 'dataset'])"
    command = f'{sys.executable} -c "{program}" | head -c 10; exit ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", command], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
