"""The source of a dataset, by what its manifest says. A new kind of source is a file beside this one and a line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lakebed.manifest import Dataset, JdbcQuery
from lakebed.sources.files import FileSource
from lakebed.sources.folders import Folder, LocalFolder, is_local, local_folder
from lakebed.sources.jdbc import JdbcSource
from lakebed.sources.remote_folder import RemoteFolder
from lakebed.sources.source import AnySource


def open_source(dataset: Dataset, landing: str, spark: Callable[[], Any]) -> AnySource:
    """The dataset's source. `spark` is called only where a look, or a reading, needs it."""
    if isinstance(dataset.source, JdbcQuery):
        return JdbcSource(dataset, spark)
    return FileSource(dataset, landing_folder(landing, spark))


def landing_folder(landing: str, spark: Callable[[], Any]) -> Folder:
    if is_local(landing):
        return LocalFolder(local_folder(landing, setting="landing"))
    return RemoteFolder(landing, spark)
