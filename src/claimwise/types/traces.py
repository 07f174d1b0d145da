"""One answer of a system in use, as observability tools record it."""

from __future__ import annotations

from datetime import datetime

import msgspec

from claimwise.types.rows import Origin


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """A passage that the system was given; a trace may hold its document's id, text or both."""

    source_id: str | None = None
    text: str | None = None


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of a system in use, as a trace or the store has it."""

    origin: Origin
    place: str
    question: str
    answer: str
    # None: nobody recorded what was retrieved; empty: nothing was.
    passages: tuple[Passage, ...] | None = None
    trace_id: str | None = None
    model: str | None = None
    happened_at: datetime | None = None
    feedback: str | None = None
    answerable: bool | None = None
