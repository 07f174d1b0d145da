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
    "headings of two levels": (
        "## Saltmere Lighthouse\n### Key facts\n- Height: 42 m\n",
        ["Saltmere Lighthouse: height 42 m"],
    ),
    "bare items below a heading": (
        "## Ingredients\n- 2 eggs\n- flour\n",
        ["Ingredients: 2 eggs", "Ingredients: flour"],
    ),
    "bare items below a sentence": (
        "We accept the following payment methods:\n- PayPal\n- Visa\n",
        ["We accept payment methods: PayPal", "We accept payment methods: Visa"],
    ),
    "pronouns below a parent": (
        "- North site\n  - The site was bought in 2011.\n- Olga Petrenko\n  - She speaks German.\n",
        ["North site was bought in 2011.", "Olga Petrenko speaks German."],
    ),
    "two sentences in an item": (
        "- Ana Lind\n  - She plays chess. She won in 2011.\n  - Points: 7\n",
        ["Ana Lind plays chess.", "Ana Lind won in 2011.", "Ana Lind: points 7"],
    ),
    "a table": (
        "| Plan | Price | Support |\n|---|---|---|\n| Basic | €5 | n/a |\n| Team | €9 | Chat |\n",
        ["Basic: price €5", "Team: price €9", "Team: support Chat"],
    ),
    "a table of attributes": (
        "| Feature | Leaf 4 | Page Pro |\n|---|---|---|\n| Battery | 6 weeks | 4 weeks |\n",
        ["Leaf 4: battery 6 weeks", "Page Pro: battery 4 weeks"],
    ),
    "a table of values below a heading": (
        "### MS Aurora\n\n| Attribute | Value |\n|---|---|\n| Length | 211 m |\n",
        ["MS Aurora: length 211 m"],
    ),
    "a value below an item, below a line that it could complete": (
        "The top scorers were:\n\n1. **Ana Lind** (Larks)\n   - Total Points: 1930\n"
        "   - Assists: 486\n2. **Mia Sund** (Gulls)\n   - Assists: 311\n",
        [
            "Ana Lind, Larks: total points 1930",
            "Ana Lind, Larks: assists 486",
            "Mia Sund, Gulls: assists 311",
        ],
    ),
    "days and months keep their capitals": (
        "## Pool\n- Sunday: closed\n- Sat.: 10 am to 2 pm\n- Entry: free\n",
        ["Pool: Sunday closed", "Pool: Sat. 10 am to 2 pm", "Pool: entry free"],
    ),
    "questions and answers": (
        "Q: How tall is the tower?\nA: It is 139 m tall.\nQ: When was the hall built?\n"
        "A: It was built in 1911.\n",
        ["The tower is 139 m tall.", "The hall was built in 1911."],
    ),
    "a list of letters is no dialogue": (
        "A: red\nB: blue\nQ: green\n",
        ["A: red", "B: blue", "Q: green"],
    ),
    "a dialogue": (
        "User: My order 5 is late.\nAssistant: The order was sent on 3 May.\n",
        ["The order was sent on 3 May."],
    ),
    "a paragraph after a list": (
        "- Ana Lind\n  - Points: 1930\n\nThe season ended in May.\n",
        ["Ana Lind: points 1930", "The season ended in May."],
    ),
}


@pytest.mark.parametrize(("answer", "claims"), PARENTS.values(), ids=PARENTS)
def test_items_take_over_what_they_stand_under(answer: str, claims: list[str]) -> None:
    assert list_claims(answer) == claims


def test_a_claim_gives_the_places_of_what_it_took_over() -> None:
    answer = "## Larks\n- Ana Lind\n  - Points: 7\n\n| Plan | Price |\n|---|---|\n| Basic | €5 |\n"
    item, cell = [c for c in split_answer(answer) if c.claim_type == "factual"]
    assert (item.text, [one.text for one in item.ancestors]) == ("Points: 7", ["Ana Lind"])
    assert [one.text for one in cell.ancestors] == ["Basic", "Price"]
    for one in (*item.ancestors, *cell.ancestors):
        assert answer[one.start : one.end] == one.text


