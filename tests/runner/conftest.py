from __future__ import annotations

from pathlib import Path

import pytest
from tests.runner.stand_in import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A project with one dataset, whose table is a stand-in."""
    return World(tmp_path).add("a.t")
