"""What Spark says, made short."""

from __future__ import annotations

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from lakebed.sources.spark_errors import first_sentence, is_about_reading, whole_text

STACK = """org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///in/b.csv.gz.
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.cannotReadFilesError(QueryExecutionErrors.scala:1)
Caused by: java.io.EOFException: Unexpected end of input stream
\tat org.apache.hadoop.io.compress.DecompressorStream.decompress(DecompressorStream.java:2)
"""


def test_the_innermost_cause_says_most() -> None:
    error = PySparkException("Job aborted due to stage failure: Task 0 in stage 1.0 failed")
    assert first_sentence(error) == "Job aborted due to stage failure: Task 0 in stage 1.0 failed"
    assert not is_about_reading(error)
    error._stackTrace = STACK  # type: ignore[attr-defined]
    assert first_sentence(error) == "EOFException: Unexpected end of input stream"
    assert is_about_reading(error)
    generic = Py4JError(
        "An error occurred while calling o9.load.\n: java.io.IOException: no such host\n\tat x"
    )
    assert first_sentence(generic) == "IOException: no such host"


def test_causes_are_looked_through_and_other_errors_left_alone() -> None:
    error = PySparkException("[FAILED_JDBC.CONNECTION] Couldn't connect")
    error._cause = PySparkException("password authentication failed")  # type: ignore[attr-defined]
    assert "authentication failed" in whole_text(error)
    assert not is_about_reading(ValueError("corrupt"))
