"""What a stretch of an answer is: a fact, an action, or no claim and why.

Phrases (``phrases.txt``) are tried on the plain words in small letters, which takes half the time
of patterns that ignore case; what none of them knows is a fact. They are English, with the
commonest refusals and actions in Chinese and Japanese.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from claimwise.decompose.words import expand_phrases
from claimwise.types.rows import ClaimType
from claimwise.types.verdicts import NotAClaim


class Kind(NamedTuple):
    """The type of a claim, and for ``non_factual`` the reason."""

    claim_type: ClaimType
    reason: NotAClaim | None = None


FACT = Kind("factual")
ACTION = Kind("action")


_OPENER = rf"(?:{expand_phrases('openers')}[,.!]? )*"
_APOLOGY = (
    r"(?:(?:i am|i'm|we're|we are)? ?(?:very |so |really )?(?:sorry|afraid)"
    r"(?:,? but|,| that)? )?"
)
_REFUSAL = re.compile(_OPENER + _APOLOGY + expand_phrases("refusal"))
_REFUSAL_ANYWHERE = re.compile(expand_phrases("refusal_anywhere"))
_HEDGE = re.compile(_OPENER + expand_phrases("hedge") + r"[.!…]*$")
_FRAMING = re.compile(_OPENER + expand_phrases("framing") + r"[.,!:…]*$")
_OPINION = re.compile(expand_phrases("opinion"))
_ACTION = re.compile(_OPENER + expand_phrases("action"))
_ACTION_ANYWHERE = re.compile(expand_phrases("action_anywhere"))
_BY_COMPANY = re.compile(_OPENER + r"we\b")
_FOR_USER = re.compile(expand_phrases("for_user"))
_NUMBER = re.compile(r"(?<![A-Za-z\d])\d")  # not that of a name: “X2”
_QUESTION = re.compile(r"[?？؟][\"'”’»」』)）*\s]*$")
_BELIEF = re.compile(r"(?:i|we) (?:think|believe|feel|guess|suppose|find)\b(.*)", re.IGNORECASE)
# What is left to check after “I think”: a number, a name, a past event.
_CHECKABLE = re.compile(r"\d|(?<!^)\b[A-Z][a-z]|\b(?:was|were|has|had)\b")


def classify(wording: str) -> Kind:
    """Return what a clause is.

    Promises (“I'll open a ticket”) are framing: nothing can be checked yet. “We will refund you
    within 5 days” is a policy, so a fact. A hedged statement stays a fact; “I think” makes an
    opinion only of what holds nothing to check (no number, name or past event).
    """
    text = _plain(wording)
    small = text.lower()
    if _QUESTION.search(small):
        return Kind("non_factual", "question")
    if _is_action(small):
        return ACTION
    if _is_refusal(small):
        return Kind("non_factual", "refusal")
    if _HEDGE.match(small):
        return Kind("non_factual", "hedge")
    if _is_opinion(text, small):
        return Kind("non_factual", "opinion")
    if _FRAMING.match(small) or not any(char.isalnum() for char in small):
        return Kind("non_factual", "framing")
    return FACT


def is_opinion(wording: str) -> bool:
    """Tell whether ``classify`` finds an opinion; faster, since hardly any text is one."""
    text = _plain(wording)
    return _is_opinion(text, text.lower()) and classify(wording).reason == "opinion"


def _plain(wording: str) -> str:
    return " ".join(wording.split()).replace("’", "'")


# Phrases that count anywhere are Chinese and Japanese: ASCII need not be searched for them.


def _is_refusal(small: str) -> bool:
    if _REFUSAL.match(small):
        return True
    return not small.isascii() and _REFUSAL_ANYWHERE.search(small) is not None


def _is_action(small: str) -> bool:
    if not small.isascii() and _ACTION_ANYWHERE.search(small):
        return True
    if not _ACTION.match(small):
        return False
    return not _BY_COMPANY.match(small) or _FOR_USER.search(small) is not None


def _is_opinion(text: str, small: str) -> bool:
    if not _NUMBER.search(small) and _OPINION.search(small):
        return True
    belief = _BELIEF.match(text)
    return belief is not None and not _CHECKABLE.search(belief.group(1).lstrip())