NUMBERED = [
    (
        "The winners are 1) Ana Lind with 7 points, 2) Mia Sund with 9 points and 3) Eva Holm.",
        [
            "The winners are Ana Lind with 7 points",
            "The winners are Mia Sund with 9 points",
            "The winners are Eva Holm.",
        ],
    ),
    (
        "There are two plans: (1) Basic and (2) Team.",
        ["There are two plans: Basic", "There are two plans: Team."],
    ),
    ("1) Ana Lind has 7 points, 2) Mia Sund has 9.", ["Ana Lind has 7 points", "Mia Sund has 9."]),
    # These don't count up from 1: they are no numbers of items.
    ("Rates fell by 3) then 5) percent.", ["Rates fell by 3) then 5) percent."]),
    ("As 1) shows, the fee is €5.", ["As 1) shows, the fee is €5."]),
]


@pytest.mark.parametrize(("answer", "claims"), NUMBERED)
def test_numbers_of_items_within_a_sentence_are_no_part_of_claims(
    answer: str, claims: list[str]
) -> None:
    assert list_claims(answer) == claims


def test_numbered_items_keep_their_places_and_citations() -> None:
    answer = "The court held that 1) the law was valid [1], and 2) the fine was too high [2]."
    first, second = split_answer(answer)
    assert (first.text, [mark.target for mark in first.marks]) == (
        "The court held that 1) the law was valid [1]",
        ["1"],
    )
    assert (second.text, [mark.target for mark in second.marks]) == (
        ", and 2) the fine was too high [2].",
        ["2"],
    )
    assert answer[first.start : first.end] + answer[second.start : second.end] == answer


SERIES = [
    (
        "She won the prize in Physics in 1903 and in Chemistry in 1911.",
        ["She won the prize in Physics in 1903", "She won the prize in Chemistry in 1911."],
    ),
    (
        "Tickets cost £6 for adults and £3 for children.",
        ["Tickets cost £6 for adults", "Tickets cost £3 for children."],
    ),
    (
        "German is spoken by 62% and French by about 23%.",
        ["German is spoken by 62%", "French is spoken by about 23%."],
    ),
    (
        "The mill was designed by Edith Crowe and completed in 1871.",
        ["The mill was designed by Edith Crowe", "The mill was completed in 1871."],
    ),
    (
        "The firm was founded in 1894 by Ann Reed, moved to Leeds in 1931, and reopened in 2016.",
        [
            "The firm was founded in 1894 by Ann Reed",
            "The firm moved to Leeds in 1931",
            "The firm reopened in 2016.",
        ],
    ),
    (
        "The page says that buses leave hourly and that the ride takes 35 minutes.",
        ["The page says that buses leave hourly", "The page says that the ride takes 35 minutes."],
    ),
    (
        "The shop opens at 11:00 and closes at 17:00 on Sundays.",
        ["The shop opens at 11:00 on Sundays", "The shop closes at 17:00 on Sundays."],
    ),
    (
        "Users can export their data and delete their account.",
        ["Users can export their data", "Users can delete their account."],
    ),
    (
        "Ann was born in Lhasa and was known as the abbot and later enthroned at Drepung.",
        [
            "Ann was born in Lhasa",
            "Ann was known as the abbot",
            "Ann was later enthroned at Drepung.",
        ],
    ),
    (
        "He sold the mill in 1830 and became a priest in 1834 and a bishop in 1838.",
        [
            "He sold the mill in 1830",
            "He became a priest in 1834",
            "He became a bishop in 1838.",
        ],
    ),
    (
        "Members pay £5 and can export their data and delete their account.",
        ["Members pay £5", "Members can export their data", "Members can delete their account."],
    ),
    ("The dose is between 3 and 5 mg.", ["The dose is between 3 and 5 mg."]),
    ("She sells bread and butter in Rome.", ["She sells bread and butter in Rome."]),
]


@pytest.mark.parametrize(("answer", "claims"), SERIES)
def test_a_second_half_takes_over_what_it_shares(answer: str, claims: list[str]) -> None:
    assert list_claims(answer) == claims


