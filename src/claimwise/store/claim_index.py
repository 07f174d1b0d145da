"""The index of claims: how to search its words, and how to fill it for a store that is older."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from claimwise.store.engine import Engine
from claimwise.store.files import SqlFolder
from claimwise.store.search_words import SearchPart, read_search, write_fts5

INDEXED_SINCE: Final = 12
"""The migration that added the index; what was stored before is added once."""

_SQL = SqlFolder("claimwise.store", "sql/index")


class WordMatch(NamedTuple):
    """A search in the SQL of one database; both parts want the parameter ``words``."""

    hits: str  # selects the claim_no of every claim that holds the words
    holds: str  # a condition on a row m of claim_index, for when nearly all do
    words: str


def fill_claim_index(engine: Engine) -> None:
    """Add what is stored to an empty index, with its words."""
    engine.run_script(_SQL["fill"])


def refill_claim_index(engine: Engine) -> None:
    """Make the index again from what is stored."""
    engine.execute("delete from claim_index")
    fill_claim_index(engine)


def join_hits(engine_name: str) -> str:
    """Return SQL that looks up rows m of claim_index by numbers h; it ends in a condition."""
    return _SQL[f"join_{engine_name}"]


def match_words(engine_name: str, search: str) -> WordMatch | None:
    """Return how to find the claims that hold all words of a search; None where it has none.

    Words are found in the claim and in its question, in whatever case. One of three letters or
    more also finds longer words that begin with it; words in quotation marks are found as they
    stand, side by side.
    """
    parts = read_search(search)
    if not parts:
        return None
    write = _write_tsquery if engine_name == "postgresql" else write_fts5
    return WordMatch(
        hits=_SQL[f"match_{engine_name}"],
        holds=_SQL[f"holds_{engine_name}"],
        words=write(parts),
    )


def _write_tsquery(parts: Sequence[SearchPart]) -> str:
    phrases = (" <-> ".join(f"'{word}'" for word in part.words) for part in parts)
    return " & ".join(
        f"({phrase}{':*' if part.starts else ''})"
        for phrase, part in zip(phrases, parts, strict=True)
    )
