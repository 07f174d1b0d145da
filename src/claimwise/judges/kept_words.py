"""The word lists by which claims are held against their pieces, as stems."""

from __future__ import annotations

from functools import cache

from claimwise.text.word_lists import read_sections
from claimwise.text.words import find_stem


@cache
def load_kept_words(section: str) -> frozenset[str]:
    """Return the stems of a section of the file."""
    lines = _read_file()[section]
    return frozenset(find_stem(word) for line in lines for word in line.split())


@cache
def _read_file() -> dict[str, list[str]]:
    return read_sections("claimwise.judges", "data/kept_facts.txt")
