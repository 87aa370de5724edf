"""What a user writes: the options of feeds and histories, and a project's files."""

from lakebed.manifest.dataset import Dataset, Files
from lakebed.manifest.derived import AtLeast, Dependency, Derived, Step, Substitution
from lakebed.manifest.envelopes import AnyEnvelope, Debezium, Dms, Envelope, Plain
from lakebed.manifest.feeds import Append, Changes, EventTimeColumn, Feed, Ledger, Snapshot, Updates
from lakebed.manifest.histories import Current, History, InitialValidFrom, Log, Versions, check_combination
from lakebed.manifest.json_schema import json_schema
from lakebed.manifest.load import load_project
from lakebed.manifest.patterns import PathPattern, compile_pattern
from lakebed.manifest.problems import Problem, ProblemsError
from lakebed.manifest.project import Project, Spark
from lakebed.manifest.shifts import Shift
from lakebed.manifest.sources import (
    FromColumn,
    FromFile,
    FromPath,
    FromSystem,
    Jdbc,
    JdbcQuery,
    LandingFiles,
    Source,
    SourceEventTime,
)

__all__ = [
    "AnyEnvelope",
    "Append",
    "AtLeast",
    "Changes",
    "Current",
    "Dataset",
    "Debezium",
    "Dependency",
    "Derived",
    "Dms",
    "Envelope",
    "EventTimeColumn",
    "Feed",
    "Files",
    "FromColumn",
    "FromFile",
    "FromPath",
    "FromSystem",
    "History",
    "InitialValidFrom",
    "Jdbc",
    "JdbcQuery",
    "LandingFiles",
    "Ledger",
    "Log",
    "PathPattern",
    "Plain",
    "Problem",
    "ProblemsError",
    "Project",
    "Shift",
    "Snapshot",
    "Source",
    "SourceEventTime",
    "Spark",
    "Step",
    "Substitution",
    "Updates",
    "Versions",
    "check_combination",
    "compile_pattern",
    "json_schema",
    "load_project",
]
