"""Decimals as Kafka Connect writes them: an unscaled number as big-endian two's complement in base64, and a scale."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F


def decimals(pairs: Column) -> Column:
    """An array of scales and bytes in base64 → an array of the numbers as text; NULL stays NULL, and so does what is
    no base64 or longer than sixteen bytes."""
    hexes = F.transform(
        pairs,
        lambda one: F.struct(
            one.getField("scale").alias("scale"),
            F.hex(F.try_to_binary(one.getField("value"), F.lit("base64"))).alias("hex"),
        ),
    )
    signed = F.transform(
        hexes,
        lambda one: F.struct(
            one.getField("scale").alias("scale"),
            (F.substring(one.getField("hex"), 1, 1) >= "8").alias("negative"),
            F.when(F.length(one.getField("hex")).between(2, 32), one.getField("hex")).alias("hex"),
        ),
    )
    sized = F.transform(
        signed,
        lambda one: F.struct(
            one.getField("scale").alias("scale"),
            one.getField("negative").alias("negative"),
            F.when(
                one.getField("negative"),
                F.translate(F.lpad(one.getField("hex"), 32, "F"), "0123456789ABCDEF", "FEDCBA9876543210"),
            )
            .otherwise(F.lpad(one.getField("hex"), 32, "0"))
            .alias("hex"),
        ),
    )
    digits = F.transform(
        sized,
        lambda one: F.struct(
            one.getField("scale").alias("scale"),
            F.when(one.getField("negative"), F.lit("-")).otherwise(F.lit("")).alias("sign"),
            _unsigned(one.getField("hex"), one.getField("negative")).cast("string").alias("digits"),
        ),
    )
    return F.transform(
        digits,
        lambda one: F.concat(one.getField("sign"), _scaled(one.getField("digits"), one.getField("scale"))),
    )


def _unsigned(hexes: Column, negative: Column) -> Column:
    """Thirty-two hexadecimal digits as a number; those of a negative one are inverted, and one short."""
    total: Column | None = None
    for start in (1, 9, 17, 25):
        word = F.conv(F.substring(hexes, start, 8), 16, 10).try_cast("decimal(20,0)")
        shifted = F.try_multiply(total, F.lit(2**32).cast("decimal(10,0)")) if total is not None else None
        total = word if shifted is None else F.try_add(shifted, word)
    assert total is not None
    return F.try_add(total, negative.cast("int").cast("decimal(1,0)"))


def _scaled(digits: Column, scale: Column) -> Column:
    """Digits with the point put where the scale says, if that is a scale that a table can have."""
    scale = F.when(scale.between(-38, 38), scale)
    padded = F.lpad(digits, F.greatest(F.length(digits), scale + 1), "0")
    return (
        F.when(
            scale > 0,
            F.concat(F.left(padded, F.length(padded) - scale), F.lit("."), F.right(padded, scale)),
        )
        .when(scale < 0, F.concat(digits, F.repeat(F.lit("0"), -scale)))
        .when(scale == 0, digits)
    )
