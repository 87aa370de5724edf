"""One Delta table: created with its settings, read at a version, written by one guarded commit per batch.

Every commit carries (txnAppId, txnVersion) = (the table's own mark, the batch number): Delta skips a number it has
already, so a batch lands once however often it is tried. What happened is told by the commit's userMetadata; `attempt`
in it tells our commit from another writer's.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import DataFrame, DataFrameWriter, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from lakebed.errors import ConflictError, TableError
from lakebed.history.columns import quote_ident
from lakebed.history.types import type_text
from lakebed.manifest.dataset import Files
from lakebed.tables.commit_log import Partitions, Told, local_log, newest_commits, told_by, touched_partitions
from lakebed.tables.features import needed_for, properties_for
from lakebed.tables.files import writer_in_files
from lakebed.tables.place import Place
from lakebed.tables.settings import like, setting
from lakebed.tables.sql import quote_text

SETTINGS = "lakebed.settings"
_APP = "lakebed"
# In conditions, the table and the rows that are written: names that no column has.
TABLE, ROWS = "_lb_table", "_lb_rows"
_HIDDEN = "(redacted)"
_MATERIALIZE = "spark.databricks.delta.insertReplaceOnOrUsing.materializeSource"
_PROPERTIES = 10_000  # more than any table has


@dataclass(frozen=True)
class Commit:
    """What one commit says of itself."""

    batch: int
    attempt: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    def metadata(self) -> str:
        return json.dumps(
            {"lakebed": {"batch": self.batch, "attempt": self.attempt, **self.facts}}, default=str
        )


@dataclass(frozen=True)
class Head:
    """The newest batch of a table: its number (0 = none), what its commit told, and the table's version now."""

    batch: int = 0
    attempt: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    version: int = -1  # of the newest commit of any kind
    commit_version: int = -1  # of the newest commit that applied a batch


