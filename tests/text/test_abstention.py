"""What an answer does with its question, by its words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.text.abstention import propose_action


@pytest.mark.parametrize(
    ("answer", "action"),
    [
        ("The depot opens at 9.", "answer"),
        ("", "abstain"),
        ("I don't know.", "abstain"),
        ("N/A", "abstain"),
        ("I’m sorry, but the provided documents do not mention refunds.", "abstain"),
        ("There is not enough information in the context to answer this.", "abstain"),
        ("As an AI, I don't have access to fares. Please check the website.", "abstain"),
        # It declines one thing and states another: what it states can be checked.
        ("The documents don't mention refunds. However, tickets can be changed until 9.", "answer"),
        ("I'm not sure, but I think it opens at 9.", "answer"),
        ("As an AI, I have no real-time data, but the fare was €21 in 2026.", "answer"),
        ("I am not aware of a Kevin Scale. If you meant Beaufort, it was named in 1805.", "answer"),
        # Words of refusals that decline nothing.
        ("Elvis Presley sang “I Can't Help Falling in Love”.", "answer"),
        ("The sex of a baby cannot be determined by its heart rate.", "answer"),
        ("Refunds are not available for season tickets.", "answer"),
        ("No.", "answer"),
        ("Which line do you mean? Could you clarify?", "clarify"),
        ("I'm not sure what you mean.", "clarify"),
        ("Das weiß ich leider nicht.", "abstain"),
        ("抱歉，文档中没有提到这一点。", "abstain"),
    ],
)  # fmt: skip
def test_what_is_proposed(answer: str, action: str) -> None:
    assert propose_action(answer) == action


@given(st.text(max_size=300))
def test_a_stated_fact_makes_it_an_answer(text: str) -> None:
    assert propose_action("The depot in Quimper opens at 9.\n" + text) == "answer"
