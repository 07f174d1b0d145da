"""What lets plain sentences through quickly never lets anything else through."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from claimwise.decompose import answers, clauses, find_compounds, kinds, markup, pieces
from claimwise.decompose.references import Memory
from claimwise.text.word_lists import read_sections

PARTS = [
    *"aZ9éİſK中。；，*_`[](){}<>#|~\\!\n\t ¹⁴⁵'’.,;:?\ue000",
    "**", "~~", "``", "[1]", "[^2]", "(Smith, 2019)", "[a](b)", "![a](b)", "【4†x】", "<br>", " #",
    "(source: x)", "<https://a.b>", "[doc 1]", "text⁵", "\n> ", "\\*", "_so_", " and ", " but ",
    ", which ", " as well as ", "; ", " yet ", "The tower is tall", "it was built", ", a fort, ",
    "我不知道", "我们已经为您退款了", "，而且", "I think ", "We love ", " is beautiful", "?",
    "maybe", " is the best ", "personally ", "I'd recommend ", "in my opinion ", "I can't find ",
    "sure ",
]  # fmt: skip
WORDS = sorted(
    {
        word
        for lines in read_sections("claimwise.decompose", "phrases.txt").values()
        for line in lines
        for word in re.findall(r"[\w']+", line)
    }
)
TEXTS = st.lists(
    st.sampled_from(PARTS) | st.sampled_from(WORDS).map(lambda word: f"{word} ") | st.characters(),
    max_size=25,
).map("".join)


@given(TEXTS)
def test_markup_is_never_passed_over(text: str) -> None:
    assert all(markup._SIGN.search(found.group()) for found in markup._MARKUP.finditer(text))


@given(TEXTS)
def test_text_without_markup_is_cleaned_as_text_with_it(text: str) -> None:
    masked = markup.scan_markup(text, 0).masked
    assert len(masked) == len(text)
    spaced = " ".join(masked.split())
    closed = re.sub(" ?\ue000++(?=[\\s.,;:!?。！？，；：]|$)", "", spaced)
    assert markup.strip_markup(masked) == closed.replace("\ue000", "").strip()


@given(TEXTS)
def test_an_opinion_is_what_classify_calls_one(text: str) -> None:
    assert kinds.is_opinion(text) == (kinds.classify(text).reason == "opinion")


@given(TEXTS)
def test_phrases_that_count_anywhere_are_never_ascii(text: str) -> None:
    for pattern in (kinds._REFUSAL_ANYWHERE, kinds._ACTION_ANYWHERE):
        assert not any(found.group().isascii() for found in pattern.finditer(text))


@given(TEXTS)
def test_what_joins_statements_is_never_passed_over(text: str) -> None:
    tokens = clauses.read_tokens(text)
    found = [clauses._find_sign(tokens, place) for place in range(1, len(tokens))]
    signs = dict.fromkeys(sign for sign in found if sign)
    assert find_compounds(text)[: len(signs)] == tuple(signs)
    if any(token.low in clauses.JOINS for token in tokens):
        assert clauses.may_join(text)


@given(TEXTS)
def test_the_second_token_is_read_as_with_all_others(text: str) -> None:
    assert clauses.read_second_token(text) == next(iter(clauses.read_tokens(text)[1:2]), None)


@given(TEXTS)
def test_an_item_is_known_by_its_prefix(text: str) -> None:
    assert markup.begins_item(text) == markup.scan_markup(text, 0).is_item


@given(TEXTS.map(lambda text: text.replace(":", "")))
def test_nothing_is_announced_labelled_or_spoken_without_a_colon(text: str) -> None:
    for pattern in (pieces._ANNOUNCED, pieces._LABEL, pieces._HEADLINE, *answers._TURNS):
        assert pattern.search(text) is None


def test_phrases_are_written_in_small_letters() -> None:
    """They are looked for in small letters: one with a capital letter would never be found."""
    for name, pattern in vars(kinds).items():
        if name in ("_CHECKABLE", "_NUMBER") or not isinstance(pattern, re.Pattern):
            continue
        assert not re.search(r"(?<!\\)[A-Z]", pattern.pattern), name


CLAIMS = [
    "Ada Byron was a mathematician.", "She wrote notes.", "It was built by Tom Reed in 1990.",
    "The tower is 139 m tall.", "Its lift is slow.", "They opened two halls.", "The company grew.",
    "Acme is a company.", "This tower stands in Rome.", "The towers are old.", "No, he left.",
]  # fmt: skip


@given(
    st.none() | st.sampled_from(["How tall is the tower?", "Who was Ada Byron?"]) | TEXTS,
    st.lists(st.none() | st.sampled_from(CLAIMS) | TEXTS.filter(bool), max_size=8),
)
def test_claims_that_are_read_late_resolve_as_those_read_at_once(
    question: str | None, wordings: list[str | None]
) -> None:
    late, at_once = Memory(question), Memory(question)
    for wording in wordings:
        at_once._catch_up()
        if wording is None:
            late.forget()
            at_once.forget()
        else:
            assert late.resolve(wording) == at_once.resolve(wording)
