"""Reads what someone searches for, and tells whether a text holds it, as the index would."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

_PART = re.compile(r'"([^"]*)"?|([^\s"]+)')
_WORD = re.compile(r"[^\W_]+")
_SHORTEST_START: Final = 3  # letters: shorter words are found as whole words only
_MOST_WORDS: Final = 20


class SearchPart(NamedTuple):
    """Words that stand side by side."""

    words: Sequence[str]
    starts: bool  # the last word may go on


def read_search(search: str) -> list[SearchPart]:
    """Return the words and phrases of a search; a part without any letter or digit is dropped."""
    parts: list[SearchPart] = []
    for quoted, plain in _PART.findall(search):
        words = _WORD.findall((quoted or plain).lower())
        if words:
            starts = not quoted and len(words[-1]) >= _SHORTEST_START
            parts.append(SearchPart(words[:_MOST_WORDS], starts))
    return parts[:_MOST_WORDS]


def write_fts5(parts: Sequence[SearchPart]) -> str:
    """Return a search in the language of SQLite's full-text index."""
    return " AND ".join(f'"{" ".join(p.words)}"{" *" if p.starts else ""}' for p in parts)


def holds_words(claim_text: str | None, question: str | None, words: str) -> bool:
    """Tell whether a claim or its question holds all that :func:`write_fts5` has written."""
    claim, asked = (claim_text or "").lower(), (question or "").lower()
    # A loop: this is asked of thousands of claims for a page.
    for part in _read_fts5(words):  # noqa: SIM110
        if not (part.search(claim) or part.search(asked)):
            return False
    return True


@lru_cache(maxsize=64)
def _read_fts5(words: str) -> list[re.Pattern[str]]:
    patterns = []
    for part in words.split(" AND "):
        inside = r"[\W_]+".join(map(re.escape, part.rstrip(" *").strip('"').split()))
        end = "" if part.endswith("*") else r"(?![^\W_])"
        patterns.append(re.compile(rf"(?<![^\W_]){inside}{end}"))
    return patterns
