"""Makes beforehand what a start would otherwise wait for: the jars and the class archive.

`python -m lakebed.prepare` is the last step of `make setup`, and a good one in a container's recipe.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from lakebed.archive import archive_options, keep_archive, options_to_use
from lakebed.cache import cache_folder
from lakebed.errors import LakebedError
from lakebed.jars import delta_jars, postgresql_jar
from lakebed.java import require_java
from lakebed.session import end, session


def prepare() -> bool:
    """Fetches the jars and builds the archive, where they are missing; whether there is an archive now."""
    java, jars = require_java(), delta_jars()
    postgresql_jar()
    if archive_options(java, jars):
        return True
    with tempfile.TemporaryDirectory(prefix="build-", dir=cache_folder("classes")) as own:
        made = Path(own, "made.jsa")
        _run([sys.executable, "-m", "lakebed.prepare", str(made)], cwd=own)
        if not made.exists() or not _run([str(java.executable), *options_to_use(made), "-version"], cwd=own):
            return False  # not every Java can make one, or knows these options
        keep_archive(made, java, jars)
    return True


def _run(command: list[str], cwd: str) -> bool:
    return subprocess.run(command, cwd=cwd, capture_output=True, check=False).returncode == 0  # noqa: S603


def _train(made: Path) -> None:
    """Runs what a usual load runs, in a JVM that writes its archive when it ends."""
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


def main(arguments: list[str]) -> int:
    """With a path, the part that runs in a process of its own; without, all of it."""
    if arguments:
        _train(Path(arguments[0]))
        return 0
    try:
        if not prepare():
            sys.stderr.write(
                "no class archive could be made: lakebed works without, but starts more slowly\n"
            )
    except LakebedError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
