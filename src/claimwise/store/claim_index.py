"""The index of claims: how to search its words, and how to fill it for a store that is older."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from claimwise.store.engine import Engine
from claimwise.store.files import SqlFolder

INDEXED_SINCE: Final = 12
"""The migration that added the index; what was stored before is added once."""

_SQL = SqlFolder("claimwise.store", "sql/index")
_PART = re.compile(r'"([^"]*)"?|([^\s"]+)')
_WORD = re.compile(r"[^\W_]+")
_SHORTEST_START: Final = 3  # letters: shorter words are found as whole words only
_MOST_WORDS: Final = 20


class WordMatch(NamedTuple):
    """A search in the SQL of one database; both parts want the parameter ``words``."""

    hits: str  # selects the claim_no of every claim that holds the words
    holds: str  # a condition on a row m of claim_index, for when nearly all do
    words: str


def fill_claim_index(engine: Engine) -> None:
    """Add what is stored to an empty index, with its words."""
    engine.run_script(_SQL["fill"])


def match_words(engine_name: str, search: str) -> WordMatch | None:
    """Return how to find the claims that hold all words of a search; None where it has none.

    Words are found in the claim and in its question, in whatever case. One of three letters or
    more also finds longer words that begin with it; words in quotation marks are found as they
    stand, side by side.
    """
    parts = _read_search(search)
    if not parts:
        return None
    write = _write_tsquery if engine_name == "postgresql" else _write_fts5
    return WordMatch(
        hits=_SQL[f"match_{engine_name}"],
        holds=_SQL[f"holds_{engine_name}"],
        words=write(parts),
    )


class _Part(NamedTuple):
    words: Sequence[str]
    starts: bool  # the last word may go on


def _read_search(search: str) -> list[_Part]:
    """Return the words and phrases of a search; a part without any letter or digit is dropped."""
    parts: list[_Part] = []
    for quoted, plain in _PART.findall(search):
        words = _WORD.findall((quoted or plain).lower())
        if words:
            starts = not quoted and len(words[-1]) >= _SHORTEST_START
            parts.append(_Part(words[:_MOST_WORDS], starts))
    return parts[:_MOST_WORDS]


def _write_fts5(parts: Sequence[_Part]) -> str:
    return " AND ".join(f'"{" ".join(p.words)}"{" *" if p.starts else ""}' for p in parts)


def _write_tsquery(parts: Sequence[_Part]) -> str:
    phrases = (" <-> ".join(f"'{word}'" for word in p.words) for p in parts)
    return " & ".join(
        f"({phrase}{':*' if p.starts else ''})" for phrase, p in zip(phrases, parts, strict=True)
    )
