"""What became of traffic: outcomes, and why an answer was not stored."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

# Received = sampled + left out + unreadable. A duplicate is an answer that came before: it is
# counted beside them. A note counts answers that are stored, with something to know about them.
# Rejected are spans and requests that never came to be part of an answer.
Outcome = Literal["sampled", "left_out", "unreadable", "duplicate", "note", "rejected"]
RECEIVED: tuple[Outcome, ...] = ("sampled", "left_out", "unreadable")

NO_RULE = ""
UNKNOWN_SYSTEM = "unknown"

# Reasons for “unreadable”, in words that can stand after a number of answers.
REASONS = {
    "call_failed": "the call failed and there is no answer",
    "clock": "the sender's clock was wrong: the time of receipt is used",
    "duplicate_span": "spans that came twice",
    "documents_not_found": "documents given by id that are not in the corpus",
    "malformed": "not readable as a trace",
    "nested_too_deeply": "nested too deeply",
    "no_answer": "no answer in the trace",
    "no_content": "the content was not recorded",
    "no_question": "no question in the trace",
    "nul_character": "a NUL character in the text",
    "redaction_failed": "the redaction function failed",
    "refused": "refused by the store's rules",
    "spans_after_the_end": "spans that came after their trace was complete",
    "too_large": "larger than the limits",
    "unfinished": "the trace ends with a tool call",
    "unknown_encoding": "an encoding that is not OTLP",
}

# What the readers of traces say is wrong, and the reason that it is counted as; the first counts.
_SAID = (
    ("the call failed", "call_failed"),
    ("nested too deeply", "nested_too_deeply"),
    ("NUL character", "nul_character"),
    ("larger than the limits", "too_large"),
    ("no question", "no_question"),
    ("has no output recorded", "no_content"),
    ("it ends with a call", "unfinished"),
    ("no answer", "no_answer"),
    ("without the span of its answer", "no_answer"),
)


def classify_problem(said: str) -> str:
    """Return the reason that a reader's complaint is counted as: foreign text is never a reason."""
    return next((reason for words, reason in _SAID if words in said), "malformed")


class CountKey(NamedTuple):
    """What is counted: a day, a system, the rule that chose, what became of it, and why."""

    day: str
    system: str
    rule: str
    outcome: Outcome
    reason: str = ""


@dataclass(slots=True)
class IngestResult:
    """What one call took in."""

    counts: Counter[CountKey] = field(default_factory=Counter)
    runs: dict[str, None] = field(default_factory=dict)  # that answers were added to
    backfilled: int = 0  # answers that sampling had left out before, and that are stored now

    def count(self, *outcomes: Outcome) -> int:
        """Return how many answers more have one of these outcomes than before."""
        return sum(number for key, number in self.counts.items() if key.outcome in outcomes)

    @property
    def stored(self) -> int:
        """How many answers came for the first time and were stored."""
        return self.count("sampled") - self.backfilled

    @property
    def left_out(self) -> int:
        """How many answers came for the first time and were left out."""
        return self.count("left_out") + self.backfilled

    def list_reasons(self, outcome: Outcome) -> dict[str, int]:
        """Return the reasons of an outcome with their numbers, the commonest first."""
        found: Counter[str] = Counter()
        for key, number in self.counts.items():
            if key.outcome == outcome and number:
                found[key.reason] += number
        return dict(found.most_common())
