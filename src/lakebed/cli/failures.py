"""Errors as people and scripts see them, and the exit codes that docs/cli.md lists."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import Any

import typer

from lakebed.cli.output import harmless, to_json
from lakebed.cli.spark import end_spark
from lakebed.errors import DependencyError, LakebedError, ManifestError, OptionsError, SetupError

OK, FAILED, WRONG, SETUP, INTERRUPTED = 0, 1, 2, 3, 130
# Typer brings its own copy of click in some versions, so its exceptions are reached through what it exports.
UsageError: Any = typer.BadParameter.__bases__[0]


@contextmanager
def as_options(hint: str | None = None) -> Iterator[None]:
    """A partition or a range that cannot be is a wrong option here, and nothing that failed."""
    try:
        yield
    except DependencyError as error:
        raise OptionsError(error.what, code=error.code, hint=error.hint or hint) from None


def exit_code_of(command: Callable[[], Any], arguments: Sequence[str]) -> int:
    """Run a command; whatever goes wrong is shown, and becomes an exit code."""
    try:
        code = int(command() or OK)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _interrupted()
    except SystemExit as ended:  # typer's answer to a reader of our output that has seen enough
        if isinstance(ended.__context__, BrokenPipeError):
            return _give_up_output()
        raise
    except Exception as error:  # noqa: BLE001 - the last line of defence: nobody shall read a traceback unasked
        return _failed(error, arguments)
    return _interrupted() if code == INTERRUPTED else code  # typer has its own way with Ctrl-C


def _failed(error: Exception, arguments: Sequence[str]) -> int:
    if isinstance(error, BrokenPipeError):  # as in `lakebed show … | head`
        return _give_up_output()
    if isinstance(error, typer.Abort):
        return _interrupted()
    as_json = wants_json(arguments)
    if isinstance(error, UsageError):
        _show_usage(error, as_json=as_json)
        return WRONG
    ours = error if isinstance(error, LakebedError) else _unexpected(error)
    show_error(ours, as_json=as_json)
    if "--traceback" in arguments:
        traceback.print_exception(error)
    return exit_code(ours)


def _interrupted() -> int:
    """Spark ends with the command; a second Ctrl-C does not wait for it."""
    with suppress(KeyboardInterrupt):
        end_spark()
    return INTERRUPTED


def exit_code(error: LakebedError) -> int:
    if isinstance(error, (ManifestError, OptionsError)):
        return WRONG
    return SETUP if isinstance(error, SetupError) else FAILED


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether `--format json` (or ndjson) stands in the arguments: also errors of the command line itself follow it."""
    formats = [after for option, after in pairwise(arguments) if option == "--format"]
    formats += [argument.partition("=")[2] for argument in arguments if argument.startswith("--format=")]
    return bool(formats) and formats[-1] in ("json", "ndjson")


def show_error(error: LakebedError, *, as_json: bool) -> None:
    """One error on standard error: as a block for people, or as a line of JSON. Says where Spark's log is, if Spark ran."""
    log = _spark_log()
    if as_json:
        print(to_json({"error": {**error.as_dict(), "spark_log": log}}), file=sys.stderr)  # noqa: T201
        return
    lines = [f"error: {error}"]
    if log:
        lines.append(f"  Spark's log: {log}")
    print(harmless("\n".join(lines)), file=sys.stderr)  # noqa: T201


def _unexpected(error: Exception) -> LakebedError:
    said = str(error).strip().splitlines() or ["no reason given"]
    return LakebedError(
        f"{type(error).__name__}: {said[0]}",
        code="unexpected",
        hint="run it again with --traceback after `lakebed` to see more; nothing half-done is left behind, so running again is safe",
    )


def _show_usage(error: Any, *, as_json: bool) -> None:
    if as_json:
        show_error(LakebedError(error.format_message(), code="usage", hint="see --help"), as_json=True)
    else:
        error.show()


def _spark_log() -> str | None:
    """Only a process that has loaded the session's module can have started Spark."""
    module = sys.modules.get("lakebed.session")
    log = module.log_file() if module else None
    return str(log) if log else None


def _give_up_output() -> int:
    """Nothing more is written, also not by Python as it ends."""
    sys.stdout = sys.__stdout__
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return OK
