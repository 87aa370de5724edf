"""Commands as a user gives them: arguments in; exit code, standard output and standard error out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from lakebed.cli import main
from lakebed.cli.init import write_project


@pytest.fixture(autouse=True)
def _no_spark_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no JVM had been started: which tests ran before, in this process, is nobody's business."""
    monkeypatch.setattr("lakebed.session.log_file", lambda: None)


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


Lakebed = Callable[..., Outcome]


@pytest.fixture
def lakebed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Lakebed:
    """Runs a command in this process."""
    for name in ("LAKEBED_PROJECT", "LAKEBED_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: object) -> Outcome:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Outcome(ended.value.code, captured.out, captured.err)

    return run


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with what `lakebed init` writes."""
    folder = tmp_path / "shop"
    write_project(folder)
    return folder
