"""Where a model's quote really stands."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.llm.fencing import neutralise_text
from claimwise.verify.quotes import LONGEST_GAP, Located, QuoteFinder, is_thin
from verify.judged import make_source

TEXT = (
    "The tower is 139 m tall.  Entry costs 15.50 euros;\n"
    "it isn’t “free” on Sundays – except for children under 6. "
    "Guided tours start at 9:00 and last about an hour. Dogs may come in."
)


def locate(quote: str, *texts: str, **options: str) -> Located | None:
    sources = [make_source(text, f"s{n}") for n, text in enumerate(texts or (TEXT,))]
    found = QuoteFinder(sources).locate(quote, **options)
    if found is not None:
        text = next(s.source_text for s in sources if s.source_id == found.span.source_id)
        assert text[found.span.start : found.span.end] == found.span.text
    return found


@pytest.mark.parametrize(
    ("quote", "expected"),
    [
        ("The tower is 139 m tall.", "The tower is 139 m tall."),
        ('"Dogs may come in."', "Dogs may come in."),
        ("the TOWER is 139 m tall", "The tower is 139 m tall"),
        ("139 m tall. Entry costs 15.50 euros", "139 m tall.  Entry costs 15.50 euros"),
        ("it isn't \"free\" on Sundays - except", "it isn’t “free” on Sundays – except"),
        ("…Guided tours start at 9:00…", "Guided tours start at 9:00"),
        ("Guided tours start at 9:00.", "Guided tours start at 9:00"),
        ("tours start at … about an hour", "tours start at 9:00 and last about an hour"),
        ("The tower is [...] m tall", "The tower is 139 m tall"),
        ("The [...] 139 m tall", None),  # a part of one word could stand anywhere
        ("Entry costs [...] on Sundays", "Entry costs 15.50 euros;\nit isn’t “free” on Sundays"),
    ],
)  # fmt: skip
def test_copies_of_the_source_are_found(quote: str, expected: str | None) -> None:
    found = locate(quote)
    assert (found and found.span.text) == expected
    assert found is None or not found.near


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("Guided tours will start at 9:00 for all", "Guided tours start at 9:00 for all ages."),
        ("Entries cost 15.50 euros on all Sundays", "Entry costs 15.50 euros on all Sundays."),
    ],
)  # fmt: skip
def test_nearly_the_same_words_are_marked(quote: str, text: str) -> None:
    found = locate(quote, text)
    assert found is not None
    assert found.near


@pytest.mark.parametrize(
    "quote",
    [
        "",
        "  “ ” ",
        "The tower is 200 m tall.",
        "The tower is 13",  # inside a number
        "39 m tall",
        "Entry costs 15",  # 15.50
        "50 euros",
        "it is “free” on Sundays – except for children under 6",
        "Guided tours do not start at 9:00 and last about an hour",
        "Dogs may not come in.",
        "Dogs may come in with their owners on a leash.",
        "Guided tours … The tower is 139 m tall",  # the wrong order
        "Cats may come in.",
        "Joan Smith wrote this book about towers",
    ],
)
def test_what_is_not_there_is_not_found(quote: str) -> None:
    assert locate(quote, TEXT + " John Smith wrote this book about towers.") is None


def test_ellipsis_does_not_reach_across_the_document() -> None:
    near, far = " x" * 50, " x" * LONGEST_GAP
    assert locate("it begins here … it ends there", f"it begins here{near} it ends there")
    assert locate("it begins here … it ends there", f"it begins here{far} it ends there") is None
    both = f"it begins here{near} and it begins here, then it ends there"
    found = locate("it begins here … it ends there", both)
    assert found is not None
    assert found.span.text == "it begins here, then it ends there"
    split = "it begins here", "it ends there"
    assert locate("it begins here … it ends there", *split) is None


def test_named_source_comes_first_and_an_exact_place_before_a_near_one() -> None:
    same = "Entry costs 5 euros for everyone today."
    found = locate("Entry costs 5 euros for everyone today", same, same, first="s1")
    assert found is not None
    assert found.span.source_id == "s1"
    near = locate(
        "Entry costs 5 euros for everyone today", "Entry cost 5 euros for everyone today", same
    )
    assert near is not None
    assert (near.span.source_id, near.near) == ("s1", False)


def test_quote_of_the_neutralised_text_is_found_in_the_original() -> None:
    text = "Prices: <|im_start|> is a to\u200bken of [INST] models; entry costs 5 euros."
    shown = neutralise_text(text)
    assert shown != text
    finder = QuoteFinder([make_source(text)], [shown])
    for quote in (shown[8:35], text[8:35], "is a to ken of", "is a token of"):
        found = finder.locate(quote)
        assert found is not None, quote
        assert text[found.span.start : found.span.end] == found.span.text


@pytest.mark.parametrize(
    ("quote", "claim", "thin"),
    [
        ("it is", "It is 139 m tall.", True),
        ("the", "It is.", True),
        ("139 m", "It is 139 m tall.", False),
        ("139 m", "The tower in the old town is 139 m tall today.", True),
        ("is 139 m tall", "The tower in the old town is 139 m tall today.", False),
    ],
)
def test_thin_quotes(quote: str, claim: str, thin: bool) -> None:
    assert is_thin(quote, claim) is thin


@given(st.text(max_size=200))
def test_a_whole_text_is_found_inside_another(text: str) -> None:
    bare = text.strip(" \t\r\n\"'“”„«»‘’…")
    found = locate(text, f"before {text} after")
    assert (found is not None) == bool(bare)
    assert found is None or found.span.text == bare


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=80), st.text(max_size=300))
def test_no_text_raises_and_spans_are_real(quote: str, text: str) -> None:
    locate(quote, text)


WORDS = st.sampled_from(["alpha", "Beta", "7", "3.5", "the", "gamma", "not", "Ωmega"])


@given(st.lists(WORDS, min_size=4, max_size=40), st.data())
def test_every_run_of_words_is_found_whatever_its_spacing_and_case(
    words: list[str], data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(words) - 2))
    end = data.draw(st.integers(start + 2, len(words)))
    found = locate("  ".join(words[start:end]).upper(), " ".join(words))
    assert found is not None
    assert found.span.text.lower() == " ".join(words[start:end]).lower()


def test_a_quote_without_end_is_not_looked_for():
    text = "the tower is the tower of " * 20_000
    began = time.thread_time()
    assert locate("the tower … " * 100_000, text) is None
    assert locate("x" * 30_000_000, text) is None
    assert time.thread_time() - began < 2.0
