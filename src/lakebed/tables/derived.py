"""The table of a derived dataset: made from the first rows, written by one commit per run (D9, D15).

Every commit carries (txnAppId, txnVersion) = (the run's id, 1): Delta skips an id that it has, so a run lands once
however often it is tried, and runs may finish in any order.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from py4j.protocol import Py4JError
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, NullType, StringType, StructField, StructType

from lakebed.errors import ConflictError, DependencyError
from lakebed.history.columns import find, internal, quote_ident, same
from lakebed.manifest.dataset import Files
from lakebed.tables.data_commits import DataCommit, TableLog
from lakebed.tables.delta import DeltaTable, is_conflict
from lakebed.tables.files import writer_in_files
from lakebed.tables.place import Place
from lakebed.tables.sql import quote_text

_PLAIN_NAME = re.compile(r"[^\W\d][\w -]*")
OUTSIDE = "a row lies outside the partition of its run"
_making = threading.Lock()


@dataclass(frozen=True)
class Rows:
    """What one step gives to its target. `columns` are those that its INSERT names; none: by position."""

    frame: DataFrame
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Write:
    """How rows are written: the run's id, what its commit tells, and whether it replaces or adds."""

    run: str
    facts: Mapping[str, Any]
    mode: Literal["append", "overwrite"]
    files: Files

    def metadata(self) -> str:
        return json.dumps({"lakebed": {"run": self.run, **self.facts}}, default=str)


