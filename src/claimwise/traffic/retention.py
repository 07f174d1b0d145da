"""Deletes the texts of old traffic, and keeps what figures rest on.

Texts are overwritten by “[deleted]”, in such a way that every rule of the store still holds: a span
stands in its source, a claim in its answer. Ids, times, verdicts and confidences stay.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from claimwise.store import Store
from claimwise.store.files import SqlFolder

DELETED = "[deleted]"
_SQL = SqlFolder("claimwise.traffic", "sql_retention")


class DeletedTexts(NamedTuple):
    """How many lost their texts."""

    answers: int
    claims: int
    sources: int
    replies: int


class _DryRunError(Exception):
    """Ends a transaction that was only a rehearsal."""


def delete_texts(
    store: Store, before: datetime, *, now: datetime | None = None, dry_run: bool = False
) -> DeletedTexts:
    """Delete the texts of traffic answered before a moment (UTC, no zone), all or nothing."""
    marked = now or datetime.now(UTC).replace(tzinfo=None)
    changed: dict[str, int] = {}
    try:
        with store.write():
            for name, sql in _SQL.items():
                params = {n: v for n, v in (("now", marked), ("before", before)) if f":{n}" in sql}
                changed[name.partition("_")[2]] = store.execute(sql, params)
            if dry_run:
                raise _DryRunError
    except _DryRunError:
        pass
    return DeletedTexts(
        answers=changed["answers_marked"],
        claims=changed["claims"],
        sources=changed["sources"],
        replies=changed["replies"],
    )