class DeltaTable:
    """Thin edge to one Delta table. Reads nothing until asked."""

    def __init__(self, spark: SparkSession, place: Place, files: Files | None = None) -> None:
        self.spark = spark
        self.place = place
        self.files = files

    # ---- looking

    def properties(self) -> dict[str, str] | None:
        """The table's properties and its location (key `location`), or None if it does not exist."""
        try:
            return self._shown_properties() or self._detailed_properties()
        except AnalysisException as error:
            if _is_missing(error):
                return None
            raise

    def _shown_properties(self) -> dict[str, str] | None:
        """Without counting the table's files; None where that does not tell all: the place of a table with a name, and
        values that Spark hides because they look like a secret (a column called `url` is enough)."""
        if not self.place.is_path:
            return None
        shown = self.spark.sql(f"SHOW TBLPROPERTIES {self.place.sql}").take(_PROPERTIES)
        found: dict[str, str] = {row[0]: row[1] for row in shown}
        if _HIDDEN in found.get(SETTINGS, ""):
            return None
        return {**found, "location": self.place.text}

    def _detailed_properties(self) -> dict[str, str] | None:
        row = self.spark.sql(f"DESCRIBE DETAIL {self.place.sql}").first()
        if row is None or row["format"] != "delta":
            return None  # a folder, and no table in it: a crash came before the first commit
        return {**row["properties"], "location": row["location"]}

    def read_log(self) -> None:
        """Have Delta read the table's log now; it keeps what it found for the next read or commit."""
        self.spark.sql(f"DESCRIBE DETAIL {self.place.sql}").first()

    def exists(self) -> bool:
        """Whether the table has a commit."""
        return self.head().version >= 0

    def schema(self) -> StructType:
        return self.read().schema

    def read(self, version: int | None = None) -> DataFrame:
        reader = self.spark.read.format("delta")
        if version is not None:
            reader = reader.option("versionAsOf", version)
        return reader.load(self.place.text) if self.place.is_path else reader.table(self.place.sql)

    def head(self) -> Head:
        """The newest batch that the table holds; `Head()` if the table does not exist or holds none. Raises `TableError` where somebody
        has brought the table back to a version before that batch: its commit is there, and its rows are not."""
        newest, restored_to = -1, None
        for version, facts, restored in self.commits():
            newest = max(newest, version)
            restored_to = restored if restored_to is None else restored_to
            if facts is None:
                continue
            if restored_to is not None and restored_to < version:
                raise self._restored(int(facts["batch"]), version)
            return Head(int(facts["batch"]), str(facts.get("attempt", "")), facts, newest, version)
        return Head(version=newest)

    def commits(self) -> Iterator[Told]:
        """What the commits tell, the newest first, as far back as the log goes; some may come twice."""
        log = local_log(self.place.text) if self.place.is_path else None
        return newest_commits(log) if log is not None else self._commits()

    def _restored(self, batch: int, version: int) -> TableError:
        return TableError(
            f"RESTORE has brought the table back to a version before that of batch {batch}, and its other tables hold that batch",
            code="torn_dataset",
            where=self.place.text,
            hint=f"undo it: RESTORE TABLE {self.place.sql} TO VERSION AS OF {version}. A batch is taken back by one that brings "
            "the right rows, or by removing all tables of the dataset and loading from the start",
        )

    def touched(self, version: int, columns: Sequence[str]) -> Partitions | None:
        """The partitions that this version changed rows of; None stands for the whole table."""
        properties = None if self.place.is_path else self.properties()
        log = local_log(properties["location"] if properties else self.place.text)
        return touched_partitions(log, version, columns) if columns and log is not None else None

    def _commits(self) -> Iterator[Told]:
        """The same by way of Spark: a few first, all if they tell nothing."""
        for limit in (3, 100_000):
            try:
                history = self.spark.sql(f"DESCRIBE HISTORY {self.place.sql} LIMIT {limit}")
                rows = history.select("version", "userMetadata", "operation", "operationParameters").take(
                    limit
                )
            except AnalysisException as error:
                if _is_missing(error):
                    return
                raise
            for row in sorted(rows, key=lambda row: int(row["version"]), reverse=True):
                yield told_by(row["version"], row.asDict())
            if len(rows) < limit:
                return

    # ---- writing

    def create(
        self,
        schema: StructType,
        *,
        partition_by: Sequence[str] = (),
        made: Mapping[str, str] | None = None,
        settings: Mapping[str, Any] | None = None,
        again: bool = False,
    ) -> None:
        """An empty table with these settings. A crash before its commit leaves nothing; after it, an empty table.

        `made` are text columns that Delta makes by an expression, whenever rows are written; `again` replaces a table that
        holds no batch yet.
        """
        properties = {**properties_for(schema), SETTINGS: _told(settings)}
        columns = ", ".join(f"{quote_ident(f.name)} {type_text(f.dataType)}" for f in schema)
        for name, expression in (made or {}).items():
            columns += f", {quote_ident(name)} STRING GENERATED ALWAYS AS ({expression})"
        told = ", ".join(f"{quote_text(name)} = {quote_text(value)}" for name, value in properties.items())
        parts = f" PARTITIONED BY ({', '.join(map(quote_ident, partition_by))})" if partition_by else ""
        # CREATE OR REPLACE refuses other columns where the table is a path.
        verb = "REPLACE" if again else "CREATE"
        statement = f"{verb} TABLE {self.place.sql} ({columns}) USING delta{parts} TBLPROPERTIES ({told})"
        try:
            self.spark.sql(statement)
        except AnalysisException as error:
            if not self._was_hollow(error):
                raise self._not_created(error) from error
            self.spark.sql(statement)

    def is_like(
        self,
        schema: StructType,
        made: Mapping[str, str] | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> bool:
        """Whether the table is as `create` would make it."""
        if (self.properties() or {}).get(SETTINGS) != _told(settings):
            return False
        wanted = [(f.name, type_text(f.dataType)) for f in schema] + [(name, "string") for name in made or ()]
        return [(f.name, type_text(f.dataType)) for f in self.schema()] == wanted

    def _was_hollow(self, error: AnalysisException) -> bool:
        """A crash in the first CREATE can leave folders without a file, which Delta takes for a table: they are removed."""
        log = local_log(self.place.text) if self.place.is_path else None
        if log is None or "EXIST" not in (error.getCondition() or "") or self.properties() is not None:
            return False
        if any(path.is_file() for path in log.parent.rglob("*")):
            return False
        shutil.rmtree(log.parent)
        return True

    def _not_created(self, error: AnalysisException) -> Exception:
        condition = error.getCondition() or ""
        if not any(mark in condition for mark in ("ALREADY_EXISTS", "NON_EMPTY_LOCATION")):
            return error
        if self.properties() is not None:
            return overtaken(self.place, "this one was about to make it")
        return TableError(
            "the folder holds other files, and no Delta table",
            code="foreign_table",
            where=self.place.text,
            hint="choose another place for the dataset, or move those files away",
        )

    def evolve(self, new: Sequence[StructField], wider: Sequence[StructField]) -> None:
        """Turn on the table features that these new columns, or wider types, need; nothing where none is needed."""
        for name, value in needed_for(new, wider).items():
            self.spark.sql(
                f"ALTER TABLE {self.place.sql} SET TBLPROPERTIES ({quote_text(name)} = {quote_text(value)})"
            )

    def append(self, rows: DataFrame, commit: Commit) -> Head:
        """Add rows. A table that does not exist is made by the same commit, so a crash leaves none or all of it; one with
        a name by a commit before, since Delta drops what a commit tells when it makes such a table."""
        if not self.place.is_path:
            self._make_for(rows.schema)
        writer = writer_in_files(rows, self.files).mode("append")
        return self._write(writer.options(**properties_for(rows.schema)), commit)

    def _make_for(self, schema: StructType) -> None:
        """The table exists. One without a batch, left by an attempt that died, is made anew if it is for other columns; not so a
        table with settings, which was looked at already."""
        head = self.head()
        if head.version < 0:
            self.create(schema)
        elif not head.batch and not settings_of(self.properties() or {}, self.place):
            if self.is_like(schema):
                return
            if self.head().batch:
                raise overtaken(self.place, "this one was about to make it anew")
            self.create(schema, again=True)

    def append_again(self, rows: DataFrame, batch_column: str, commit: Commit) -> Head:
        """Put these rows, or none, in the place of those that an earlier attempt at the batch appended; a crash leaves the one or the
        other. Delta knows the batch's number already and would skip this commit, so it carries a mark of its own."""
        writer = writer_in_files(rows, self.files).mode("overwrite")
        writer = writer.option("replaceWhere", f"{quote_ident(batch_column)} = {commit.batch}")
        return self._write(writer, commit, app=f"{_APP}-{commit.attempt}")

    def replace(self, rows: DataFrame, on: str, commit: Commit) -> Head:
        """Remove the rows of the table (alias `TABLE`) for which `on` holds for a row of `rows` (alias `ROWS`), and add `rows`.

        With no rows at all nothing would be removed: use `remove` then. `rows` are read several times, so they must be those
        of files that nobody changes.
        """
        writer = writer_in_files(rows.alias(ROWS), self.files).mode("overwrite")
        writer = writer.option("replaceOn", on).option("targetAlias", TABLE)
        with setting(self.spark, _MATERIALIZE, "none"):  # staged rows need no second copy
            return self._write(writer, commit)

    def _write(self, writer: DataFrameWriter, commit: Commit, app: str = _APP) -> Head:
        writer = (
            writer.format("delta")
            .option("txnAppId", app)
            .option("txnVersion", commit.batch)
            .option("userMetadata", commit.metadata())
            .option("mergeSchema", "true")
        )

        def write() -> None:
            if self.place.is_path:
                writer.save(self.place.text)
            else:
                writer.saveAsTable(self.place.sql)

        return self._committed(write, commit)

    def remove(self, staged: str, columns: Sequence[str], where: str, commit: Commit) -> Head:
        """Remove the rows whose `columns` occur in the Parquet files at `staged`, in one commit."""
        session = like(self.spark)
        session.conf.set("spark.databricks.delta.write.txnAppId", _APP)
        session.conf.set("spark.databricks.delta.write.txnVersion", str(commit.batch))
        session.conf.set("spark.databricks.delta.commitInfo.userMetadata", commit.metadata())
        same = " AND ".join(f"{TABLE}.{quote_ident(name)} = {ROWS}.{quote_ident(name)}" for name in columns)
        statement = (
            f"MERGE INTO {self.place.sql} {TABLE} USING parquet.{quote_ident(staged)} {ROWS} "
            f"ON {where + ' AND ' if where else ''}{same} WHEN MATCHED THEN DELETE"
        )
        return self._committed(lambda: session.sql(statement).count(), commit)

    def _committed(self, write: Callable[[], Any], commit: Commit) -> Head:
        """Run a commit and find out what became of it: landed (also when the answer was lost), or another's came first."""
        failure: PySparkException | Py4JError | None = None
        try:
            write()
        except (PySparkException, Py4JError) as error:
            failure = error
        head = self.head()
        if head.batch == commit.batch and head.attempt == commit.attempt:
            return head
        if failure is not None and not is_conflict(failure):
            raise failure
        raise overtaken(self.place, f"batch {commit.batch} was being applied") from failure


def overtaken(place: Place, meanwhile: str) -> ConflictError:
    """The error of the slower of two writers."""
    return ConflictError(
        f"another writer changed the table while {meanwhile}",
        where=place.text,
        hint="run again: what the other writer committed is kept, and this batch is looked at anew",
    )


def empty_frame(spark: SparkSession, schema: StructType) -> DataFrame:
    """No rows of this schema, made inside the JVM: `createDataFrame` would start a Python worker."""
    return spark.range(0).select(*[F.lit(None).cast(f.dataType).alias(f.name) for f in schema])


def is_conflict(error: Exception) -> bool:
    """Delta's own exceptions reach Python under a name of Spark's, or as whatever the JVM threw."""
    return any(mark in str(error) for mark in ("DELTA_CONCURRENT", "Concurrent", "DELTA_PROTOCOL_CHANGED"))


def _is_missing(error: AnalysisException) -> bool:
    condition = error.getCondition() or ""
    return any(
        mark in condition
        for mark in (
            "DELTA_MISSING_DELTA_TABLE",
            "DELTA_TABLE_ONLY_OPERATION",
            "DELTA_PATH_DOES_NOT_EXIST",
            "TABLE_OR_VIEW_NOT_FOUND",
            "DELTA_TABLE_NOT_FOUND",
            "SCHEMA_NOT_FOUND",
        )
    )


def _told(settings: Mapping[str, Any] | None) -> str:
    return json.dumps(settings or {}, sort_keys=True)


def settings_of(properties: Mapping[str, str], place: Place) -> dict[str, Any]:
    """The settings that the table was made with."""
    text = properties.get(SETTINGS)
    if text is None:
        raise TableError(
            "this Delta table was not made by lakebed",
            code="foreign_table",
            where=place.text,
            hint="choose another name or path for the dataset",
        )
    settings: dict[str, Any] = json.loads(text)
    return settings
