"""Whether a source still holds, which no verifier has to guess: its dates say so."""

from __future__ import annotations

from datetime import date
from typing import Protocol

from claimwise.types.label_rules import has_expired


class Dated(Protocol):
    """A document as far as it says how long it holds."""

    @property
    def valid_until(self) -> date | None:
        """The last day on which it holds; None: no end is known."""

    @property
    def superseded_by(self) -> str | None:
        """The id of the document that has replaced it."""


def is_stale(source: Dated, as_of: date) -> bool:
    """Tell whether a source was replaced, or held only until before that day."""
    return has_expired(source.valid_until, source.superseded_by, as_of)


def explain_stale(source: Dated) -> str:
    """Return why a stale source no longer holds, as the end of a sentence."""
    if source.superseded_by is not None:
        return f"{source.superseded_by} has replaced it"
    return f"it held only until {source.valid_until}"