ASIDES = [
    (
        "The bridge ends on Peberholm, an artificial island, where the traffic enters a tunnel.",
        [
            "The bridge ends on Peberholm",
            "Peberholm is an artificial island",
            "Peberholm is where the traffic enters a tunnel.",
        ],
    ),
    (
        "The novel was written by Ines Calder, a Scottish author, in 1952.",
        ["The novel was written by Ines Calder in 1952", "Ines Calder was a Scottish author"],
    ),
    (
        "Mills, whose brother financed the work, sold the patent.",
        ["Mills' brother financed the work", "Mills sold the patent."],
    ),
    (
        "The growth was driven by exports, which rose by 22%.",
        ["The growth was driven by exports", "Exports rose by 22%."],
    ),
    (
        "Founded in 1887, the club has won four times.",
        ["The club was founded in 1887", "The club has won four times."],
    ),
    ('Her debut album, "Blue", was released in 1998.', None),
    # What “which” means is not certain.
    ("You set it in the file, which is slow.", ["You set it in the file, which is slow."]),
    ("He visited Paris, a village in Spain, and Rome.", None),
]


@pytest.mark.parametrize(("answer", "claims"), ASIDES)
def test_asides_are_claims_where_it_is_certain_whom_they_mean(
    answer: str, claims: list[str] | None
) -> None:
    assert list_claims(answer) == (claims or [answer])


def test_cited_items_of_a_sentence_keep_their_own_markers() -> None:
    answer = (
        "Many drugs help, including ACE inhibitors [1], beta blockers [1][3] and diuretics [2]."
    )
    found = [(claim.wording, [m.target for m in claim.marks]) for claim in split_answer(answer)]
    assert found == [
        ("Many drugs help, including ACE inhibitors", ["1"]),
        ("Many drugs help, including beta blockers", ["1", "3"]),
        ("Many drugs help, including diuretics.", ["2"]),
    ]


@pytest.mark.parametrize(
    ("answer", "question", "wording"),
    [
        (
            "Ada Lovelace met Charles Babbage. In 1843, she wrote notes.",
            "",
            "In 1843, Ada Lovelace",
        ),
        (
            "Ada Lovelace met Lise Meitner. She wrote notes.",
            "Who was Ada Lovelace?",
            "Ada Lovelace wrote",
        ),
        ("## Pros\n- They save energy.", "What are the pros of heat pumps?", "Heat pumps save"),
    ],
)
def test_the_topic_and_genders_make_a_pronoun_certain(
    answer: str, question: str, wording: str
) -> None:
    assert split_answer(answer, question=question)[-1].wording.startswith(wording)


def test_two_parallel_subjects_leave_a_pronoun_open() -> None:
    answer = (
        "The Kings Bridge was built in 1774, and the Mill Bridge was built in 1832. It is long."
    )
    assert split_answer(answer)[-1].ambiguous


@pytest.mark.parametrize(
    "unit",
    [
        "Here is the answer: ",
        "Note: ",
        "- a\n  - b: 1\n",
        "## a\nb: 1\n",
        "  - x:\n",
        "a: b: ",
        "| a | 5 |\n|---|---|\n",
        "A [1], ",
        "The mill, which is old, is red. ",
        "He won in 1 in 2 and in 3 in 4, ",
        "User: a\nBot: it is b. It is c.\n",
        "Founded in 5, it is red. ",
    ],
)
def test_splitting_takes_time_in_proportion(unit: str) -> None:
    assert grows_evenly(lambda size: lambda: split_answer(unit * size), 300)


def test_deeper_and_deeper_items_take_time_in_proportion() -> None:
    def work(size: int) -> object:
        answer = "\n".join(" " * (n % 30) + f"- item {n}" for n in range(size))
        return lambda: split_answer(answer)

    assert grows_evenly(work, 300)  # type: ignore[arg-type]


def test_a_cited_clause_is_no_item() -> None:
    split = split_answer("It was founded in 1999 [1] and has 12 rooms [2].")
    assert [claim.wording for claim in split] == ["It was founded in 1999", "It has 12 rooms."]


def test_what_joins_cited_items_belongs_to_them() -> None:
    answer = "It sells three things: bikes [1], cars [1] and boats [2]."
    split = split_answer(answer)
    assert "".join(claim.text for claim in split).replace(" ", "") == answer.replace(" ", "")
