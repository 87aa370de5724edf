"""What a SQL statement of a step does: it gives rows, makes a view of its own run, or writes a table (D9).

Only the start of a statement is understood, word by word, with comments and quotes taken for what they are; Spark reads
the rest. A statement that is not known here counts as one that may write anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["rows", "insert", "view", "write", "setting", "unknown"]

_TOKEN = re.compile(
    r"""(?P<skip>\s+|--[^\n]*|/\*.*?\*/)
      | (?P<text>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
      | (?P<name>`(?:[^`]|``)*`)
      | (?P<word>[^\W\d][\w$]*|\$\w+|\d[\w.]*)
      | (?P<mark>.)""",
    re.VERBOSE | re.DOTALL,
)
# The words before the name of the table that a statement writes.
_WRITES = (
    "CREATE OR REPLACE TABLE",
    "REPLACE TABLE",
    "CREATE TABLE IF NOT EXISTS",
    "CREATE TABLE",
    "CREATE OR REPLACE VIEW",
    "CREATE VIEW IF NOT EXISTS",
    "CREATE VIEW",
    "DROP TABLE IF EXISTS",
    "DROP TABLE",
    "TRUNCATE TABLE",
    "ALTER TABLE",
    "DROP VIEW IF EXISTS",
    "DROP VIEW",
    "MERGE WITH SCHEMA EVOLUTION INTO",
    "MERGE INTO",
    "DELETE FROM",
    "UPDATE",
    "OPTIMIZE",
    "VACUUM",
    "RESTORE TABLE",
    "RESTORE",
    "LOAD DATA",
)
_VIEWS = (
    "CREATE OR REPLACE TEMPORARY VIEW",
    "CREATE OR REPLACE TEMP VIEW",
    "CREATE TEMPORARY VIEW",
    "CREATE TEMP VIEW",
    "CACHE LAZY TABLE",
    "CACHE TABLE",
)
_SETTINGS = ("SET", "RESET", "USE", "REFRESH", "UNCACHE", "CLEAR CACHE", "ANALYZE", "DECLARE")
_ROWS = ("SELECT", "VALUES", "TABLE", "FROM")
_INSERT_INTO = ("INSERT INTO TABLE", "INSERT INTO", "INSERT OVERWRITE TABLE", "INSERT OVERWRITE")


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    start: int
    end: int

    @property
    def upper(self) -> str:
        return self.text.upper() if self.kind == "word" else ""


@dataclass(frozen=True)
class Statement:
    """`table` is what it writes, in lower case, with `database.` where the statement names one. Of an `insert`, `rows` is
    the query that it inserts, `columns` those it names, and `partition` what its PARTITION clause sets."""

    kind: Kind
    table: str | None = None
    rows: str | None = None
    columns: tuple[str, ...] = ()
    partition: tuple[tuple[str, str | None], ...] = ()

    def writes(self, database: str) -> str | None:
        """The table that it writes, in full, where the step's own database is `database`."""
        if self.table is None or "." in self.table:
            return self.table
        return f"{database.lower()}.{self.table}"


def read_statement(sql: str) -> Statement:
    """What the statement is. Never fails: what cannot be read is `unknown`."""
    text = without_end(sql)
    tokens = list(_tokens(text))
    at = _skip_parentheses(tokens)
    if at < len(tokens) and tokens[at].upper == "WITH":
        at = _after_with(tokens, at)
    word = tokens[at].upper if at < len(tokens) else ""
    several = word == "FROM" and any(token.upper == "INSERT" for token in tokens)
    if word in _ROWS and not several:  # FROM … INSERT INTO a … INSERT INTO b writes several tables
        return Statement("rows", rows=text)
    if after := _begins(tokens, at, _INSERT_INTO):
        return _insert(text, tokens, at, after)
    if after := _begins(tokens, at, _WRITES):
        table, _ = _table(tokens, after)
        return Statement("write" if table else "unknown", table)
    kinds: dict[Kind, tuple[str, ...]] = {"view": _VIEWS, "setting": _SETTINGS}
    found: list[Kind] = [kind for kind, phrases in kinds.items() if _begins(tokens, at, phrases)]
    return Statement(found[0] if found else "unknown")


def without_end(sql: str) -> str:
    """The statement without a semicolon at its end."""
    tokens = list(_tokens(sql))
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    return sql[: tokens[-1].end] if tokens else ""


def names_in(sql: str) -> set[str]:
    """Every word of a statement in lower case, and every name in backticks: whatever table it reads is among them."""
    words = {token.text.lower() for token in _tokens(sql) if token.kind == "word"}
    return words | {_plain(token) for token in _tokens(sql) if token.kind == "name"}


def _tokens(sql: str) -> Iterator[Token]:
    for found in _TOKEN.finditer(sql):
        if found.lastgroup != "skip":
            yield Token(found.lastgroup or "", found[0], found.start(), found.end())


def _skip_parentheses(tokens: list[Token]) -> int:
    """Where the statement begins: a query may stand in parentheses."""
    return next((place for place, token in enumerate(tokens) if token.text != "("), len(tokens))


def _after_with(tokens: list[Token], at: int) -> int:
    """The first word after the queries that WITH names: `WITH a AS (…), b AS (…) SELECT`."""
    depth = 0
    for place in range(at + 1, len(tokens)):
        text = tokens[place].text
        depth += (text == "(") - (text == ")")
        if depth == 0 and tokens[place].upper in (*_ROWS, "INSERT", "MERGE", "UPDATE", "DELETE"):
            return place
    return len(tokens)


def _begins(tokens: list[Token], at: int, phrases: tuple[str, ...]) -> int:
    """The place after the first of the phrases that stands here; 0 if none does."""
    for phrase in phrases:
        words = phrase.split()
        if [token.upper for token in tokens[at : at + len(words)]] == words:
            return at + len(words)
    return 0


def _table(tokens: list[Token], at: int) -> tuple[str | None, int]:
    """A name such as `db.table` or `` `db`.`table` ``, and the place after it."""
    parts: list[str] = []
    while at < len(tokens) and tokens[at].kind in ("word", "name"):
        parts.append(_plain(tokens[at]))
        at += 1
        if at >= len(tokens) or tokens[at].text != ".":
            break
        at += 1
    name = ".".join(parts).removeprefix("spark_catalog.")
    return (name or None), at


def _plain(token: Token) -> str:
    text = token.text[1:-1].replace("``", "`") if token.kind == "name" else token.text
    return text.lower()


