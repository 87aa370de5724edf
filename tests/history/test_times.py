"""G3: texts and numbers as times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from lakebed.history.times import spark_time

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

READ = [
    ("1704067200", "epoch_s", "2024-01-01 00:00:00"),
    ("1704067200000", "epoch_s", None),  # milliseconds: the year 55970
    ("1704067200000000", "epoch_s", None),  # microseconds: too many seconds for any time
    ("1704067200000000000", "epoch_ms", None),
    ("1704067200000001", "epoch_us", "2024-01-01 00:00:00.000001"),
    ("31.12.68", "%d.%m.%y", "2068-12-31 00:00:00"),
    ("31.12.99", "%d.%m.%y", "1999-12-31 00:00:00"),
    ("29.02.72 12:30", "%d.%m.%y %H:%M", "1972-02-29 12:30:00"),
    ("2099 %y", "%Y %%y", "2099-01-01 00:00:00"),
    ("[2024-01-31]", "[%Y-%m-%d]", "2024-01-31 00:00:00"),
    ("{2024#01}", "{%Y#%m}", "2024-01-01 00:00:00"),
    ("at 12:30 UTC, 31'12 2024", "at %H:%M UTC, %d'%m %Y", "2024-12-31 12:30:00"),
    ("20240131T123000Z", "%Y%m%dT%H%M%SZ", "2024-01-31 12:30:00"),
    ("2024-02-31", "%Y-%m-%d", None),
]


def test_G3_a_text_that_does_not_fit_is_null_and_never_an_error(spark: SparkSession) -> None:
    read = [spark_time(F.lit(text), format_).cast("string") for text, format_, _ in READ]
    (row,) = spark.range(1).select(*read).take(1)
    assert list(row) == [time for _, _, time in READ]
