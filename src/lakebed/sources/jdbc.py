"""A database as a source: the complete result of a query, each time a run asks for it, or every so often.

A database is no file: asked twice, it may answer differently. So the rows are staged before anything is computed from
them, and a plan that is carried out late gets what the database says then. What is planned is the moment of asking;
neither address nor password is part of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from lakebed.errors import LakebedError, ManifestError, TransientError
from lakebed.manifest import Dataset, JdbcQuery
from lakebed.sources.source import Look, Rows
from lakebed.sources.spark_errors import is_spark_error, whole_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.types import StructField

POSTGRESQL_DRIVER = "org.postgresql.Driver"
_SAID = re.compile(r"(?:SQL\w*Exception|SQL\w*Error): *([^\n]+)")
_UNREACHABLE = re.compile(
    r"onnection (to .* )?refused|onnection attempt failed|UnknownHost|onnection reset|terminating connection"
    r"|I/O error occurred|starting up|shutting down|too many (clients|connections)|has been closed|ommunications link failure"
)
_LOGIN = re.compile(
    r"authentication failed|password was provided|no pg_hba|role .* does not exist|database .* does not exist"
    r"|requested authentication|Access denied|permission denied"
)
_NO_DRIVER = re.compile(r"No suitable driver|ClassNotFound|DRIVER_NOT_FOUND", re.IGNORECASE)
_COLUMN = re.compile(r"partition column|PARTITION_COLUMN|partitionColumn", re.IGNORECASE)


@dataclass(frozen=True, slots=True, order=True)
class Asked:
    """The query at a moment. Its size is not known before it is read."""

    path: str
    size: int
    modified_ns: int


class JdbcSource:
    """The query of one dataset."""

    immutable = False
    needs_spark = False

    def __init__(self, dataset: Dataset, spark: Callable[[], SparkSession]) -> None:
        assert isinstance(dataset.source, JdbcQuery)
        self._spark = spark
        self.dataset, self.source, self.jdbc = dataset, dataset.source, dataset.source.jdbc
        self._asked = False

    def input(self, path: str, size: int, modified_ns: int) -> Asked:
        return Asked(path, size, modified_ns)

    def new(self, look: Look) -> list[Asked]:
        """Once in a run: the query now, where it is due. Without `every`, it is due whenever somebody asks for a run."""
        if self._asked or (self.jdbc.every is None and not look.asked):
            return []
        now, last = look.now(), look.bookmarks.last_planned()
        if self.jdbc.every is not None and last is not None and now - last < self.jdbc.every:
            return []
        moment = int(now.timestamp() * 1_000_000) * 1000
        return [Asked(f"jdbc/{self.jdbc.table or 'query'}", 0, moment)]

    def ready(self, new: Sequence[Asked], look: Look) -> list[Asked]:  # noqa: ARG002 - a query need not settle
        """Tried before it is planned: a plan that cannot be carried out would tell a moment at which nothing was read."""
        if new:
            with self.errors():
                self._reader(self._spark()).load()
        return list(new)

    def next_batch(self, ready: Sequence[Asked]) -> list[Asked]:
        return list(ready[:1])

    def event_time(self, batch: Sequence[Asked]) -> datetime | None:  # noqa: ARG002 - it is the batch's own
        return None

    def check(self, batch: Sequence[Asked]) -> None:
        """Nothing to compare: a database is as it is."""

    def remarks(self) -> list[str]:
        return []

    def read(
        self,
        spark: SparkSession,
        batch: Sequence[Asked],
        known: Sequence[StructField] = (),  # noqa: ARG002 - a database knows its types
    ) -> Rows:
        from pyspark.sql import functions as F  # noqa: PLC0415 - without anything new, Spark is not imported
        from pyspark.sql.types import BooleanType, IntegralType  # noqa: PLC0415

        from lakebed.history.columns import FILE, RAW, col  # noqa: PLC0415
        from lakebed.sources.declared import Reader, fields_of, typed  # noqa: PLC0415

        self._asked = True  # also where the plan is that of a run before: what is read is the state of now
        declared = None if self.source.schema_ is None else fields_of(self.source.schema_)
        with self.errors():
            frame, exact = self._loaded(spark, declared or ())
        reader = Reader(self.dataset.name)
        if declared is not None:
            wanted = {f.name.lower(): f.dataType for f in declared}
            for name in exact:
                if isinstance(
                    wanted.get(name.lower()), (IntegralType, BooleanType)
                ):  # 5.00 is a whole number
                    frame = frame.withColumn(name, F.regexp_replace(col(name), r"\.0*$", ""))
            raw = frame.withColumn(RAW, F.lit(None).cast("string"))
            frame = typed(raw, declared, reader)
        return Rows(frame.withColumn(FILE, F.lit(batch[0].path)), tuple(reader.notes))

    def _loaded(self, spark: SparkSession, declared: Sequence[StructField]) -> tuple[DataFrame, list[str]]:
        """The query as Spark reads it: by one connection, or by several, each taking a range of `partition_column`. And the columns that
        are texts for once, see `_exact`."""
        jdbc = self.jdbc
        reader, exact = self._exact(self._reader(spark), declared)
        if jdbc.partition_column is None:
            return reader.load(), exact
        bounds = (jdbc.lower, jdbc.upper)
        lower, upper = bounds if jdbc.lower is not None else _bounds(reader.load(), jdbc.partition_column)
        if lower is None or upper is None:
            return reader.load(), exact
        ranges = {"lowerBound": lower, "upperBound": upper, "numPartitions": str(jdbc.partitions)}
        return reader.options(partitionColumn=jdbc.partition_column, **ranges).load(), exact

    def _exact(
        self, reader: DataFrameReader, declared: Sequence[StructField]
    ) -> tuple[DataFrameReader, list[str]]:
        """Where columns are declared, numbers come as the database writes them: Spark knows 38 digits, and guesses how many of them are
        behind the point where the database does not say. Gives the names of these columns too. What the user tells Spark of types holds."""
        from pyspark.sql.types import BooleanType, DecimalType, NumericType, StringType  # noqa: PLC0415

        from lakebed.history.columns import find, quote_ident, same  # noqa: PLC0415

        if not declared or any(same(name, "customSchema") for name in self.jdbc.options):
            return reader, []
        texts_fit = (BooleanType, NumericType, StringType)
        others = [f.name for f in declared if not isinstance(f.dataType, texts_fit)]
        others.append(self.jdbc.partition_column or "")
        exact = [
            f.name
            for f in reader.load().schema
            if isinstance(f.dataType, DecimalType) and find(f.name, others) is None
        ]
        texts = ", ".join(f"{quote_ident(name)} STRING" for name in exact)
        return (reader.option("customSchema", texts) if texts else reader), exact

    def _reader(self, spark: SparkSession) -> DataFrameReader:
        jdbc = self.jdbc
        options = {**jdbc.options, "url": jdbc.url, "fetchsize": str(jdbc.fetch_size)}
        given = {"user": jdbc.user, "password": jdbc.password, "driver": self._driver}
        options |= {name: value for name, value in given.items() if value is not None}
        if jdbc.table is None and jdbc.partition_column is None:
            asked = {"query": jdbc.query or ""}
        else:  # Spark takes a range only of something it can name: the user's own query, in brackets
            asked = {"dbtable": jdbc.table or f"({jdbc.query}) AS lakebed_query"}
        return spark.read.format("jdbc").options(**options, **asked)

    @property
    def _driver(self) -> str | None:
        return self.jdbc.driver or (POSTGRESQL_DRIVER if self.jdbc.is_postgresql else None)

    @contextmanager
    def errors(self) -> Iterator[None]:
        try:
            yield
        except LakebedError:
            raise
        except Exception as error:
            told = self._told(whole_text(error)) if is_spark_error(error) else None
            if told is None:
                raise
            raise told from None  # what Spark says may hold the address

    def _told(self, text: str) -> LakebedError | None:
        """What went wrong, in a sentence without a secret; None where it has nothing to do with the database."""
        found = _SAID.search(text)
        said, where = self._without_secrets(found[1].strip() if found else ""), self.dataset.name
        if _NO_DRIVER.search(text):
            what = f"Spark has no driver for {':'.join(self.jdbc.url.split(':')[:2])}"
            hint = "name the driver's jar in lakebed.yaml, spark.conf: {spark.jars: …}, and its class in source.jdbc.driver"
            return ManifestError(what, code="no_driver", where=where, hint=hint)
        if _UNREACHABLE.search(text):
            what, hint = (
                f"the database does not answer: {said}",
                "is it running, and are host and port right?",
            )
            return TransientError(what, code="database_unreachable", where=where, hint=hint)
        if _LOGIN.search(said):
            what, hint = (
                f"the database refuses the login: {said}",
                "check user, password and database, then run again",
            )
            return ManifestError(what, code="database_login", where=where, hint=hint)
        if _COLUMN.search(text) and not said:
            first = self._without_secrets(text.splitlines()[0])
            what = f"the result cannot be read in parts by {self.jdbc.partition_column!r}: {first}"
            hint = "partition_column must be a column of the result that holds numbers, days or times"
            return ManifestError(what, code="query_refused", where=where, hint=hint)
        if said:
            hint = "mend source.jdbc, then run again"
            return ManifestError(
                f"the database refuses the query: {said}", code="query_refused", where=where, hint=hint
            )
        return None

    def _without_secrets(self, text: str) -> str:
        for secret in (self.jdbc.password, self.jdbc.url):
            text = text.replace(secret, "…") if secret else text
        return text


def _bounds(frame: DataFrame, column: str) -> tuple[str | None, str | None]:
    """The least and the greatest value of a column, as Spark wants them; None where there is none."""
    from pyspark.sql import functions as F  # noqa: PLC0415
    from pyspark.sql.types import NumericType  # noqa: PLC0415

    from lakebed.history.columns import col, find  # noqa: PLC0415

    name = find(column, frame.columns)
    if name is None:
        raise ManifestError(
            f"the result has no column {column!r}, which it is to be read in parts by",
            code="query_refused",
            hint=f"it has {', '.join(frame.columns)}",
        )
    least, greatest = F.min(col(name)), F.max(col(name))
    if isinstance(frame.schema[name].dataType, NumericType):
        least, greatest = F.floor(least).cast("bigint"), F.ceil(greatest).cast("bigint")
    row = frame.select(least.cast("string"), greatest.cast("string")).first()
    return (row[0], row[1]) if row is not None else (None, None)
