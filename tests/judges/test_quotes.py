"""Where a model's quote really stands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.judges.quotes import LONGEST_GAP, Located, QuoteFinder, is_thin
from claimwise.llm.fencing import neutralise_text
from claimwise.types.verdicts import Span
from judges.judged import make_source
from support.work import count_steps

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
        ("it isn't 'free' on Sundays—except", "it isn’t “free” on Sundays – except"),
        ("…Guided tours start at 9:00…", "Guided tours start at 9:00"),
        ("[...] Guided tours start at 9:00...", "Guided tours start at 9:00"),
        ("Guided tours start at 9:00.", "Guided tours start at 9:00"),
    ],
)  # fmt: skip
def test_copies_of_the_source_are_found(quote: str, expected: str) -> None:
    found = locate(quote)
    assert found is not None
    assert (found.span.text, found.approximate) == (expected, False)


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("The tower is 139 m tall", "The **tower** is _139 m_ tall, `said` he."),
        ("first one second one", "- first one\n- second one"),
        ("Fees Entry costs 5 euros", "## Fees\n\n> Entry costs\n> 5 euros"),
        ("The tower is tall. It is old.", "The tower[12] is tall.[1][2] It is old.³"),
        ("The tower[1] is tall", "The tower[1] is\ntall."),
        ("Open it. Close it.", "1. Open it.\n2. Close it."),
        ("see the price list first", "Please see [the price list](https://example.com/a) first."),
        ("The tower is 139 m tall", "<p>The tower is <b class='x'>139 m</b> tall.</p>"),
        ("for example the long-term plan", "for exam-\nple the long-term plan"),
        ("a long-term plan", "a long-\n  term plan"),
        ("an oﬀice ﬁle", "an office file"),
        ("office file at 5 euros", "of\u00adfice ﬁle at\u00a05 euros"),
        ("café in Ｔｏｋｙｏ", "cafe\u0301 in Tokyo"),
        ("ΟΔΟΣ στην Αθήνα", "οδος στην Αθήνα"),
        ("塔の高さは139メートル", "塔の高さ は139メートルです。"),
        ("Wait... what happened?", "Wait… what happened?"),
        ("It costs 5 000 euros, 5% more", "It costs 5\u202f000 euros, 5 % more."),
    ],
)
def test_what_copies_differ_in_without_meaning_something_else(quote: str, text: str) -> None:
    found = locate(quote, text)
    assert found is not None
    assert not found.approximate


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("Entry closes before 9:00 on Sundays.", "Entry closes after 9:00 on Sundays."),
        ("Visitors may leave dogs outside.", "Visitors must leave dogs outside."),
        ("All visitors paid the entry fee.", "Some visitors paid the entry fee."),
        ("Trains run from Bonn to Trier daily.", "Trains run to Bonn from Trier daily."),
        ("Pay by card and cash here.", "Pay by card or cash here."),
        ("Entry costs £5 for adults.", "Entry costs 5 for adults."),
        ("The lowest value was -5 degrees outside.", "The lowest value was 5 degrees outside."),
        ("Growth was 5% last year.", "Growth was 5 last year."),
        ("The plant yields 5 MW of power.", "The plant yields 5 mW of power."),
        ("The plant yields 5MW of power.", "The plant yields 5mW of power."),
        ("The area is 10² units.", "The area is 102 units."),
        ("Der Turm ist schön alt heute.", "Der Turm ist schon alt heute."),
        ("The board is 6' long today.", "The board is 6\" long today."),
        ("Are all dogs allowed in the park?", "Are all dogs allowed in the park."),
        ("So all dogs are allowed in the park?", "all dogs are allowed in the park"),
        ("Eat, visitors of the park!", "Eat visitors of the park!"),
        ("The fee is ~~waived~~ for visitors.", "The fee is waived for visitors."),
        ("The fee was\n- 5 euros for visitors.", "The fee was 5 euros for visitors."),
        ("The tour is free* for visitors today.", "The tour is free for visitors today."),
        ("Dogs may come in on all Sundays.", "Dogs may not come in on all Sundays."),
        ("It isn’t free on Sundays in May.", "It is free on Sundays in May."),
        ("if a <b and c> holds, trains stop", "if a holds, trains stop"),
        ("Opens on\n5. May in Bonn today", "Opens on May in Bonn today"),
    ],
)  # fmt: skip
def test_a_changed_quote_is_never_what_the_source_says(text: str, quote: str) -> None:
    found = locate(quote, text)
    assert found is None or found.approximate


@pytest.mark.parametrize(
    ("quote", "text", "passage"),
    [
        ("Guided tours will start at 9:00 for all", "Guided tours start at 9:00 for all ages.",
         "Guided tours start at 9:00 for all"),
        ("Entries cost 15.50 euros on all Sundays", "So entry costs 15.50 euros on all Sundays.",
         "entry costs 15.50 euros on all Sundays"),
        ("But visitors must leave dogs outside", "And visitors may leave dogs outside.",
         "And visitors may leave dogs outside"),
        ("Entry costs 5 for adults", "Entry costs £5 for adults.", "Entry costs £5 for adults"),
    ],
)  # fmt: skip
def test_the_same_telling_words_are_approximate(quote: str, text: str, passage: str) -> None:
    found = locate(quote, text)
    assert found is not None
    assert (found.span.text, found.approximate) == (passage, True)


@pytest.mark.parametrize(
    "quote",
    [
        "",
        "  “ ” ",
        "… [...] …",
        "The tower is 200 m tall.",
        "The tower is 13",  # inside a number
        "39 m tall",
        "Entry costs 15",  # 15.50
        "50 euros",
        "Dogs may not come in.",
        "Dogs may come in with their owners on a leash.",
        "Guided tours … The tower is 139 m tall",  # the wrong order
        "Cats may come in.",
        "Joan Smith wrote this book about towers",
    ],
)
def test_what_is_not_there_is_not_found(quote: str) -> None:
    assert locate(quote, TEXT + " John Smith wrote this book about towers.") is None


@pytest.mark.parametrize(
    ("text", "part"),
    [("It is -5 degrees.", "5 degrees"), ("It costs £5 here.", "5 here"), ("It is .5 mg.", "5 mg"),
     ("It costs 5 000 euros.", "It costs 5"), ("It costs 5 %.", "It costs 5"),
     ("It costs £ 5 now.", "5 now"), ("It is 5 km/h fast.", "It is 5 km"),
     ("Take 5-10 mg.", "10 mg"), ("It costs 5% more.", "It costs 5"), ("At 9:30 it", "At 9")],
)  # fmt: skip
def test_a_number_is_quoted_whole(text: str, part: str) -> None:
    assert part in text
    assert locate(part, text) is None


def test_ellipsis_shows_what_it_leaves_out() -> None:
    text = "The tower, which the council of Bonn owns, is tall. It is open to visitors. Dogs wait."
    assert locate("Tower … visitors", text) is None, "a part of one word could stand anywhere"
    found = locate("which the council … is tall. [...] open to visitors.", text)
    assert found is not None
    assert found == (
        Span(source_id="s0", start=11, end=74, text=text[11:74]),
        ("of Bonn owns,", ". It is"),
        False,
    )
    marked = locate("The tower is tall … It is open", "The tower is tall.[1] It is open.")
    assert marked is not None
    assert (marked.left_out, marked.approximate) == ((), False), "a footnote marker is no word"
    found = locate("The tower, which the council of Bonn owns, … is tall", text)
    assert found is not None
    assert (found.left_out, found.approximate) == ((), False), "nothing is left out"


@pytest.mark.parametrize(
    "gap",
    [
        "never", "that did not", "without doubt", "except those that", "only when dry", "if open,",
        "on 5 days", "twelve times", "at £", "or else", "may some day", "unless closed", "don't",
        "has some. The dogs live. The cats",  # a whole sentence between them
        "und nicht die Katzen aber auch der Hund",  # no language whose turns are known
    ],
)  # fmt: skip
def test_an_ellipsis_over_a_turn_is_approximate(gap: str) -> None:
    text = f"The old tower {gap} lets dogs come in."
    found = locate("The old tower … dogs come in", text)
    assert found is not None
    assert found.approximate
    assert found.left_out == (f"{gap} lets",)
    harmless = locate("The old tower … dogs come in", "The old tower of Bonn lets dogs come in.")
    assert harmless is not None
    assert not harmless.approximate


def test_an_ellipsis_in_a_question_is_approximate() -> None:
    found = locate("The old tower … dogs come in", "The old tower of Bonn lets dogs come in?")
    assert found is not None
    assert found.approximate


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


def test_named_source_comes_first_and_an_equal_place_before_a_similar_one() -> None:
    same = "Entry costs 5 euros for everyone today."
    found = locate("Entry costs 5 euros for everyone today", same, same, first="s1")
    assert found is not None
    assert found.span.source_id == "s1"
    similar = "Entry cost 5 euros for everyone today"
    found = locate("Entry costs 5 euros for everyone today", similar, same)
    assert found is not None
    assert (found.span.source_id, found.approximate) == ("s1", False)


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


# A quote, and what its source repeats.
HOSTILE = {
    "content words": ("alpha is a beta of gamma " * 60, "alpha was the beta in gamma "),
    "parts": ("the tower … " * 6 + "the end", "the tower of the tower "),
    "one word": ("a " * 4_000 + "b", "a "),
    "one letter": ("x" * 5_000, "x"),
    "inside a number": ("5", "15 25 "),
    "unspaced": ("塔" * 3_000 + "高", "塔"),
    "links": ("a [b" * 900, "[a]("),
    "too many parts": ("the tower … " * 800, "the tower of "),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_work_grows_with_the_text_only(name: str) -> None:
    """Every character may cost a fixed number of steps, whatever quote and source are like."""
    quote, unit = HOSTILE[name]
    for size in (2_000, 8_000):
        finder = QuoteFinder([make_source((unit * size)[:size])])
        count_steps(lambda: finder.locate(quote), most=500 * (size + len(quote)))  # noqa: B023


def test_a_quote_without_end_is_not_looked_for() -> None:
    finder = QuoteFinder([make_source("the tower is the tower of " * 20_000)])
    assert count_steps(lambda: finder.locate("x" * 30_000_000), most=100)
    assert finder.locate("the tower " * 100_000) is None
