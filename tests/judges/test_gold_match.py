"""Answers against gold answers, by rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.judges.gold_match import match_gold


@pytest.mark.parametrize(
    ("answer", "gold", "correct"),
    [
        ("Paris", "Paris", True),
        ("the Eiffel tower.", "Eiffel Tower", True),
        ("It is in Málaga, Spain.", "Malaga", True),
        ("It opened in Rome.", "Paris", False),
        ("Paris is not far from it.", "Paris, Texas", None),
        # Numbers with their units, dates, yes and no.
        ("It is 139 m tall.", "139 metres", True),
        ("It is 0.139 km tall.", "139 m", True),
        ("It is 200 m tall.", "139 m", False),
        ("Ten.", "10", True),
        ("It opened on 3 May 1999.", "May 3, 1999", True),
        ("It opened on 4 May 1999.", "May 3, 1999", False),
        ("Yes, dogs may come in.", "yes", True),
        ("No, they may not.", "yes", False),
        ("Dogs may come in.", "yes", None),
        # Only the meaning decides.
        ("It opened to visitors in 1999.", "The tower was opened in 1999 by the mayor.", None),
        ("", "Paris", None),
    ],
)  # fmt: skip
def test_what_the_rule_says(answer: str, gold: str, correct: bool | None) -> None:
    found = match_gold(answer, gold)
    assert found.correct is correct, found.reason
    assert found.reason


@given(st.text(min_size=1))
def test_the_gold_answer_itself_is_right(gold: str) -> None:
    assert match_gold(gold, gold).correct is True