def _insert(text: str, tokens: list[Token], at: int, after: int) -> Statement:
    """INSERT INTO [TABLE] name [PARTITION (…)] [(columns)] query. What was named by WITH before goes with the query."""
    table, place = _table(tokens, after)
    if table is None or table in ("directory", "local"):
        return Statement("unknown")
    partition: tuple[tuple[str, str | None], ...] = ()
    if place < len(tokens) and tokens[place].upper == "PARTITION":
        end = _closing(tokens, place + 1)
        partition = _settings(tokens[place + 2 : end])
        place = end + 1
    if place < len(tokens) and tokens[place].upper == "IF":  # IF NOT EXISTS
        return Statement("unknown")
    columns: tuple[str, ...] = ()
    if place < len(tokens) and tokens[place].upper in ("BY", "REPLACE"):  # BY NAME, REPLACE WHERE
        return Statement("unknown", table)
    if place < len(tokens) and tokens[place].text == "(" and _is_list(tokens, place):
        end = _closing(tokens, place)
        columns = tuple(_plain(token) for token in tokens[place + 1 : end] if token.text != ",")
        place = end + 1
    if place >= len(tokens):
        return Statement("unknown", table)
    before = text[: tokens[at].start]
    return Statement("insert", table, before + text[tokens[place].start :], columns, partition)


def _is_list(tokens: list[Token], at: int) -> bool:
    """Whether the parentheses that open here hold names and commas alone, and a query follows them."""
    end = _closing(tokens, at)
    inside = tokens[at + 1 : end]
    wanted = all((token.kind in ("word", "name")) == (place % 2 == 0) for place, token in enumerate(inside))
    is_query = bool(inside) and inside[0].upper in (*_ROWS, "WITH")
    return bool(inside) and wanted and not is_query and end + 1 < len(tokens)


def _closing(tokens: list[Token], at: int) -> int:
    """The place of the parenthesis that closes the one here; the end where none does."""
    depth = 0
    for place in range(at, len(tokens)):
        depth += (tokens[place].text == "(") - (tokens[place].text == ")")
        if depth == 0:
            return place
    return len(tokens)


def _settings(tokens: list[Token]) -> tuple[tuple[str, str | None], ...]:
    """`day = '20220101', country` as pairs of a column and its value, None where the rows tell it."""
    found: list[tuple[str, str | None]] = []
    for place, token in enumerate(tokens):
        begins = place == 0 or tokens[place - 1].text == ","
        if begins and token.kind in ("word", "name"):
            given = place + 2 < len(tokens) and tokens[place + 1].text == "="
            found.append((_plain(token), tokens[place + 2].text.strip("'\"") if given else None))
    return tuple(found)
