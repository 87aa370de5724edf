"""A landing folder in any file system that Spark reads: s3a, abfss, gs, hdfs … Listed by Spark's `binaryFile` source, which
reads no content as long as nobody asks for it (decision 11 of docs/architecture.md)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lakebed.errors import ManifestError
from lakebed.sources.folders import FoundFile, unfinished

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(//[^/]*)?")


class RemoteFolder:
    """A folder by its URL. Spark is asked for at the first look."""

    needs_spark = True

    def __init__(self, url: str, spark: Callable[[], SparkSession]) -> None:
        self.url, self.spark = url.rstrip("/"), spark
        self._root = _SCHEME.sub("", self.url, count=1)

    def walk(self, start: str) -> Iterator[FoundFile]:
        found = self._listed([self.address(start).rstrip("/")], recursive=True)
        if found is None and start:
            found = iter(()) if self._listed([self.url], recursive=False) is not None else None
        if found is None:
            raise ManifestError(
                "the landing folder does not exist, or nothing is in it",
                code="landing_missing",
                where=self.url,
                hint="name the right one in `landing`",
            )
        for file in found:
            if not any(unfinished(part) for part in file.path[len(start) :].split("/")):
                yield file

    def now(self, paths: Sequence[str]) -> dict[str, FoundFile]:
        found = self._listed([escaped(self.address(path)) for path in paths], recursive=False)
        if found is None:  # one of them is gone, and Spark names none of the others
            each = [self._listed([escaped(self.address(path))], recursive=False) for path in paths]
            return {file.path: file for one in each if one is not None for file in one}
        return {file.path: file for file in found}

    def has(self, path: str) -> bool:
        # Of a name that begins with _ or . Spark shows no rows, and yet complains where nothing has that name.
        return self._listed([escaped(self.address(path))], recursive=False) is not None

    def address(self, path: str) -> str:
        return f"{self.url}/{path}"

    def local(self, path: str) -> Path | None:  # noqa: ARG002 - none is on this machine
        return None

    def _listed(self, addresses: list[str], *, recursive: bool) -> Iterator[FoundFile] | None:
        """The files there; None where there is nothing of that name."""
        from pyspark.errors import AnalysisException  # noqa: PLC0415 - known only once Spark is wanted

        try:
            return self._files(self._frame(addresses, recursive=recursive))
        except AnalysisException as error:
            if error.getCondition() != "PATH_NOT_FOUND":
                raise
            return None

    def _frame(self, addresses: list[str], *, recursive: bool) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: PLC0415

        reader = self.spark().read.format("binaryFile").option("recursiveFileLookup", str(recursive).lower())
        time = F.unix_millis("modificationTime").alias("time")
        return reader.load(addresses).select("path", "length", time)

    def _files(self, frame: DataFrame) -> Iterator[FoundFile]:
        prefix = f"{self._root}/"
        return (
            FoundFile(_SCHEME.sub("", path, count=1).removeprefix(prefix), size, millis * 1_000_000)
            for path, size, millis in frame.toLocalIterator()
        )


def escaped(address: str) -> str:
    """A path that Spark does not take for a pattern."""
    return "".join(f"\\{sign}" if sign in "\\[]{}*?" else sign for sign in address)