@dataclass(frozen=True)
class DerivedTable:
    """`column` and `value` are the target partition; both None where the dataset has none."""

    path: Path
    name: str
    column: str | None = None
    value: str | None = None

    def log(self) -> TableLog | None:
        return TableLog.of(self.path)

    def commit_of(self, run: str) -> DataCommit | None:
        """The commit of a run, if there is one; the newest are looked at first."""
        log = self.log()
        for version in reversed(log.versions if log else ()):
            assert log is not None
            commit = log.commit(version)
            if commit.run == run:
                return commit
        return None

    def write(self, spark: SparkSession, rows: Sequence[Rows], write: Write) -> DataCommit:
        """All rows in one commit. A crash before it leaves the table as it was, or made and empty; after it, done."""
        schema = self._made(spark, rows[0])
        frames = [self._shaped(one, schema) for one in rows]
        together = frames[0]
        for frame in frames[1:]:
            together = together.unionAll(frame)
        writer = (
            writer_in_files(together, write.files)
            .format("delta")
            .mode(write.mode)
            .option("txnAppId", write.run)
            .option("txnVersion", 1)
            .option("userMetadata", write.metadata())
        )
        if write.mode == "overwrite" and self.column is not None and self.value is not None:
            writer = writer.option("replaceWhere", f"{quote_ident(self.column)} = {quote_text(self.value)}")
        failure: PySparkException | Py4JError | None = None
        try:
            writer.save(str(self.path))
        except (PySparkException, Py4JError) as error:
            failure = error
        if (commit := self.commit_of(write.run)) is not None:  # also when only the answer was lost
            return commit
        raise self._explained(failure) from failure

    def _explained(self, failure: PySparkException | Py4JError | None) -> Exception:
        if failure is None or is_conflict(failure):
            return ConflictError("another writer changed the table during the run", where=self.name)
        if OUTSIDE in str(failure) or "REPLACE_WHERE_MISMATCH" in str(failure):
            what = (
                f"{OUTSIDE}: the SELECT gives all columns, and {self.column} is not {self.value} in every row"
            )
            hint = f"leave {self.column} out of the SELECT, or filter by it (D9)"
            return DependencyError(what, code="outside_partition", where=self.name, hint=hint)
        return failure

    # ---- the table itself

    def _made(self, spark: SparkSession, first: Rows) -> StructType:
        """The schema of the table, which is made from the first rows if there is none."""
        table = DeltaTable(spark, Place(str(self.path)))
        with _making:
            if self.log() is None:
                schema = self._schema_from(first)
                by = [] if self.column is None else [self._partition_column(schema)]
                table.create(schema, partition_by=by, settings={"derived": self.name}, again=False)
        self._check_partitioned()
        return table.schema()

    def _schema_from(self, rows: Rows) -> StructType:
        fields = [field for field in rows.frame.schema if not internal(field.name)]
        if rows.columns:
            pairs = zip(rows.columns, fields, strict=False)
            fields = [StructField(name, field.dataType) for name, field in pairs]
        names = [field.name.lower() for field in fields]
        odd = [name for name in names if not _PLAIN_NAME.fullmatch(name) or names.count(name) > 1]
        untyped = [field.name for field in fields if isinstance(field.dataType, NullType)]
        if odd or untyped:
            what = f"the table cannot be made: {_listed(odd)} is no name for a column, or is there twice"
            if untyped:
                what = f"the table cannot be made: {_listed(untyped)} has no type"
            hint = "name it in the SELECT (… AS name), cast it, or make the table before the first run"
            raise DependencyError(what, code="columns", where=self.name, hint=hint)
        if self.column is not None and find(self.column, names) is None:
            fields.append(StructField(self.column, StringType()))
        return StructType([StructField(field.name, field.dataType) for field in fields])

    def _partition_column(self, schema: StructType) -> str:
        assert self.column is not None
        return next(field.name for field in schema if same(field.name, self.column))

    def _check_partitioned(self) -> None:
        log = self.log()
        if log is None or log.meta is None or self.column is None:
            return
        columns = [name for name, _ in log.meta.columns]
        if find(self.column, columns) is None:
            raise DependencyError(
                f"the table is not partitioned by {self.column} (but by {_listed(columns) or 'nothing'})",
                code="not_partitioned",
                where=self.name,
                hint="move the table away, and lakebed makes it; or make it with PARTITIONED BY",
            )

    # ---- rows by position

    def _shaped(self, rows: Rows, schema: StructType) -> DataFrame:
        """The rows with exactly the table's columns: by position, as INSERT does, or by the names that it lists."""
        frame = rows.frame.drop(*[name for name in rows.frame.columns if internal(name)])
        given = [f"_lb_{place}" for place in range(len(frame.columns))]
        places = self._places(rows, [field.name for field in schema], len(given))
        found = dict(zip(places, given, strict=True))
        columns = [self._column(field, found.get(place)) for place, field in enumerate(schema)]
        return frame.toDF(*given).select(*columns)

    def _places(self, rows: Rows, names: Sequence[str], given: int) -> list[int]:
        """For each given column, its place in the table."""
        lower = [name.lower() for name in names]
        if rows.columns:
            unknown = [name for name in rows.columns if name not in lower]
            if unknown or len(rows.columns) != given or len(set(rows.columns)) != given:
                what = f"the INSERT names {_listed(rows.columns)} and gives {given} columns"
                raise self._wrong_columns(what, names)
            return [lower.index(name) for name in rows.columns]
        without = [place for place, name in enumerate(names) if self.column and same(name, self.column)]
        if given == len(names):
            return list(range(given))
        if given == len(names) - 1 and without:
            return [place for place in range(len(names)) if place not in without]
        raise self._wrong_columns(f"the SELECT gives {given} columns", names)

    def _wrong_columns(self, what: str, names: Sequence[str]) -> DependencyError:
        also = f", or these without {self.column}" if self.column else ""
        return DependencyError(
            f"{what}; the table has {len(names)}: {_listed(names)}",
            code="columns",
            where=self.name,
            hint=f"give all of them in this order{also} (D9)",
        )

    def _column(self, field: StructField, given: str | None) -> Column:
        if self.column is None or not same(field.name, self.column):
            value = F.lit(None) if given is None else F.col(given)
            return value.cast(field.dataType).alias(field.name)
        assert self.value is not None
        wanted = F.lit(self.value).cast(field.dataType)
        if given is None:
            return wanted.alias(field.name)
        mine = F.col(given).cast(field.dataType)
        # Inside the write itself: a check beforehand would see other rows than those that are written.
        checked = F.when(mine.eqNullSafe(wanted), mine).otherwise(_failing(field.dataType))
        return checked.alias(field.name)


def _failing(kind: DataType) -> Column:
    return F.raise_error(F.lit(OUTSIDE)).cast(kind)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
