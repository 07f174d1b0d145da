"""Where a quote may begin and end."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.judges import quote_tokens
from claimwise.judges.quote_tokens import _TOKEN, cuts_token

PIECES = [
    *"ab15 .,-%€$'’\n<>=\"…?!:;_*()—中\u00a0", "  ", "<b>", "</b>", '<a href="x y. z">', "5 000",
    "£ 5", "5 %", "don't", "...", " 1,000.50 ",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
def test_the_short_way_finds_what_reading_all_tokens_finds(text: str) -> None:
    inside = {at for token in _TOKEN.finditer(text) for at in range(token.start() + 1, token.end())}
    assert {at for at in range(len(text) + 1) if cuts_token(text, at)} == inside


def test_ordinary_borders_read_no_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quote is looked for in every source: its ends are told from the letters beside them."""
    monkeypatch.setattr(quote_tokens, "_TOKEN", None)
    text = "The cat sat on the mat. It slept, then it left."
    for at, beside in enumerate(pairwise(text), 1):
        if " " in beside or beside[1] in ".,":
            assert not cuts_token(text, at)
