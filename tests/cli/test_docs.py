"""docs/cli.md names every command and every option, and every help has an example."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer.main
from tests.cli.conftest import Lakebed

from lakebed.cli import failures
from lakebed.cli.app import app

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def section(name: str) -> str:
    found = re.search(rf"^### {name}\n(.*?)(?=^### |\Z)", PAGE, flags=re.DOTALL | re.MULTILINE)
    assert found, f"docs/cli.md has no section {name}"
    return found[1]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_is_on_the_page(name: str) -> None:
    text = section(name)
    assert f"`lakebed {name}" in text
    for parameter in COMMANDS[name].params:
        for option in parameter.opts:
            if option.startswith("--") and option != "--help":
                assert option in text, option


def test_global_options_are_on_the_page() -> None:
    for parameter in typer.main.get_command(app).params:
        assert f"`{parameter.opts[0]}" in PAGE


@pytest.mark.parametrize("name", ["OK", "FAILED", "WRONG", "SETUP", "INTERRUPTED"])
def test_every_exit_code_is_on_the_page(name: str) -> None:
    assert f"| {getattr(failures, name)} |" in PAGE


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_has_an_example(lakebed: Lakebed, name: str) -> None:
    ended = lakebed(name, "--help")
    assert ended.code == 0
    assert re.search(rf"Example:\n +lakebed .*\b{name}\b", ended.out)
