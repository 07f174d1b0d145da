"""Finds ``:name`` parameters in portable SQL and rewrites them for a driver.

Our SQL files are written once with ``:name``. SQLite reads that as it is; PostgreSQL drivers
want ``$1`` and DuckDB ``$name``. The scanner skips what only looks like a parameter: quoted
text, quoted names, comments and ``::`` casts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

_TOKEN = re.compile(
    r"""
      '(?:[^']|'')*'          # text
    | "(?:[^"]|"")*"          # quoted name
    | --[^\n]*                # comment to the end of the line
    | /\*.*?\*/               # comment
    | ::                      # cast
    | :(?P<name>[A-Za-z_]\w*)
    """,
    re.VERBOSE | re.DOTALL,
)


def find_parameters(sql: str) -> list[str]:
    """Return the names of the parameters in the order of their first use."""
    names = (match["name"] for match in _TOKEN.finditer(sql))
    return list(dict.fromkeys(name for name in names if name))


def rewrite_parameters(sql: str, style: Callable[[str], str]) -> str:
    """Return ``sql`` with every ``:name`` replaced by ``style(name)``."""
    return _TOKEN.sub(lambda match: style(match["name"]) if match["name"] else match[0], sql)


@lru_cache(maxsize=512)
def number_parameters(sql: str) -> tuple[str, list[str]]:
    """Return ``sql`` with ``$1``, ``$2``… and the names those numbers stand for."""
    names = find_parameters(sql)
    return rewrite_parameters(sql, lambda name: f"${names.index(name) + 1}"), names


def trim_statement(sql: str) -> str:
    """Return one statement without the semicolon, comments and blanks that may follow it."""
    while True:
        sql = sql.strip()
        comments = (m for m in _TOKEN.finditer(sql) if m[0].startswith(("--", "/*")))
        last = next((m for m in comments if m.end() == len(sql)), None)
        if last is not None:
            sql = sql[: last.start()]
        elif sql.endswith(";"):
            sql = sql[:-1]
        else:
            return sql
