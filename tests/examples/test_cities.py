"""The cities from start to end, against the tables of seed 004 (its system time s1 on the second load is meant as s2)."""

from __future__ import annotations

import io
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from examples.cities import play
from rich.console import Console

from lakebed.cli import main
from lakebed.errors import ManifestError
from lakebed.manifest import load_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = ("op", "system_time", "event_time", "country", "city", "population")
# The seed's tables, with its s1, s2 and e1, e2; the third day is ours.
DAY_1 = [
    ("+A", "s1", "e1", "CA", "Vancouver", 2581000),
    ("+A", "s1", "e1", "US", "Seattle", 3433000),
]
DAY_2 = [
    *DAY_1,
    ("-C", "s2", "e1", "CA", "Vancouver", 2581000),
    ("+C", "s2", "e2", "CA", "Vancouver", 2606000),
]
DAY_3 = [
    *DAY_2,
    ("+A", "s3", "e3", "US", "Portland", 2753000),
    ("-R", "s3", "e1", "US", "Seattle", 3433000),
]
EVENT_TIMES = {f"2024-01-0{day}T00:00:00.000000Z": f"e{day}" for day in (1, 2, 3)}


def as_printed(history: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """A history with the seed's names of times: s1 is the first system time there is, and so on."""
    times = sorted({row["system_time"] for row in history})
    system_times = {time: f"s{number}" for number, time in enumerate(times, start=1)}
    named = [
        row | {"system_time": system_times[row["system_time"]], "event_time": EVENT_TIMES[row["event_time"]]}
        for row in history
    ]
    return [tuple(row[name] for name in COLUMNS) for row in named]


@pytest.fixture(scope="module")
def played(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[play.Day], str]:
    folder = tmp_path_factory.mktemp("demo") / "cities"
    console = Console(file=io.StringIO(), width=120)
    days = play.play(folder, console)
    assert isinstance(console.file, io.StringIO)
    return folder, days, console.file.getvalue()


def test_every_day_gives_the_seeds_table(played: tuple[Path, list[play.Day], str]) -> None:
    _, days, _ = played
    assert [day.file for day in days] == sorted(path.name for path in (play.HERE / "days").iterdir())
    assert [as_printed(day.history) for day in days] == [DAY_1, DAY_2, DAY_3]
    assert [row["offset"] for row in days[-1].history] == list(range(6))


def test_what_is_shown(played: tuple[Path, list[play.Day], str]) -> None:
    _, _, shown = played
    assert "2024-01-02.csv lands" in shown
    assert any(
        line.split()[:2] == ["5", "-R"] and line.split()[-1] == "3433000" for line in shown.splitlines()
    )


def test_the_commands_it_ends_with_work_as_printed(
    played: tuple[Path, list[play.Day], str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, _, _ = played
    commands = [line.strip() for line in play.what_next(folder).splitlines() if " --project " in line]
    assert len(commands) == 4
    outputs = []
    for command in commands:
        before, _, arguments = command.partition(" --project ")
        assert before == play.lakebed_command()
        with pytest.raises(SystemExit) as ended:
            main(shlex.split(f"--project {arguments}"))
        assert ended.value.code == 0
        outputs.append(capsys.readouterr())
    assert outputs[0].out.splitlines()[0] == "offset,op,system_time,event_time,country,city,population"
    assert len(outputs[0].out.splitlines()) == 7
    assert outputs[1].out.count(" done ") == 3
    assert "nothing new" in outputs[3].err


def test_a_folder_that_no_play_made_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "lakebed.yaml").write_text("project: mine\n")
    with pytest.raises(ManifestError, match="no earlier play made it"):
        play.prepare(tmp_path)
    assert (tmp_path / "lakebed.yaml").read_text() == "project: mine\n"


def test_an_earlier_play_is_replaced(tmp_path: Path) -> None:
    play.prepare(tmp_path / "x")
    (tmp_path / "x" / "old").touch()
    play.prepare(tmp_path / "x")
    assert not (tmp_path / "x" / "old").exists()
    assert load_project(tmp_path / "x").datasets[0].name == play.NAME
