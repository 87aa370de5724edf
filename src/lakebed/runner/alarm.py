"""Telling somebody that a dataset has failed: the project's own command, for the night shift."""

from __future__ import annotations

import json
import os
import subprocess

from lakebed.manifest import Project
from lakebed.runner.everything_due import DueOutcome
from lakebed.runner.report import DatasetOutcome, RunOutcome

SECONDS = 60
QUIET = ("waiting",)  # told before, when it failed


def sound(project: Project, outcome: RunOutcome | DueOutcome) -> list[str]:
    """Run `on_failure` for each dataset that failed in this run; gives a sentence for each call that did not work."""
    if project.on_failure is None:
        return []
    failed = [one for one in outcome.failed if one.error is not None and one.error.code not in QUIET]
    return [said for one in failed if (said := _call(project, project.on_failure, one))]


def _call(project: Project, command: str, failed: DatasetOutcome) -> str | None:
    assert failed.error is not None
    about = {"project": project.name, "dataset": failed.dataset, "error": failed.error.as_dict()}
    try:
        subprocess.run(  # noqa: S602 - the owner of the project wrote it, as the rest of the manifest
            command,
            shell=True,
            cwd=project.root,
            input=json.dumps(about, default=str) + "\n",
            env={**os.environ, "LAKEBED_DATASET": failed.dataset},
            text=True,
            errors="replace",  # what it prints may be in any encoding
            capture_output=True,
            timeout=SECONDS,
            check=True,
        )
    except subprocess.TimeoutExpired:
        return f"on_failure for {failed.dataset} did not end within {SECONDS} seconds"
    except subprocess.CalledProcessError as error:
        said = (error.stderr or "").strip().splitlines()
        why = f": {said[-1]}" if said else ""
        return f"on_failure for {failed.dataset} ended with {error.returncode}{why}"
    return None
