"""A warehouse folder as Spark's catalog, so that `database.table` means the same in SQL as in a manifest.

Only for the catalog that Spark keeps in memory: another one (Hive, Glue, Unity) knows its tables by itself. Nothing here
writes or removes files: tables are named where they lie.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from lakebed.history.columns import internal, quote_ident
from lakebed.manifest import Versions
from lakebed.tables.data_commits import tables_in
from lakebed.tables.sql import quote_text

_CURRENT = "_current"
_named: dict[tuple[str, str], str] = {}
"""What was named by this process: (Spark's application, table) → where it lies."""
_naming = threading.Lock()


@dataclass(frozen=True)
class Catalog:
    """The tables at `<warehouse>/<database>/<table>`. `versions` are the histories of those that have a `_current` view,
    by their names in lower case."""

    warehouse: Path
    versions: dict[str, Versions]

    def enter(self, spark: SparkSession, database: str, words: Collection[str]) -> list[Path]:
        """Make `database` the session's current one, and all tables known whose names are among these words (in lower
        case); gives their folders."""
        mine = spark.conf.get("spark.sql.catalogImplementation", "in-memory") == "in-memory"
        found = {
            name: path for name, path in tables_in(self.warehouse).items() if self._is_named(name, words)
        }
        if mine:
            with _naming:
                self._database(spark, database)
                for name, path in found.items():
                    self._name(spark, name, path)
                    if name in self.versions and f"{name}{_CURRENT}".partition(".")[2] in words:
                        self._view(spark, name)
        spark.sql(f"USE {quote_ident(database)}")
        return list(found.values())

    def _is_named(self, name: str, words: Collection[str]) -> bool:
        table = name.partition(".")[2]
        return table in words or (name in self.versions and f"{table}{_CURRENT}" in words)

    def _database(self, spark: SparkSession, database: str) -> None:
        """Tables that a step makes by itself lie in the warehouse too."""
        place = quote_text(str(self.warehouse / database))
        spark.sql(f"CREATE DATABASE IF NOT EXISTS {quote_ident(database)} LOCATION {place}")

    def _name(self, spark: SparkSession, name: str, path: Path) -> None:
        key = (str(spark.conf.get("spark.app.id", "")), name)
        if _named.get(key) == str(path):
            return
        database, table = (quote_ident(part) for part in name.split("."))
        self._database(spark, name.partition(".")[0])
        if (
            key in _named
        ):  # another project of this process; a table that was only named is not removed by this
            spark.sql(f"DROP TABLE IF EXISTS {database}.{table}")
        place = quote_text(str(path))
        spark.sql(f"CREATE TABLE IF NOT EXISTS {database}.{table} USING delta LOCATION {place}")
        _named[key] = str(path)

    def _view(self, spark: SparkSession, name: str) -> None:
        """R2: the open versions that are not deleted. Made anew each time: the table may have got columns since."""
        history = self.versions[name]
        table = ".".join(quote_ident(part) for part in name.split("."))
        view = ".".join(quote_ident(part) for part in f"{name}{_CURRENT}".split("."))
        shown = ", ".join(
            quote_ident(column) for column in spark.table(table).columns if not internal(column)
        )
        flag, deleted = quote_ident(history.own("is_current")), quote_ident(history.own("is_deleted"))
        is_open = flag if history.flag is None else f"{flag} = {quote_text(history.flag[0])}"
        spark.sql(
            f"CREATE OR REPLACE VIEW {view} AS SELECT {shown} FROM {table} WHERE {is_open} AND NOT {deleted}"
        )
