"""The rules that every grounded label keeps, whichever way it comes in.

The labelling desk, imported files, Label Studio and judges all ask :func:`find_breach`. It looks at
a few facts of a label alone, so that a database can state them for a million labels at once, and
there are few enough combinations of facts to know beforehand which of them are sound.

Supported, overreach, contradicted and stale rest on a span of a document, or, when the claim says
what the system did, on an entry of its action log; unlinked rests on nothing. Stale needs a
document that no longer held on the day of the run. People also mark which part of an overreaching
claim is covered. A judge may name the document alone: what it read can be a reworded passage, whose
words stand in no document.
"""

from __future__ import annotations

from datetime import date
from functools import cache
from itertools import product
from typing import Literal, NamedTuple, get_args

from claimwise.types.rows import Verdict

# What a label rests on; "document": it names one, and no span of it.
Evidence = Literal["nothing", "document", "span", "entry"]

_IN_WORDS: dict[Evidence, str] = {
    "nothing": "nothing", "document": "a document without a span", "span": "a span",
    "entry": "a log entry",
}  # fmt: skip


class LabelFacts(NamedTuple):
    """All that the rules look at."""

    verdict: str
    is_action: bool  # the claim says what the system did
    by_judge: bool
    evidence: Evidence
    covered: bool  # a part of the claim is marked as covered
    expired: bool  # the document no longer held on the day of the run


class Breach(NamedTuple):
    """A rule that a label breaks: the field to correct, what it has, and what it should have."""

    field: str
    found: str
    expected: str

    def __str__(self) -> str:
        return f"{self.field}: found {self.found}, expected {self.expected}"


def find_breach(facts: LabelFacts) -> Breach | None:
    """Return the first rule that a grounded label breaks, or None."""
    if facts.covered and facts.verdict != "overreach":
        expected = f"none with {facts.verdict}: only an overreaching claim is covered in part"
        return Breach("covered_text", "a value", expected)
    if facts.verdict == "unlinked":
        return _check_unlinked(facts)
    breach = _check_action(facts) if facts.is_action else _check_span(facts)
    if breach is None and facts.verdict == "overreach" and not (facts.covered or facts.by_judge):
        return Breach("covered_text", "nothing", "the part of the claim that the span covers")
    return breach


@cache
def list_sound_facts() -> tuple[LabelFacts, ...]:
    """Return every combination of facts that breaks no rule."""
    both = (False, True)
    combined = product(get_args(Verdict), both, both, get_args(Evidence), both, both)
    return tuple(facts for facts in map(LabelFacts._make, combined) if find_breach(facts) is None)


def describe_breaches(count: int) -> str:
    """Say how many labels break a rule."""
    labels = "1 label breaks" if count == 1 else f"{count:,} labels break"
    return f"{labels} the labelling guide"


def describe_stored_breaches(count: int) -> str:
    """Say how many stored labels break a rule, and how they got there."""
    return f"{describe_breaches(count)} (imported with --lenient, or by an older version)"


def has_expired(valid_until: date | None, superseded_by: str | None, as_of: date) -> bool:
    """Tell whether a document was replaced, or held only until before that day."""
    return superseded_by is not None or (valid_until is not None and valid_until < as_of)


def _check_unlinked(facts: LabelFacts) -> Breach | None:
    if facts.evidence == "nothing":
        return None
    field = "source_id" if facts.evidence == "document" else "supporting_span"
    return Breach(field, _IN_WORDS[facts.evidence], "none: unlinked rests on nothing")


def _check_action(facts: LabelFacts) -> Breach | None:
    if facts.verdict == "stale":
        return Breach("verdict", "stale", "another verdict: a log entry does not expire")
    if facts.evidence != "entry":
        expected = "an entry of the answer's action log: without one, an action claim is unlinked"
        return Breach("supporting_span", _IN_WORDS[facts.evidence], expected)
    return None


def _check_span(facts: LabelFacts) -> Breach | None:
    if facts.evidence == "entry":
        expected = "the document of the span: only claims of an action rest on the action log"
        return Breach("source_id", "nothing", expected)
    if facts.evidence == "nothing" or (facts.evidence == "document" and not facts.by_judge):
        expected = f"the words of a document that show it: {facts.verdict} needs a span"
        return Breach("supporting_span", _IN_WORDS[facts.evidence], expected)
    if facts.verdict == "stale" and not facts.expired:
        expected = "one that was replaced or had expired"
        return Breach("source_id", "a document that still held on the day of the run", expected)
    return None
