"""What announces, labels and stands above a claim: framing is stripped, parents are taken over."""

from __future__ import annotations

import pytest

from claimwise.decompose import split_answer
from support.growth import grows_evenly


def list_claims(answer: str) -> list[str]:
    """Return the wordings of what is claimed; every claim's place is checked on the way."""
    claims = split_answer(answer)
    assert all(answer[claim.start : claim.end] == claim.text for claim in claims)
    words = "".join(claim.text for claim in claims)
    assert [char for char in answer if char.isalpha()] == [char for char in words if char.isalpha()]
    return [claim.wording for claim in claims if claim.claim_type == "factual"]


ANNOUNCED = [
    ("Here is the answer: the tower is 200 m tall.", ["The tower is 200 m tall."]),
    (
        "Here is what I found: the tower is 200 m tall and opened in 1989.",
        ["The tower is 200 m tall", "The tower opened in 1989."],
    ),
    ("Sure, here's the result: **the fee** is 5 euros [1].", ["The fee is 5 euros."]),
    ("The short answer: the depot is closed on Sundays.", ["The depot is closed on Sundays."]),
    ("Based on the documents: refunds take 5 days.", ["Refunds take 5 days."]),
    ("Here is what I found:", []),
]


@pytest.mark.parametrize(("answer", "claims"), ANNOUNCED)
def test_what_announces_a_claim_is_stripped_and_the_claim_stays(
    answer: str, claims: list[str]
) -> None:
    assert list_claims(answer) == claims


def test_what_announces_is_kept_as_framing() -> None:
    lead, claim = split_answer("Here is the answer: the tower is 200 m tall.")
    assert (lead.text, lead.not_a_claim) == ("Here is the answer:", "framing")
    assert claim.text == "the tower is 200 m tall."


@pytest.mark.parametrize("label", ["Definition:", "**Example:**", "Note:", "Key point:"])
def test_labels_are_stripped_but_stay_in_the_place(label: str) -> None:
    answer = f"{label} the tower is 139 m tall."
    (claim,) = split_answer(answer)
    assert claim.wording == "The tower is 139 m tall."
    assert (claim.start, claim.text) == (0, answer)


@pytest.mark.parametrize(
    "text",
    [
        "The question is when the tower opened.",
        "Sources: refunds.md, fees.md",
        "Let me know if you need anything else.",
        "If you'd like, I can send you the list.",
        "Should you need any more details, write to us.",
    ],
)
def test_restatements_source_lists_and_offers_are_no_claims(text: str) -> None:
    assert list_claims(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "If you would like a refund, write within 30 days.",
        "The sources of the Nile lie in Burundi.",
    ],
)
def test_what_only_begins_like_one_stays_a_claim(text: str) -> None:
    assert list_claims(text) == [text]


PARENTS = {
    "a numbered list": (
        "1. **Ana Lind** (Harbour Larks):\n   - **Total Points:** 1930\n   - Assists: 486\n"
        "2. **Bo Sund** (Valley Foxes):\n   - Total Points: 2370\n",
        [
            "Ana Lind, Harbour Larks: total points 1930",
            "Ana Lind, Harbour Larks: assists 486",
            "Bo Sund, Valley Foxes: total points 2370",
        ],
    ),
    "items without a colon": (
        "- Ana Lind\n  - Points: 1930\n- Bo Sund\n  - Points: 2370\n",
        ["Ana Lind: points 1930", "Bo Sund: points 2370"],
    ),
    "headings": (
        "## Ana Lind\n- Points: 1930\n\n## Bo Sund\nPoints: 2370\n",
        ["Ana Lind: points 1930", "Bo Sund: points 2370"],
    ),
    "bold headings": ("**Ana Lind**\n\n- Points: 1930\n", ["Ana Lind: points 1930"]),
    "three levels": (
        "- Larks\n  - Ana Lind\n    - Points: 1930\n  - Bo Sund\n    - Points: 2370\n",
        ["Larks, Ana Lind: points 1930", "Larks, Bo Sund: points 2370"],
    ),
    "a general heading": ("## Summary\n- Points: 7\n", ["Points: 7"]),
    "items that are sentences": (
        "## Delivery\n- **Standard** takes 3 days\n- Express is free.\n",
        ["Standard takes 3 days", "Express is free."],
    ),
    "a paragraph after a list": (
        "- Ana Lind\n  - Points: 1930\n\nThe season ended in May.\n",
        ["Ana Lind: points 1930", "The season ended in May."],
    ),
}


@pytest.mark.parametrize(("answer", "claims"), PARENTS.values(), ids=PARENTS)
def test_items_take_over_what_they_stand_under(answer: str, claims: list[str]) -> None:
    assert list_claims(answer) == claims


@pytest.mark.parametrize(
    "unit",
    ["Here is the answer: ", "Note: ", "- a\n  - b: 1\n", "## a\nb: 1\n", "  - x:\n", "a: b: "],
)
def test_splitting_takes_time_in_proportion(unit: str) -> None:
    assert grows_evenly(lambda size: lambda: split_answer(unit * size), 300)


def test_deeper_and_deeper_items_take_time_in_proportion() -> None:
    def work(size: int) -> object:
        answer = "\n".join(" " * (n % 30) + f"- item {n}" for n in range(size))
        return lambda: split_answer(answer)

    assert grows_evenly(work, 300)  # type: ignore[arg-type]
