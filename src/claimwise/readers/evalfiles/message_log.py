"""Gathers tables with one message per row into conversations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from claimwise.errors import Problem
from claimwise.readers.evalfiles.columns import ROLES, is_table
from claimwise.readers.evalfiles.records import Numbered
from claimwise.readers.evalfiles.values import normalise_name, to_id

_ROLE = ("role", "speaker", "sender")
_TEXT = ("content", "message", "text", "value")


def is_message_log(record: dict[str, Any] | Problem) -> bool:
    """Return whether a row is one message: it says who speaks, and what."""
    if isinstance(record, Problem):
        return False
    names = {normalise_name(name) for name in record}
    return bool(names.intersection(_ROLE) and names.intersection(_TEXT)) and not is_table(record)


def gather_messages(records: Iterable[tuple[int, dict[str, Any] | Problem]]) -> Numbered:
    """Yield conversations with the line of their first message; rows need not be in order of them.

    Without a column for the conversation's id, all rows are one conversation.
    """
    found: dict[str, tuple[int, list[dict[str, Any]]]] = {}
    for line, record in records:
        if isinstance(record, Problem):
            yield line, record
            continue
        names = {normalise_name(name): value for name, value in record.items()}
        ids = (to_id(names.get(name)) for name in ROLES["conversation_id"])
        key = next(filter(None, ids), "")
        found.setdefault(key, (line, []))[1].append(record)
    for key, (line, messages) in found.items():
        yield line, {"conversation_id": key or None, "messages": messages}
