"""Tells English text, which the encoder reads, from other text, which it does not."""

from __future__ import annotations

import re
from collections.abc import Sequence

from claimwise.text.languages import find_language
from claimwise.text.words import ENGLISH_ALONE, lower_letters

_FOREIGN_LETTERS = 0.25
_LOOKED_AT = 400
_WORD = re.compile(r"\w+")


def is_english(stems: Sequence[str], text: str) -> bool:
    """Tell whether a text is English as far as its letters and small words show.

    It is not when many letters are not plain Latin ones, or when small words of another language
    outnumber the English ones. Without either, as in names and tables, it passes for English.
    """
    if not text.isascii():
        letters = [c for c in text[:2000] if c.isalpha()]
        if sum(not c.isascii() for c in letters) > _FOREIGN_LETTERS * len(letters):
            return False
    words = frozenset(stems[:_LOOKED_AT])
    # Letters of another script may be a name: few of them show nothing.
    plain = lower_letters(text).encode("latin-1", "ignore").decode("latin-1")
    english = len(words & ENGLISH_ALONE)
    if find_language(plain, words, english) is None:
        return True
    # A stem can be a small word of another language: “Dallas” becomes “dalla”, which is Italian.
    written = words & frozenset(_WORD.findall(plain))
    return find_language(plain, written, english) is None
