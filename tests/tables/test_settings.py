"""Settings of a session that are changed for a while."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lakebed.tables.settings import like, setting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "spark.sql.adaptive.coalescePartitions.parallelismFirst"


@pytest.mark.parametrize("before", [None, "true"])
def test_a_setting_is_given_back_as_it_was(spark: SparkSession, before: str | None) -> None:
    spark.conf.unset(NAME)
    if before is not None:
        spark.conf.set(NAME, before)
    was = spark.conf.get(NAME)
    with setting(spark, NAME, "false"):
        assert spark.conf.get(NAME) == "false"
    assert spark.conf.get(NAME) == was
    spark.conf.unset(NAME)


def test_the_last_who_needs_a_setting_gives_it_back(spark: SparkSession) -> None:
    was = spark.conf.get(NAME)
    one, other = setting(spark, NAME, "false"), setting(spark, NAME, "false")
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert spark.conf.get(NAME) == "false"
    other.__exit__(None, None, None)
    assert spark.conf.get(NAME) == was


def test_a_session_like_another_has_its_settings_as_they_are_now(spark: SparkSession) -> None:
    own = "spark.hadoop.of.a.user"  # a name that Spark does not know
    spark.conf.set(NAME, "false")
    spark.conf.set(own, "1")
    try:
        other = like(spark)
    finally:
        spark.conf.unset(NAME)
        spark.conf.unset(own)
    assert (other.conf.get(NAME), other.conf.get(own)) == ("false", "1")


def test_python_may_know_a_session_by_several_names(spark: SparkSession) -> None:
    from pyspark.sql import SparkSession as Session

    was, again = spark.conf.get(NAME), Session(spark.sparkContext, spark._jsparkSession)
    one, other = setting(spark, NAME, "false"), setting(again, NAME, "false")
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert spark.conf.get(NAME) == "false"
    other.__exit__(None, None, None)
    assert spark.conf.get(NAME) == again.conf.get(NAME) == was


def test_what_is_relied_on_for_a_while_is_not_copied(spark: SparkSession) -> None:
    was = spark.conf.get(NAME)
    with setting(spark, NAME, "false"):
        other = like(spark)
    assert other.conf.get(NAME) == was
    with setting(other, NAME, "false"):
        assert other.conf.get(NAME) == "false"
    assert other.conf.get(NAME) == was
