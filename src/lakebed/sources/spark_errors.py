"""All that an error of Spark says: its own sentence often hides the cause, which only the Java stack names."""

from __future__ import annotations

import re

from lakebed.errors import BatchError, TransientError

_CAUSED = re.compile(r"^(?:Caused by)?: (?:[\w$]+\.)+([\w$]+)(?:: (.+))?$", re.MULTILINE)
_READING = re.compile(
    r"FAILED_READ_FILE|CANNOT_READ_FILE|EOFException|ZipException|ZstdIOException|not a Parquet file|Parquet(Decoding|CorruptedFile)"
    r"|Malformed|MALFORMED|TextParsingException|CharConversion|CharacterCoding|corrupt|unexpected end of (stream|file)",
    re.IGNORECASE,
)

_ACCESS = re.compile(
    r"AccessControlException|AccessDenied|Permission denied|Forbidden|Unauthorized|SlowDown|Service ?Unavailable"
    r"|SocketTimeout|SocketException|UnknownHost|NoRouteToHost|ConnectException|Connection (reset|refused)|InterruptedIO"
)


def is_spark_error(error: BaseException) -> bool:
    return type(error).__module__.startswith(("pyspark.", "py4j."))


def is_gone(error: BaseException) -> bool:
    """Whether the error is that of a JVM which is no more; such a one cannot even tell what other errors say."""
    try:
        str(error)
    except Exception as silent:  # noqa: BLE001 - whatever py4j raises then
        return is_gone(silent)
    return isinstance(error, ConnectionError) or type(error).__name__ == "Py4JNetworkError"


def whole_text(error: BaseException) -> str:
    """The error's text, and those of its causes. Not for people: it is long, and may name addresses."""
    texts: list[str] = []
    found: object = error
    while found is not None and len(texts) < 10:
        texts += [str(found), str(getattr(found, "_stackTrace", "") or "")]
        found = getattr(found, "_cause", None)
    return "\n".join(texts)


SEVERAL_VALUES = "several JSON values follow one another, and only the first would be read"
OTHER_SPELLING = (
    "records spell a column's name in different letters, large or small, and only one of them would be read"
)


def is_about_reading(error: BaseException) -> bool:
    """Whether Spark could not make sense of a file, as opposed to not getting at it."""
    if not is_spark_error(error) or is_about_access(error):
        return False
    return _own_sentence(error) is not None or _READING.search(whole_text(error)) is not None


def is_about_access(error: BaseException) -> bool:
    """Whether Spark did not get at a file: nothing is known of what is in it."""
    return is_spark_error(error) and _ACCESS.search(whole_text(error)) is not None


def first_sentence(error: BaseException) -> str:
    """What went wrong, in one line: the innermost cause that says anything, else the error's own first line."""
    if own_sentence := _own_sentence(error):
        return own_sentence
    causes = [f"{name}: {said}" if said else name for name, said in _CAUSED.findall(whole_text(error))]
    own = str(error).strip().splitlines() or [type(error).__name__]
    return (causes[-1] if causes else own[0])[:300]


def _own_sentence(error: BaseException) -> str | None:
    """What a check of lakebed's own said, which Spark carried out."""
    text = whole_text(error)
    return next((one for one in (SEVERAL_VALUES, OTHER_SPELLING) if one in text), None)


def out_of_reach(why: str, where: str, what: str = "the file") -> TransientError:
    """What cannot be looked at is not empty: taken for that, its rows or files would read as not there."""
    return TransientError(
        f"{what} cannot be reached: {why}",
        code="out_of_reach",
        where=where,
        hint="may lakebed read it, and does its store answer? Then run again: it is taken as it is",
    )


def unreadable_file(why: str, where: str) -> BatchError:
    return BatchError(
        f"the file cannot be read: {why}",
        code="unreadable_file",
        where=where,
        hint="is the file complete, and of the format that the manifest names?",
    )
