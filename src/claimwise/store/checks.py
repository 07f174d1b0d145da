"""Finds rows that break a rule: queries that must return nothing.

A rule is a file of ``sql/checks`` about a table, written over the name ``subject``. While
importing, the subject is the incoming rows; for ``claimwise doctor`` it is the whole table. Each
offending row comes back with its place (file and line of the import), the field, what was found
and what was expected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from types import MappingProxyType
from typing import Final, NamedTuple

from claimwise.store.engine import Engine
from claimwise.store.files import SqlFolder
from claimwise.types.rows import ROW_TYPES

_CHECKS = SqlFolder("claimwise.store", "sql/checks")

MOST_AHEAD: Final = timedelta(days=1)  # of a label's time: clocks and zones differ by less

_TABLES = re.compile(r"\A-- tables: (?P<tables>[a-z_ ]+)$", re.MULTILINE)


def find_latest_time() -> datetime:
    """Return the latest time that a label given by now may carry, in UTC without a zone."""
    return datetime.now(UTC).replace(tzinfo=None) + MOST_AHEAD


class Violation(NamedTuple):
    """A row that breaks a rule; file and line are None when it is in the store already."""

    file_no: int | None
    line_no: int | None
    field: str
    found: str
    expected: str


@cache
def _checks_by_table() -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {row_type.table: [] for row_type in ROW_TYPES}
    for name, sql in _CHECKS.items():
        header = _TABLES.match(sql)
        if header is None:
            raise ValueError(f"{name}.sql: the first line must name its tables")
        for table in header["tables"].split():
            found[table].append((name, sql))
    return found


def find_violations(
    engine: Engine,
    table: str,
    subject: str,
    *,
    limit: int,
    suspects: Mapping[str, str] = MappingProxyType({}),
) -> list[Violation]:
    """Run the checks of one table over ``subject``, a select with file_no and line_no.

    Args:
        engine: the database.
        table: the table.
        subject: the rows.
        limit: how many to find at most.
        suspects: by check, the condition on rows that alone can break it.
    """
    found: list[Violation] = []
    for name, sql in _checks_by_table()[table]:
        chosen = f"{subject} where {suspects[name]}" if name in suspects else subject
        rows = engine.query(
            f"with subject as ({chosen}) select * from (\n{sql}\n) as v "
            "order by file_no, line_no limit :limit",
            {"limit": limit - len(found)},
        )
        found += [Violation(*row) for row in rows]
        if len(found) >= limit:
            break
    return found


def audit_store(engine: Engine, *, limit: int = 20) -> Iterator[tuple[str, Violation]]:
    """Run every check over everything that is stored; yield table and violation."""
    for row_type in ROW_TYPES:
        subject = f"select t.*, null as file_no, null as line_no from {row_type.table} as t"
        for violation in find_violations(engine, row_type.table, subject, limit=limit):
            yield row_type.table, violation
