"""All that an error of Spark says: its own sentence often hides the cause, which only the Java stack names."""

from __future__ import annotations


def is_spark_error(error: BaseException) -> bool:
    return type(error).__module__.startswith(("pyspark.", "py4j."))


def whole_text(error: BaseException) -> str:
    """The error's text, and those of its causes. Not for people: it is long, and may name addresses."""
    texts: list[str] = []
    found: object = error
    while found is not None and len(texts) < 10:
        texts += [str(found), str(getattr(found, "_stackTrace", "") or "")]
        found = getattr(found, "_cause", None)
    return "\n".join(texts)
