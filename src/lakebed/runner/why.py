"""Why a partition is as it is: the chain of causes back to the files that landed, told by the tables' own commits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lakebed.dependencies import Cause, Graph, Partition
from lakebed.dependencies.events import WHOLE_TABLE
from lakebed.errors import DependencyError, TableError
from lakebed.manifest import Project
from lakebed.runner.plan_files import PlanFiles
from lakebed.runner.table_logs import TableLogs
from lakebed.runner.work import no_spark
from lakebed.tables.data_commits import DataCommit

_COMMIT = re.compile(r".*@([0-9]+)#[^+]*(\+all)?")


@dataclass(frozen=True)
class Link:
    """A commit of a table, or what stands in its place (`what`), and the links that it came from. `files` are those of the
    batch that it applied."""

    table: str
    partitions: tuple[Partition, ...]
    version: int | None = None
    run: str | None = None
    at: datetime | None = None
    batch: int | None = None
    files: tuple[str, ...] = ()
    what: str | None = None
    causes: tuple[Link, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {
            "table": self.table,
            "partitions": [dict(one.values) for one in self.partitions],
            "version": self.version,
            "run": self.run,
            "at": self.at,
            "batch": self.batch,
            "files": list(self.files),
            "what": self.what,
            "causes": [one.as_dict() for one in self.causes],
        }


def why(project: Project, name: str, value: str | None) -> Link:
    """The newest run of a partition (None: of a dataset that has none), and all that led to it."""
    graph, logs = Graph.of(project.derived), TableLogs(project, no_spark)
    derived = graph.derived.get(name.lower())
    if derived is None:
        raise DependencyError(f"there is no derived dataset {name!r}", code="unknown_dataset")
    if (value is None) != (derived.partition_column is None):
        has = "no partitions" if value is not None else f"partitions by {derived.partition_column}"
        raise DependencyError(f"{derived.name} has {has}", code="usage", hint="see --partition")
    log = logs.log(derived.name)
    newest: DataCommit | None = None
    for version, facts in log.told() if log else ():
        if "run" in facts and next(iter((facts["partition"] or {}).values()), None) == value:
            assert log is not None
            newest = log.commit(version)
    if newest is None:
        what = f"no run of {derived.name} {value or ''} is in its table".replace("  ", " ")
        raise TableError(what, code="never_computed", hint="see `lakebed waiting` and `lakebed dead`")
    return _run_link(logs, derived.name, newest)


def _run_link(logs: TableLogs, table: str, commit: DataCommit) -> Link:
    partition = commit.facts.get("partition")
    here = (Partition(tuple(partition.items())),) if partition else (WHOLE_TABLE,)
    causes = tuple(_cause_link(logs, Cause.from_dict(one)) for one in commit.facts["causes"])
    return Link(table, here, commit.version, commit.run, commit.at, causes=causes)


def _cause_link(logs: TableLogs, cause: Cause) -> Link:
    """The commit that an event was; a run by hand, or a commit whose log is gone, is told as such."""
    log = logs.log(cause.table)
    found = _COMMIT.fullmatch(cause.event)
    if found and log is not None and int(found[1]) in log.versions:
        commit = log.commit(int(found[1]))
        what = "it was not known what had changed, so everything counted as touched" if found[2] else None
        batch = commit.facts.get("batch")
        files = _files(logs, cause.table, commit.facts)
        return Link(cause.table, cause.partitions, commit.version, None, commit.at, batch, files, what)
    for version, facts in log.told() if log is not None else ():
        if facts.get("run") == cause.event:
            assert log is not None
            return _run_link(logs, cause.table, log.commit(version))
    by_hand = cause.event.partition(":")[0] if ":" in cause.event else None
    what = f"asked for by hand ({by_hand})" if by_hand else f"the commit {cause.event} is gone from the log"
    return Link(cause.table, cause.partitions, what=what)


def _files(logs: TableLogs, table: str, facts: Mapping[str, Any]) -> tuple[str, ...]:
    """The inputs of a batch: from its plan beside the table, else from its commit."""
    number = facts.get("batch")
    if number is None:
        return ()
    plans = PlanFiles.beside(logs.folder(table))
    if plans.path(number).is_file():
        return tuple(one.path for one in plans.read(number).inputs)
    return tuple(str(one.get("path")) for one in facts.get("inputs", ()))
