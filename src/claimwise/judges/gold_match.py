"""Compares an answer with the gold answer by rule: right, wrong, or not to be said.

A rule can tell that an answer gives the very words, number or date of the gold answer, and that it
gives another number instead or shares no word with it. Everything in between (other words for the
same, half of it, more than it) needs a judge or a person, and is left open.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from claimwise.judges.amounts import Amount, agree, comparable, read_amounts, read_years
from claimwise.judges.facts import Facts, find_facts, same_day
from claimwise.text.words import is_common, read_stems

RULE = "gold-match-1"
"""The rule's name and version; a change of what it says raises it."""

# A gold answer of more words is a sentence: that its words occur means little.
_SHORT = 6
_ARTICLES = frozenset({"a", "an", "the"})
_WORD = re.compile(r"\w+")
_YES_NO = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)


class GoldMatch(NamedTuple):
    """What the rule says; ``correct`` is None where it can't say."""

    correct: bool | None
    reason: str


def match_gold(answer: str, gold: str) -> GoldMatch:
    """Compare an answer with its gold answer.

    Right: the same text, the same text but for case, punctuation, accents and articles, a short
    gold answer whose words stand in the answer in their order, or its number (in whatever unit) or
    date. Wrong: the other of yes and no, only other numbers of the kind, or not one content word of
    a short gold answer.
    """
    if answer.strip() == gold.strip():
        return GoldMatch(True, "the same text")
    said, wanted = _normalise(answer), _normalise(gold)
    if said == wanted:
        return GoldMatch(True, "the same but for case, punctuation and articles")
    if not said or not wanted:
        return GoldMatch(None, "nothing to compare")
    if wanted in (["yes"], ["no"]):
        return _match_yes_no(answer, wanted[0])
    if len(wanted) > _SHORT:
        return GoldMatch(None, "the gold answer is a sentence: its meaning decides")
    if _contains(said, wanted):
        return GoldMatch(True, "it holds the gold answer")
    said_facts, wanted_facts = find_facts(answer), find_facts(gold)
    return (
        _match_days(said_facts, wanted_facts)
        or _match_amounts(said_facts, wanted_facts)
        or _match_words(answer, gold)
    )


def _normalise(text: str) -> list[str]:
    """Return the words without case, accents, punctuation and articles."""
    plain = unicodedata.normalize("NFKD", text.casefold().replace("’", "'").replace("'s", ""))
    bare = "".join(c for c in plain if not unicodedata.combining(c))
    return [word for word in _WORD.findall(bare) if word not in _ARTICLES]


def _contains(said: Sequence[str], wanted: Sequence[str]) -> bool:
    size = len(wanted)
    return any(said[n : n + size] == wanted for n in range(len(said) - size + 1))


def _match_yes_no(answer: str, wanted: str) -> GoldMatch:
    found = _YES_NO.match(answer)
    if found is None:
        return GoldMatch(None, f"the gold answer is {wanted}, and the answer says neither")
    said = found[1].lower()
    return GoldMatch(said == wanted, f"it says {said}, the gold answer is {wanted}")


def _match_days(said: Facts, wanted: Facts) -> GoldMatch | None:
    """Compare the one date of a gold answer; None where it has none, or the answer has none."""
    if len(wanted.days) != 1 or wanted.days[0].day is None or not said.days:
        return None
    day = wanted.days[0]
    if any(same_day(day, found) for found in said.days):
        return GoldMatch(True, f"it gives the date {day.text}")
    if all(found.day is None for found in said.days):
        return GoldMatch(None, f"it gives the date {day.text} in part")
    return GoldMatch(False, f"it gives {said.days[0].text}, not {day.text}")


def _match_amounts(said: Facts, wanted: Facts) -> GoldMatch | None:
    """Compare the one number or year of a gold answer; None where it is about something else."""
    gold = _read_all(wanted)
    if len(gold) != 1 or _has_other_words(wanted.text, gold[0]):
        return None
    given = [amount for amount in _read_all(said) if comparable(gold[0], amount)]
    if not given:
        return None
    if any(agree(gold[0], amount) for amount in given):
        return GoldMatch(True, f"it gives the number {gold[0].text.strip()}")
    return GoldMatch(False, f"it gives {given[0].text.strip()}, not {gold[0].text.strip()}")


def _read_all(facts: Facts) -> list[Amount]:
    return [*read_amounts(facts), *read_years(facts)]


def _has_other_words(text: str, amount: Amount) -> bool:
    rest = text[: amount.start] + " " + text[amount.end :]
    return any(not is_common(stem) for stem in read_stems(rest))


def _match_words(answer: str, gold: str) -> GoldMatch:
    wanted = {stem for stem in read_stems(gold) if not is_common(stem)}
    if wanted and wanted.isdisjoint(read_stems(answer)):
        return GoldMatch(False, "it has no word of the gold answer")
    return GoldMatch(None, "it has some words of the gold answer")
