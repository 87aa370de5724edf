"""`lakebed run`, `retry` and `skip`: what is shown, and the exit codes. (That they load tables: tests/end_to_end.)"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Lakebed

from lakebed.cli import progress as progress_module
from lakebed.cli import run as run_module
from lakebed.cli.progress import Moving, batch_line
from lakebed.control import DeadLetter
from lakebed.errors import BatchError, LakebedError, ManifestError, SetupError
from lakebed.runner import BatchOutcome, DatasetOutcome, DueOutcome, PassOutcome, RunOutcome

REPORT = {"batch": 1, "read": 3, "applied": 2, "unchanged": 1, "late": 0, "version": 1}
DONE = BatchOutcome(
    "demo.cities", 1, ("demo/cities/2024-01-01.csv",), REPORT, notes=("the column 'x' is not read",)
)

NOTHING_DERIVED = PassOutcome()
Runs = Callable[..., None]


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    """Puts the outcome of a run in place of the run."""

    def install(
        outcome: RunOutcome | LakebedError,
        derived: PassOutcome = NOTHING_DERIVED,
        trouble: LakebedError | None = None,
    ) -> None:
        def run_everything_due(_project: object, *, progress: Any, **_rest: object) -> DueOutcome:
            if isinstance(outcome, LakebedError):
                raise outcome
            for one in outcome.datasets:
                progress.dataset_started(one.dataset)
                for batch in one.batches:
                    progress.batch_started(one.dataset, batch.number, batch.files, 0)
                    progress.batch_finished(batch)
                progress.dataset_finished(one)
            return DueOutcome(outcome, derived, trouble)

        monkeypatch.setattr(run_module, "run_everything_due", run_everything_due)

    return install


def outcome(*errors: LakebedError | None) -> RunOutcome:
    return RunOutcome(
        "shop", tuple(DatasetOutcome(f"demo.d{n}", (DONE,), error) for n, error in enumerate(errors))
    )


def test_one_line_per_batch(lakebed: Lakebed, project: Path, runs: Runs) -> None:
    runs(outcome(None))
    ended = lakebed("--project", project, "run")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err.splitlines() == [
        "demo.cities: batch 1 from demo/cities/2024-01-01.csv: 3 read, 2 applied, 1 unchanged",
        "  note: the column 'x' is not read",
        "shop: 1 batch applied",
    ]


def test_nothing_new(lakebed: Lakebed, project: Path, runs: Runs) -> None:
    runs(RunOutcome("shop", (DatasetOutcome("demo.cities"),)))
    ended = lakebed("--project", project, "run")
    assert (ended.code, ended.err) == (0, "demo.cities: nothing new\nshop: 0 batches applied\n")


def test_for_scripts_the_outcome_is_json_and_nothing_else_is_said(
    lakebed: Lakebed, project: Path, runs: Runs
) -> None:
    runs(outcome(None, BatchError("no", counts={"null_key": 1})))
    ended = lakebed("--project", project, "run", "--format", "json")
    assert (ended.code, ended.err) == (1, "")
    good, bad = json.loads(ended.out)["datasets"]
    assert good["batches"][0]["report"]["applied"] == 2
    assert (bad["state"], bad["error"]["counts"]) == ("failed", {"null_key": 1})


@pytest.mark.parametrize(
    ("errors", "code"),
    [
        ((None, None), 0),
        ((None, BatchError("x")), 1),
        ((ManifestError("x"), None), 2),
        ((ManifestError("x"), BatchError("x")), 1),
    ],
)
def test_exit_codes(lakebed: Lakebed, project: Path, runs: Runs, errors: tuple[Any, ...], code: int) -> None:
    runs(outcome(*errors))
    assert lakebed("--project", project, "run").code == code


def test_a_failed_dataset_is_a_block_with_its_name(lakebed: Lakebed, project: Path, runs: Runs) -> None:
    runs(outcome(BatchError("two rows of one key", code="duplicate_key", hint="mend the file")))
    ended = lakebed("--project", project, "run")
    assert "error: demo.d0: two rows of one key [duplicate_key]\n  what to do: mend the file\n" in ended.err
    assert ended.err.endswith("shop: 1 batch applied, 1 of 1 datasets failed\n")


def test_a_machine_without_java(lakebed: Lakebed, project: Path, runs: Runs) -> None:
    runs(SetupError("Java is missing", hint="install it"))
    assert lakebed("--project", project, "run").code == 3


def test_an_unknown_dataset(lakebed: Lakebed, project: Path) -> None:
    ended = lakebed("--project", project, "run", "demo.city")
    assert ended.code == 2
    assert "did you mean 'demo.cities'?" in ended.err


def test_on_a_terminal_each_dataset_has_a_bar_with_its_files_and_rows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress_module.progress(quiet=False) as shown:
        assert isinstance(shown, Moving)

        def bars() -> list[tuple[str, float, float | None, str]]:
            return [
                (one.description, one.completed, one.total, one.fields["now"]) for one in shown._bars.tasks
            ]

        shown.dataset_started("[red]a.b[/red]")
        shown.dataset_started("a.c")
        assert bars()[0] == ("[red]a.b[/red]", 0, None, "looking for new files")
        shown.batch_started("a.c", 2, ["x", "y", "z"], 14)
        assert bars()[1] == ("a.c", 0, 17, "0 rows; batch 2, x, y and 1 more")
        shown.batch_finished(BatchOutcome("a.c", 2, ("x", "y", "z"), {"read": 1200, "applied": 1200}))
        assert bars()[1] == ("a.c", 3, 17, "1,200 rows")
        shown.dataset_finished(DatasetOutcome("a.c", (DONE,)))
        assert [name for name, *_ in bars()] == ["[red]a.b[/red]"]
    assert "a.c: batch 2 from x, y and 1 more: 1200 read, 1200 applied" in capsys.readouterr().err


def test_a_batch_that_an_earlier_run_has_applied() -> None:
    assert (
        batch_line(BatchOutcome("a.b", 3, ("f",), {}, already_applied=True))
        == "a.b: batch 3 from f: was in the table already"
    )
    assert batch_line(BatchOutcome("a.b", 3, ("f",), {"read": 0})) == "a.b: batch 3 from f: no rows"


def test_skip_and_retry_where_no_batch_waits(lakebed: Lakebed, project: Path) -> None:
    for landed in (project / "landing").rglob("*.csv"):
        landed.unlink()
    ended = lakebed("--project", project, "skip", "demo.cities")
    assert (ended.code, ended.err) == (0, "demo.cities: no batch is waiting\n")
    told = lakebed("--project", project, "skip", "demo.cities", "--format", "json")
    assert json.loads(told.out)["skipped"] == []
    assert "no batch is waiting" in lakebed("--project", project, "retry", "demo.cities").err


def test_D11_a_failed_run_of_a_derived_dataset_is_told_by_the_code_and_fails_no_load(
    lakebed: Lakebed, project: Path, runs: Runs
) -> None:
    error = {"code": "sql", "what": "no such table", "hint": None, "where": "shop.weekly week=1, step 2"}
    at = datetime(2026, 1, 1, tzinfo=UTC)
    letter = DeadLetter("1f3a" * 8, "shop.weekly", "1", (), 2, error, at)
    runs(outcome(None), PassOutcome(dead=(letter,)))
    ended = lakebed("--project", project, "run")
    assert ended.code == 1
    assert "error: shop.weekly week=1, step 2: no such table [sql]" in ended.err
    assert "dead letter 1f3a1f3a1f3a" in ended.err
    assert "shop: 1 batch applied, 1 failed" in ended.err
    told = json.loads(lakebed("--project", project, "run", "--format", "json").out)
    assert told["datasets"][0]["state"] == "done"
    assert told["derived"]["dead"][0]["step"] == 2


def test_datasets_that_failed_are_told_also_where_the_computing_breaks_off(
    lakebed: Lakebed, project: Path, runs: Runs
) -> None:
    with (project / "lakebed.yaml").open("a") as manifest:
        manifest.write('on_failure: echo "$LAKEBED_DATASET" >> told\n')
    runs(outcome(BatchError("bad rows", code="bad_rows")), trouble=LakebedError("no tables", code="disk"))
    ended = lakebed("--project", project, "run")
    assert ended.code == 1
    assert ["bad rows" in ended.err, "no tables" in ended.err] == [True, True]
    assert (project / "told").read_text() == "demo.d0\n\n"
