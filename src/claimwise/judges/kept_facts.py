"""Does a claim that a model writes keep the facts of the piece that it stands for?

A judge may not correct what it judges: “146 meters: true” says nothing about an answer that says
200. A claim must give the piece's numbers with their units, its dates and names, and deny what
the piece denies. Names, and numbers that are part of a name, may come from the rest of the answer
or the question, since a claim says what “it” means; an exchanged one may not.

What reads numbers, dates, names and denials is what reads them for every judge (``reading.py``),
after both texts were written in one way (``text/figures.py``). Where a wording differs and the
facts do not (passive voice, synonyms, “isn't”, “two” for 2, “impossible” for “not possible”),
nothing is found. Names are told by capital letters, so not in Chinese or Japanese, and in German
not at all; opposites and prefixes are English.
"""

from __future__ import annotations

from collections.abc import Sequence

from claimwise.judges.facts import same_day
from claimwise.judges.kept_denials import choose_reference, find_reversal
from claimwise.judges.kept_names import find_exchange, find_other_name, find_other_opener, may_mean
from claimwise.judges.kept_values import (
    find_misplaced,
    find_mixture,
    find_other_code,
    find_other_date,
    find_other_number,
    find_other_share,
)
from claimwise.judges.stated_facts import StatedFacts, Surroundings, gives

CHANGED_FACT = "changed_fact"  # the code of a claim that changes a fact of its piece


class KeptFacts:
    """The facts of an answer's pieces, to hold the claims of a model against.

    Args:
        context: what a claim may take a name from: the answer and the question.
    """

    def __init__(self, context: str = "") -> None:
        self._around = Surroundings(context)
        self._read: dict[str, StatedFacts] = {}
        self._said: dict[str, StatedFacts] = {}

    def find_change(
        self, claim: str, piece: str, own: Sequence[str] = (), said: Sequence[str] = ()
    ) -> str | None:
        """Return in words what fact of its piece a claim changes, or None.

        Args:
            claim: what the model wrote.
            piece: the stretch of the answer that it stands for.
            own: the statements that our splitter finds in the piece, with pronouns resolved.
            said: all claims that the model wrote for the piece.
        """
        if any(is_same_text(claim, one) for one in (piece, *own)):
            return None
        whole = self._read_piece(piece)
        told = self._read_piece("\n".join(dict.fromkeys((piece, *own))))
        parts = [self._read_piece(one) for one in own] if len(own) > 1 else []
        read, around = self._read_claim(claim, told), self._around
        return (
            find_other_number(read, told, around)
            or find_other_date(read, told)
            or find_other_code(read, told, around.text)
            or find_other_name(read, told, around, said or (claim,))
            or find_other_opener(read, whole)
            or find_other_share(read, told)
            or find_reversal(read, choose_reference(read, whole, parts))
            or find_exchange(read, whole)
            or find_mixture(read, parts)
            or find_misplaced(claim, piece, read, whole)
        )

    def find_lost(self, own: str, said: Sequence[str]) -> str | None:
        """Return a number, date or name of a statement that no claim about it gives, or None."""
        if any(is_same_text(text, own) for text in said):
            return None
        wanted = self._read_piece(own)
        given = [self._read_claim(text, wanted) for text in said]
        return _find_lost_value(wanted, given) or _find_lost_name(wanted, given)

    def _read_piece(self, text: str) -> StatedFacts:
        found = self._read.get(text)
        if found is None:
            found = self._read[text] = StatedFacts(text)
        return found

    def _read_claim(self, text: str, piece: StatedFacts) -> StatedFacts:
        found = self._said.get(text)
        if found is None:
            found = self._said[text] = StatedFacts(text, piece.facts.language)
        return found


def is_same_text(claim: str, piece: str) -> bool:
    """Tell whether a claim is its piece to the letter, but for case and the last stop."""
    return claim == piece or claim.rstrip(".").casefold() == piece.rstrip(".").casefold()


def _find_lost_value(wanted: StatedFacts, given: Sequence[StatedFacts]) -> str | None:
    for value in wanted.values:
        if not value.is_one and not any(gives(each, value) for each in given):
            return f"no claim says {value.text}"
    for day in wanted.facts.days:
        dated = any(same_day(other, day) for each in given for other in each.facts.days)
        if not dated and not any(day.year in each.years for each in given):
            return f"no claim says {day.text}"
    return None


def _find_lost_name(wanted: StatedFacts, given: Sequence[StatedFacts]) -> str | None:
    stems = frozenset().union(*(each.facts.stem_set for each in given))
    for name in wanted.names:
        if stems.isdisjoint(name.stems) and not any(may_mean(name, each) for each in given):
            return f"no claim names {name.text}"
    return None
