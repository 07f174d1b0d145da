"""One answer of a system in use or under test, as observability and evaluation tools record it."""

from __future__ import annotations

from datetime import datetime

import msgspec

from claimwise.types.rows import Origin, Stakes
from claimwise.types.rows import PassageKind as PassageKind


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """Evidence that the system was given; a trace may hold its document's id, text or both.

    What a tool returned is evidence too: an answer that repeats it rests on it.
    """

    source_id: str | None = None
    text: str | None = None
    title: str | None = None
    kind: PassageKind = "passage"


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that the system called, with its arguments as text: an entry of the action log."""

    name: str
    arguments: str | None = None
    call_id: str | None = None


class Dropped(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader left out, in words that can stand after a number: “reasoning parts”."""

    what: str
    count: int = 1


class Recognised(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader took for what, said once per file before its first answer.

    ``fields`` leads from our names to the file's: ``{"question": "user_input"}``.
    """

    reader: str
    fields: dict[str, str] = {}

    def describe(self) -> str:
        """Return it in one line: “read as ragas: question ← user_input, answer ← response”."""
        taken = ", ".join(f"{ours} ← {theirs}" for ours, theirs in self.fields.items())
        return f"read as {self.reader}: {taken}" if taken else f"read as {self.reader}"


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """One answer with its question and evidence, as a file or the store has it.

    None is “the file does not say”, everywhere: nothing is invented. ``answer`` is empty only where
    ``failure`` says why there is none.
    """

    origin: Origin
    place: str
    question: str
    answer: str
    # None: nobody recorded what was retrieved; empty: nothing was.
    passages: tuple[Passage, ...] | None = None
    actions: tuple[ToolCall, ...] = ()
    failure: str | None = None
    trace_id: str | None = None
    # Answers of one conversation are not independent: it is their cluster.
    conversation_id: str | None = None
    # What answered, where a file has the answers of several: a provider, a prompt, an experiment.
    system: str | None = None
    model: str | None = None
    happened_at: datetime | None = None
    feedback: str | None = None
    gold_answer: str | None = None
    answerable: bool | None = None
    query_type: str | None = None
    stakes: Stakes | None = None
    domain: str | None = None
    # Further columns of the row with short values, to group by.
    attributes: dict[str, str] = {}
    # What a live system says of itself: its service, environment and versions, and whatever it
    # names "claimwise.…". Only traffic looks at them.
    properties: dict[str, str] = {}
