"""Whether a source still holds, which no verifier has to guess: its dates say so."""

from __future__ import annotations

from datetime import date

from claimwise.types.annotation import TaskSource
from claimwise.types.rows import Source


def is_stale(source: Source | TaskSource, as_of: date) -> bool:
    """Tell whether a source was replaced, or held only until before that day."""
    expired = source.valid_until is not None and source.valid_until < as_of
    return expired or source.superseded_by is not None


def say_why_stale(source: Source | TaskSource) -> str:
    """Return why a stale source no longer holds, as the end of a sentence."""
    if source.superseded_by is not None:
        return f"{source.superseded_by} has replaced it"
    return f"it held only until {source.valid_until}"
