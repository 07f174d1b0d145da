"""Answers split into claims: worked answers, small tables, invariants, speed."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.decompose import find_compounds, split_answer
from claimwise.text import find_sentences
from claimwise.types.verdicts import AnswerClaim
from decompose.worked_answers import WORKED, Worked
from support.growth import grows_evenly, measure_cpu

NOTHING: dict[str, Any] = {"antecedent": None, "ambiguous": False, "compound": (), "marks": []}


def describe(claim: AnswerClaim) -> tuple[str, str, dict[str, Any]]:
    kind = claim.not_a_claim or ("fact" if claim.claim_type == "factual" else claim.claim_type)
    details = {
        "antecedent": claim.antecedent,
        "ambiguous": claim.ambiguous,
        "compound": claim.compound,
        "marks": [mark.target for mark in claim.marks],
    }
    return kind, claim.wording, details


@pytest.mark.parametrize("worked", WORKED, ids=lambda worked: worked.name)
def test_worked_answers_split_as_written_by_hand(worked: Worked) -> None:
    claims = split_answer(worked.answer, question=worked.question)
    expected = [
        (kind, wording, {**NOTHING, **(details[0] if details else {})})
        for kind, wording, *details in worked.expected
    ]
    assert [describe(claim) for claim in claims] == expected


def kinds(answer: str) -> list[str]:
    return [describe(claim)[0] for claim in split_answer(answer)]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I have refunded your order.", "action"),
        ("I've just cancelled order #12 for you.", "action"),
        ("I’ve sent you an email.", "action"),
        ("I sent the invoice to your address.", "action"),
        ("We have escalated this.", "action"),
        ("We have refunded order 5512.", "action"),
        ("We have sent 400 parcels since 2019.", "fact"),
        ("I am now processing your refund.", "action"),
        ("Your subscription has been renewed.", "action"),
        ("A replacement has been ordered for you.", "action"),
        ("A refund of $20 has been issued.", "action"),
        ("Done!", "action"),
        ("Your seat for the 17:42 to Saltmere is cancelled.", "action"),
        ("Your deposit is refunded within 5 days.", "fact"),
        ("I was able to reset your password.", "action"),
        ("My colleague has refunded you.", "action"),
        ("I was able to find the policy.", "fact"),
        ("我已经为您办理了退款。", "action"),
        ("I will refund your order.", "framing"),
        ("I'll open a ticket.", "framing"),
        ("I can help you with that.", "framing"),
        ("Refunds are sent within 5 days.", "fact"),
        ("We will refund your money within 5 days.", "fact"),
        ("The order was shipped by the warehouse in 2019.", "fact"),
        ("We have opened 3 shops in Paris.", "fact"),
        ("Your ticket is valid until midnight.", "fact"),
        ("Your refund was refused by the bank.", "fact"),
        ("I couldn't find this in the documents.", "refusal"),
        ("I cannot help with that.", "refusal"),
        ("Sorry, I don't have information about that.", "refusal"),
        ("There is no information about parking in the provided sources.", "refusal"),
        ("The context does not mention a fee.", "refusal"),
        ("Unfortunately I found nothing I could rely on about wheelchairs.", "refusal"),
        ("That is outside what I can look up.", "refusal"),
        ("I have no reliable information about paying in cash.", "refusal"),
        ("I have no record.", "refusal"),
        ("Our documents do not tell me enough about the speed.", "refusal"),
        ("The pages I can read say nothing certain about music.", "refusal"),
        ("申し訳ありませんが、わかりません。", "refusal"),
        ("We have no record office in Bern.", "fact"),
        ("I found nothing wrong with the invoice of 3 May.", "fact"),
        ("Please contact the customer desk.", "framing"),
        ("Please call 555 1234 to cancel.", "fact"),
        ("Please note that refunds take 5 days.", "fact"),
        ("The policy does not cover cats.", "fact"),
        ("It depends on several factors.", "hedge"),
        ("I'm not sure.", "hedge"),
        ("The tower is probably 139 m tall.", "fact"),
        ("It may take up to 5 days.", "fact"),
        ("I think the tower was built in 1990.", "fact"),
        ("I think it's lovely.", "opinion"),
        ("In my opinion, the old one was better.", "opinion"),
        ("Paris is the most beautiful city.", "opinion"),
        ("Tokyo is the most populous city.", "fact"),
        ("It is one of the best-known towers.", "fact"),
        ("Hello!", "framing"),
        ("Sure, here is the list:", "framing"),
        ("I hope this helps!", "framing"),
        ("Thanks for reaching out.", "framing"),
        ("🎉", "framing"),
        ("Is that all?", "question"),
        ("¿Es todo?", "question"),
        ("```\nx = 1\n```", "code"),
    ],
)
def test_a_sentence_is_known_for_what_it_is(text: str, kind: str) -> None:
    assert kinds(text)[0] == kind


@pytest.mark.parametrize(
    ("text", "halves"),
    [
        ("The shop opens at 9 and the café closes at 5.", 2),
        ("It is a slow and gradual process that can take years.", 1),
        ("He is known for his vibrant and colorful works that often depict Haiti.", 1),
        ("The tower was designed and built by Ann Hill.", 1),
        ("The fee was paid and refunded.", 1),
        ("The bank lends money to firms and households that are small.", 1),
        ("The rules for adults and children are the same.", 1),
        ("He said that it rained and the game was off.", 1),
        ("If it rains, the game is off and the fee is refunded.", 1),
        ("The price includes tax and shipping is free.", 2),
        ("You must sign in and have a card.", 1),
        ("She has visited castles built in 1200 and restored in 1900.", 1),
        ("Acme bought Globex in 1990 and sold it in 1999.", 2),
        ("The car is red, but it has no doors.", 2),
        ("Costs fell and sales rose.", 2),
        ("Usually the pool is open and the bar is closed.", 1),
        ("There are two doors and one window.", 1),
        ("The drug does not cause fever and is not sold in Japan.", 2),
        ("A man and a woman were seen and the door was open.", 2),
        ("The law of 1990 was repealed in 2001; it has no force.", 2),
        ("Parts: a lid; a base; a bolt.", 1),
        ("A link between low pay and sustained growth was found.", 1),
        ("A citadel was built and the school and mill were sold.", 1),
        ("They were sent away, artisans and bakers were kept.", 1),
        ("His patented motor and transformer were sold.", 1),
        ("It is the first in town and the first since Acme won in 1990.", 1),
        ("But Isaac left and tried to hide.", 2),
        ("A clerk is paid and often does not work alone.", 2),
        ("It lowers glucose and improves sensitivity.", 2),
        ("The tenant may renew it, and the rent then increases by 3%.", 2),
        ("It saw a revival in Art Deco and related styles.", 1),
        ("Many students opt for it during their studies at school and are paid.", 1),
        ("The league took steps to speed up play and create a game of skill, which is good.", 1),
        ("Later, the Lords met in 1990 and financed a mission in 1991.", 2),
        ("However, the Lords wrote it in 1990 and financed a mission in 1991.", 2),
        ("The lamp is on (the sun is down and the sky is dark).", 1),
        ("The museum has a garden and offers free parking.", 2),
        ("The hotel has a pool and offers guided tours.", 2),
        ("The drug reduces pain and causes nausea.", 2),
        ("The film was directed by Ann Hill and stars Ben Oak.", 2),
        ("It is a neurotoxin and causes brain damage.", 2),
        ("The store sells books and offers discounts to students.", 2),
        ("The law sets limits and controls pollution.", 2),
        ("The law sets limits and controls on pollution.", 1),
        ("The museum has tours and offers for families.", 1),
        ("They have a pool and offers from local farms.", 1),
        ("The park has shops and offers open to all members.", 1),
        ("The town has schools and parks popular with families.", 1),
        ("It contains tests and reports written by the team.", 1),
        ("The price includes equipment and supplies.", 1),
        ("The zoo keeps lions and bears.", 1),
        ("The President negotiates and signs treaties.", 1),
        ("He is a member of the Institute of Cost and Works Accountants.", 1),
    ],
)
def test_clauses_are_cut_only_where_both_stand_alone(text: str, halves: int) -> None:
    assert len(split_answer(text)) == halves


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        ("Bread and butter are sold.", ()),
        ("The dose is between 3 and 5 mg.", ()),
        ("Both Ann and Ben agreed.", ()),
        ("Marks and Spencer sells food.", ()),
        ("The tower is tall and the park is small.", ("and",)),
        ("He sang and danced.", ("and",)),
        ("It rained; it snowed.", ("; ",)),
        ("The tower, which is tall, is old.", ("which",)),
        ("Ann, who is 5, likes it.", ("who",)),
        ("He is old but he runs.", ("but",)),
        ("Prices rose, while wages fell.", ("while",)),
        ("It covers meals as well as drinks.", ("as well as",)),
        ("Ada, a British mathematician, wrote it.", ("appositive",)),
        ("It sells nothing but bread.", ()),
        ("天气很好，但是很冷。", ("，但是",)),
        ("", ()),
    ],
)
def test_compounds_are_named_at_top_level_only(text: str, signs: tuple[str, ...]) -> None:
    assert find_compounds(text) == signs


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("It is red [1].", ["1"]),
        ("It is red [1, 3].", ["1", "3"]),
        ("It is red [1-3].", ["1", "2", "3"]),
        ("It is red.[1][2]", ["1", "2"]),
        ("It is red[^note].", ["note"]),
        ("It is red (Smith & Jones, 2019).", ["smith-2019"]),
        ("It is red (Müller et al., 2020a).", ["müller-2020a"]),
        ("It is red (source: colours.md).", ["colours.md"]),
        ("It is red (colours.md).", ["colours.md"]),
        ("It is red (see docs/colours.pdf, p. 12).", ["docs/colours.pdf"]),
        ("It is red (colours.md) in the file.", []),
        ("It is red (v2.1).", []),
        ("It is red 【4:0†source】.", ["4:0"]),
        ("It is red [doc_12].", ["doc_12"]),
        ("It is red [Source 2].", ["Source 2"]),
        ("It is red [colours.md].", ["colours.md"]),
        ("It is red.²", ["2"]),
        ("It is red indeed¹².", ["12"]),
        ("It is [red](https://x.test/a).", ["https://x.test/a"]),
        ("It is red [[1]](https://x.test/a).", ["1"]),
        ("It is red <https://x.test/a>.", ["https://x.test/a"]),
        ("It is red [sic].", []),
        ("It is red [refund].", []),
        ("It is red (in Paris, 2019).", []),
        ("It is red (2019).", []),
        ("It is red (May, 2019).", []),
        ("It is `array[0]`.", []),
        ("It is 5 m² large.", []),
        ("【注意】它很大。", []),
    ],
)
def test_citation_markers_are_read_with_their_targets(text: str, targets: list[str]) -> None:
    (claim,) = split_answer(text)
    assert [mark.target for mark in claim.marks] == targets
    assert all(text[mark.start : mark.end] == mark.text for mark in claim.marks)
    if targets and "http" not in targets[0] and "[[" not in text:
        assert claim.wording.startswith("It is red")
        assert not any(mark.text in claim.wording for mark in claim.marks)


@pytest.mark.parametrize(
    ("answer", "wording", "ambiguous"),
    [
        ("Albert Einstein was a physicist. He was born in Ulm.", "Albert Einstein was born", False),
        ("Albert Einstein was a physicist. She was born in Ulm.", "She was born", True),
        ("Acme was founded in 1990. He was rich.", "He was rich", True),
        ("The trains are late. They stop at noon.", "The trains stop", False),
        ("The trains carry bikes. They are red.", "They are red", True),
        ("The tower has a lift. It opened in 1999.", "It opened", True),
        ("The tower is tall. Its lift is slow.", "The tower's lift", False),
        ("Acme is a French company. The company sells tea.", "Acme sells tea", False),
        ("Acme is old. The company sells tea.", "The company sells", True),
        ("The fee is 5 euros. This is low.", "This is low", True),
        ("The fee is 5 euros. It is raining.", "It is raining", False),
        ("The drug is old. It is used to treat pain.", "The drug is used", False),
        ("The tower is old. The lift hit it. It fell.", "It fell", True),
        ("The tower is tall. Its lift is slow. It broke.", "It broke", True),
        ("The city of Rome is old. The city leaders are new.", "The city leaders", False),
        ("The fee is 5 euros. It seems that nobody pays.", "It seems", False),
        (
            "The Eiffel Tower, built in Paris, is tall. It opened in 1889.",
            "The Eiffel Tower op",
            False,
        ),
        ("Stan Heal (born 1932) is a player. He has a son.", "Stan Heal has a son", False),
        ("- Safety is built in\n- It has no lift", "It has", True),
        ("The tower is tall.\n\n## Fees\n\nIt costs 5 euros.", "It costs", True),
    ],
)
def test_a_pronoun_is_replaced_only_when_it_is_certain(
    answer: str, wording: str, ambiguous: bool
) -> None:
    last = split_answer(answer)[-1]
    assert last.wording.startswith(wording)
    assert last.ambiguous is ambiguous
    assert (last.antecedent is not None) == (not last.text.startswith(wording))


@pytest.mark.parametrize(
    ("question", "wording"),
    [
        ("How tall is the tower?", "The tower is 139 m tall."),
        ("When was the Eiffel Tower built?", "The Eiffel Tower is 139 m tall."),
        ("How tall is my order?", "Your order is 139 m tall."),
        ("Is the tower near the park?", "It is 139 m tall."),
        ("", "It is 139 m tall."),
    ],
)
def test_the_question_names_what_it_is_about(question: str, wording: str) -> None:
    (claim,) = split_answer("It is 139 m tall.", question=question)
    assert claim.wording == wording
    assert claim.ambiguous == wording.startswith("It")


PARTS = [
    *"aZ9é中。！」'\"“”().,;:!?…-*#|`>[]_~\n\r\t\0\ud800\u200f\u2029\ue000¹ ",
    "- ", "1. ", "```\n", "# ", "**", "[1]", "[^2]", "(Smith, 2019)", "[a](b)", "【4†source】", "|",
    "The tower is 139 m tall", " and ", " and it opened in 1990", ", but ", "; ", "She ", "It ",
    "I have ", "sent you ", " was built", "\n\n", ". ", " which ", "The company ", "<br>", "This ",
    ', "Blue", was ', " and was named abbot and sent ",
]  # fmt: skip
ANSWERS = st.lists(st.sampled_from(PARTS) | st.characters(), max_size=40).map("".join)
# What may lie outside of every claim besides space: markers, bullets, numbers of items, rules.
MARKUP = re.compile(
    r"\[\^?[\d,; –-]+\]|\(Smith, 2019\)|【4†source】|\[[19]\]\(b\)|<br>|[¹-⁹]+"
    r"|\(?(?:\d{1,3}|[a-z])[.)]"
    r"|\[[ xX]\]|[-*+#>|=_:~`•‣◦▪–—\s\ue000]"
)


@given(ANSWERS, st.none() | ANSWERS)
def test_claims_are_exact_slices_in_order_and_nothing_vanishes(
    answer: str, question: str | None
) -> None:
    left_over, last = [], 0
    for claim in split_answer(answer, question=question):
        assert answer[claim.start : claim.end] == claim.text
        assert last <= claim.start < claim.end
        assert claim.wording
        assert (claim.not_a_claim is not None) == (claim.claim_type == "non_factual")
        left_over.append(answer[last : claim.start])
        last = claim.end
    left_over.append(answer[last:])
    assert all(not MARKUP.sub("", part).strip() for part in left_over)


def test_no_answer_has_no_claims() -> None:
    assert split_answer("") == []
    assert split_answer(" \n---\n") == []


def test_two_thousand_sentences_a_second() -> None:
    answer = " ".join(worked.answer for worked in WORKED if "|" not in worked.answer) * 20
    count = len(find_sentences(answer))
    assert count / min(measure_cpu(partial(split_answer, answer)) for _ in range(5)) > 2_000


@pytest.mark.parametrize(
    "unit",
    [
        "word ",
        "!",
        ".)",
        "a, ",
        "[",
        "(",
        "`",
        "*",
        "_a ",
        "<a",
        "[1] ",
        "and it is ",
        "I have ",
        "It is ",
        "1) ",
        "1) a, 2) b ",
        "respectively, ",
        "it is a port [1], ",
    ],
)
def test_a_line_without_end_takes_linear_time(unit: str) -> None:
    assert grows_evenly(lambda size: partial(split_answer, unit * (size // len(unit))), 50_000)


@pytest.mark.parametrize(
    "unit",
    [
        "Ana Lind won in 2011. She ran a mile, and it rained. ",
        "- Ana Lind\n  - Points: 7\n",
        "- Ana Lind\n",
        "We accept:\n- Visa\n",
        "# Ana Lind\nPoints: 7\n\n",
        "|Plan|Price|\n|---|---|\n|Basic|€5|\n\n",
        "User: When was the hall built?\nAssistant: It was built in 1911.\n",
        "```\nx = 1\n```\n",
        '{"name": "Ana Lind", "points": 7}\n',
        "Ana,7\n",
    ],
)
def test_a_long_answer_takes_linear_time(unit: str) -> None:
    assert grows_evenly(lambda size: partial(split_answer, unit * (size // len(unit))), 20_000)


def test_a_long_table_takes_linear_time() -> None:
    head, row = "|Plan|Price|\n|---|---|\n", "|Basic|€5|\n"
    assert grows_evenly(lambda size: partial(split_answer, head + row * (size // len(row))), 20_000)


def test_a_question_that_an_answer_repeats_is_announced() -> None:
    announced, claim = split_answer("So, to answer your question: the deposit is €100.")
    assert (announced.wording, announced.not_a_claim) == (
        "So, to answer your question:",
        "framing",
    )
    assert (claim.wording, claim.claim_type) == ("The deposit is €100.", "factual")


@pytest.mark.parametrize("answer", ["See Fig. 2.", "See https://example.org/a.b?c=d."])
def test_a_reference_by_itself_claims_nothing(answer: str) -> None:
    [found] = split_answer(answer)
    assert found.not_a_claim == "framing"


def test_a_reference_before_a_statement_hides_nothing() -> None:
    assert "factual" in [c.claim_type for c in split_answer("See Table 2: the fee is €40.")]


def test_what_respectively_joins_is_named() -> None:
    [found] = split_answer("Ana Lind and Mia Sund scored 1930 and 2370 points respectively.")
    assert found.compound == ("respectively",)


def test_the_examples_of_the_page_run(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[2] / "docs/claims.md").read_text("utf-8")
    examples = re.findall(r"```python\n(.+?)```\n\n```\n(.+?)```", page, re.DOTALL)
    assert len(examples) == 2
    for code, printed in examples:
        exec(code, {})
        assert capsys.readouterr().out == printed
    cuts, _, _ = page.partition("## What is not a claim")
    rows = re.findall(r"^\| ([A-Z][^|]+\.) \| ([A-Z][^|]+ · [^|]+) \|$", cuts, re.M)
    assert len(rows) == 9
    for sentence, claims in rows:
        found = split_answer(sentence)
        shown = [" ".join([c.wording, *(mark.text for mark in c.marks)]) for c in found]
        assert [one.replace(".", "") for one in shown] == [
            one.replace(".", "") for one in claims.split(" · ")
        ]


@pytest.mark.parametrize(
    ("answer", "wordings"),
    [
        (
            "The hotel has a pool [1], a sauna [1] and a gym [2].",
            ["The hotel has a pool", "The hotel has a sauna", "The hotel has a gym."],
        ),
        (
            "A lease is a contract [1], a licence is a permit [2] and an easement is a right [2].",
            ["A lease is a contract", "A licence is a permit", "An easement is a right."],
        ),
        ("Bergen grew by 3% [12], Oslo shrank [2].", ["Bergen grew by 3%", "Oslo shrank."]),
        ("Although X is big [1], Y is small [2].", ["Although X is big, Y is small."]),
        (
            "The fee is €5 [1], which includes breakfast [2].",
            ["The fee is €5, which includes breakfast."],
        ),
    ],
)
def test_a_marker_and_a_comma_part_items_and_statements(answer: str, wordings: list[str]) -> None:
    claims = split_answer(answer)
    assert [claim.wording for claim in claims] == wordings
    assert "".join(claim.text for claim in claims).replace(" ", "") == answer.replace(" ", "")
    cited = [mark.text for claim in claims for mark in claim.marks]
    assert cited == re.findall(r"\[\d+\]", answer)
