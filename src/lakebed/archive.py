"""The class archive: what the JVM learns while it loads Spark's and Delta's classes, kept for the next starts.

A JVM that finds its application class-data archive needs about half the time to the first result. The archive
fits one Java and one class path, so its name carries a hash of both; its name also carries its size, because
Java crashes on one that is cut off. Its content Java checks itself (VerifySharedSpaces). Where there is no
archive that fits, a start is slower, and nothing else.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from lakebed.cache import cache_folder
from lakebed.jars import delta_jars
from lakebed.java import Java, require_java

_KEPT = 3  # archives of other environments; each has about 200 MB


def archive_options(java: Java, jars: Sequence[Path]) -> list[str]:
    """Java's options to use the archive; none if there is no archive for this Java and these jars."""
    for archive in cache_folder("classes").glob(f"{_key(java, jars)}-*.jsa"):
        if archive.stem.rpartition("-")[2] == str(archive.stat().st_size):
            return _options(archive)
    return []


def build_archive() -> bool:
    """Builds the archive unless it is there; whether there is one now. Takes half a minute."""
    java, jars = require_java(), delta_jars()
    if archive_options(java, jars):
        return True
    folder = cache_folder("classes")
    with tempfile.TemporaryDirectory(prefix="build-", dir=folder) as own:
        made = Path(own, "made.jsa")
        trained = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "lakebed.archive", str(made)], cwd=own, capture_output=True, check=False
        )
        if trained.returncode or not made.exists() or not _usable(java, made):
            return False
        made.replace(folder / f"{_key(java, jars)}-{made.stat().st_size}.jsa")
    for old in sorted(folder.glob("*.jsa"), key=lambda file: file.stat().st_mtime, reverse=True)[1 + _KEPT :]:
        old.unlink(missing_ok=True)
    return bool(archive_options(java, jars))


def _options(archive: Path) -> list[str]:
    return [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto", "-XX:+VerifySharedSpaces"]


def _usable(java: Java, archive: Path) -> bool:
    """Not every Java knows these options: better to learn that here than at a user's start."""
    tried = subprocess.run(  # noqa: S603
        [str(java.executable), *_options(archive), "-version"], capture_output=True, check=False
    )
    return tried.returncode == 0


def _key(java: Java, jars: Sequence[Path]) -> str:
    """Changes with whatever makes Java refuse the archive: another Java, another jar, a newer time of a jar."""
    from pyspark.find_spark_home import _find_spark_home  # noqa: PLC0415

    known = hashlib.sha256(f"{java.executable} {java.version}".encode())
    for jar in [*jars, *sorted(Path(_find_spark_home(), "jars").glob("*.jar"))]:
        facts = jar.stat()
        known.update(f"{jar} {facts.st_size} {facts.st_mtime_ns}\n".encode())
    return known.hexdigest()[:16]


def _train(made: Path) -> None:
    """Runs what a usual load runs, in a JVM that writes its archive when it ends."""
    from lakebed.session import end, session  # noqa: PLC0415  it looks for the archive, so it imports this module

    writes_it = {"spark.driver.extraJavaOptions": f'"-XX:ArchiveClassesAtExit={made}"'}
    spark = session(conf=writes_it | {"spark.sql.warehouse.dir": str(made.parent / "warehouse")}, short=True)
    files = made.parent / "files"
    rows = spark.range(100).selectExpr(
        "id", "id % 7 AS part", "string(id) AS name", "current_timestamp() AS seen"
    )
    rows.coalesce(1).write.option("header", True).csv(str(files / "csv"))
    rows.coalesce(1).write.json(str(files / "json"))
    rows.coalesce(1).write.parquet(str(files / "parquet"))
    spark.sql(
        "CREATE TABLE kept (id BIGINT, part BIGINT, name STRING, seen TIMESTAMP) USING delta "
        "PARTITIONED BY (part) TBLPROPERTIES (delta.enableDeletionVectors = true)"
    )
    read = spark.read.option("header", True).schema(rows.schema).csv(str(files / "csv"))
    txn = {"txnAppId": "training", "userMetadata": "{}"}
    read.write.format("delta").options(**txn, txnVersion=1).mode("append").saveAsTable("kept")
    some = spark.read.json(str(files / "json"), schema=rows.schema).where("id < 10")
    replaces = some.write.format("delta").options(**txn, txnVersion=2, replaceUsing="id").mode("overwrite")
    replaces.saveAsTable("kept")
    some.createOrReplaceTempView("some")
    spark.sql(
        "MERGE INTO kept t USING some s ON t.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *"
    )
    spark.sql("DESCRIBE HISTORY kept").count()
    newest = "row_number() OVER (PARTITION BY part ORDER BY id DESC) AS place"
    spark.table("kept").selectExpr("*", newest).where("place = 1").count()
    spark.read.parquet(str(files / "parquet")).join(some, "id", "left").groupBy("id").count().count()
    end(spark)


if __name__ == "__main__":
    _train(Path(sys.argv[1]))
