"""Whose claim is it? Holds what a model says that a piece of an answer claims against its words.

A model that splits an answer may make claims up, repeat one under several pieces, or pass over
what it dislikes. Content words, those that are not common, show all three.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from claimwise.judges.kept_words import load_kept_words
from claimwise.text.words import COMMON_STEMS, read_stems

_NUMBERS = load_kept_words("numbers")
# The least share of a claim's content words that must stand in the answer.
_OWN_WORDS = 0.5


class Wordings:
    """The content words of an answer's pieces.

    Args:
        pieces: the texts of all pieces.
        context: what a claim may take words from beside them: the question, the whole answer.
    """

    def __init__(self, pieces: Iterable[str], context: str = "") -> None:
        self._own = {piece: read_telling(piece) for piece in pieces}
        self._all = read_telling(context).union(*self._own.values())

    def own(self, claim: str, piece: str) -> bool:
        """Tell whether a claim is the piece's.

        It says a content word of the piece, and most of its words are the answer's: a subject
        may come from another sentence, or the question. A claim that another piece says in full,
        and this one does not, is that one's.
        """
        own, told = self._own[piece], read_telling(claim)
        if told.isdisjoint(own):
            return not told and not own
        known = told & self._all
        if len(known) < _OWN_WORDS * (len(known) + count_word_stems(told - known)):
            return False
        return known <= own or not any(known <= other for other in self._own.values())

    def takes_in(self, claim: str, piece: str) -> bool:
        """Tell whether a claim says another piece, too, of which its own says less."""
        own, told = self._own[piece], read_telling(claim)
        return any(other and other <= told and not other <= own for other in self._own.values())

    def allow(self, piece: str, claims: int) -> bool:
        """Tell whether a piece may hold so many claims: no more than it has content words."""
        return claims <= max(2, len(self._own[piece]))


@lru_cache(maxsize=256)  # a piece and its claims are looked at several times in a row
def read_telling(text: str) -> frozenset[str]:
    """Return the stems of a text's words that are not common."""
    return frozenset(read_stems(text)) - COMMON_STEMS


def measure_said_share(text: str, said: Iterable[str]) -> float:
    """Return the share of a text's content words that others say."""
    own, others = read_telling(text), [read_telling(each) for each in said]
    if not own:
        return float(bool(others))
    known = own.intersection(frozenset().union(*others))
    missing = count_word_stems(own - known)
    return len(known) / (len(known) + missing) if missing else 1.0


def count_word_stems(stems: frozenset[str]) -> int:
    """Return how many of some stems are no number: numbers have several forms (“two”, “2”)."""
    return sum(not (stem in _NUMBERS or stem[0].isdigit()) for stem in stems)
