"""Tells English text, which the encoder reads, from other text, which it does not."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from claimwise.judges.words import find_stem, is_common

_FOREIGN_LETTERS = 0.25
_LOOKED_AT = 400
# Small words of English that other languages write alike: they tell nothing.
_SHARED = frozenset(
    ("a", "am", "an", "as", "at", "die", "do", "for", "had", "has", "he", "her", "i", "in", "is",
     "me", "no", "of", "on", "or", "over", "per", "s", "so", "to", "under", "us", "was", "we")
)  # fmt: skip


def is_english(stems: Sequence[str], text: str) -> bool:
    """Tell whether a text is English as far as its letters and small words show.

    It is not when many letters are not plain Latin ones, or when small words of other languages
    outnumber the English ones. Without either, as in names and tables, it passes for English.
    """
    if not text.isascii():
        letters = [c for c in text[:2000] if c.isalpha()]
        if sum(not c.isascii() for c in letters) > _FOREIGN_LETTERS * len(letters):
            return False
    sample = stems[:_LOOKED_AT]
    foreign = sum(stem in _load_foreign() for stem in sample)
    english = sum(is_common(stem) and stem not in _SHARED for stem in sample)
    return foreign < 2 or foreign <= english


@cache
def _load_foreign() -> frozenset[str]:
    """Read the commonest small words of languages in Latin letters that English does not share."""
    text = (files("claimwise.judges") / "data" / "foreign_words.txt").read_text(encoding="utf-8")
    return frozenset(stem for stem in map(find_stem, text.split()) if not is_common(stem))
