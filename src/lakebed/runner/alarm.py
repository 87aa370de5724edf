"""Telling somebody that a dataset has failed: the project's own command, for the night shift."""

from __future__ import annotations

import json
import os
import subprocess

from lakebed.errors import LakebedError
from lakebed.manifest import Project
from lakebed.runner.everything_due import DueOutcome
from lakebed.runner.report import RunOutcome

SECONDS = 60
QUIET = ("waiting",)  # told before, when it failed


def sound(project: Project, ended: RunOutcome | DueOutcome | LakebedError) -> list[str]:
    """Run `on_failure` for each dataset that failed in this run, or once, without a dataset, where the whole run did; gives a sentence for each
    call that did not work."""
    if project.on_failure is None:
        return []
    if isinstance(ended, LakebedError):
        said = _call(project, None, ended)
        return [said] if said else []
    failed = [one for one in ended.failed if one.error is not None and one.error.code not in QUIET]
    return [
        said for one in failed if one.error and (said := _call(project, one.dataset, one.error)) is not None
    ]


def _call(project: Project, dataset: str | None, error: LakebedError) -> str | None:
    assert project.on_failure is not None
    about, name = (
        {"project": project.name, "dataset": dataset, "error": error.as_dict()},
        dataset or "the run",
    )
    try:
        subprocess.run(  # noqa: S602 - the owner of the project wrote it, as the rest of the manifest
            project.on_failure,
            shell=True,
            cwd=project.root,
            input=json.dumps(about, default=str) + "\n",
            env={**os.environ, "LAKEBED_DATASET": dataset or ""},
            text=True,
            errors="replace",  # what it prints may be in any encoding
            capture_output=True,
            timeout=SECONDS,
            check=True,
        )
    except subprocess.TimeoutExpired:
        return f"on_failure for {name} did not end within {SECONDS} seconds"
    except subprocess.CalledProcessError as ended:
        said = (ended.stderr or "").strip().splitlines()
        why = f": {said[-1]}" if said else ""
        return f"on_failure for {name} ended with {ended.returncode}{why}"
    return None
