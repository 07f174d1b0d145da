"""Borders of sentences: tables of cases written by hand, invariants, and time."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

import nupunkt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.text import find_sentences, sentences
from support.growth import grows_evenly


def record_what_nupunkt_is_given(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list to which each text that nupunkt is given will be added."""
    given: list[str] = []

    def find_nothing(text: str) -> list[tuple[int, int]]:
        given.append(text)
        return []

    monkeypatch.setattr(nupunkt, "sent_spans", find_nothing)
    return given


def split(text: str) -> list[str]:
    return [text[start:end] for start, end in find_sentences(text)]


# A bar stands for a border.
PROSE = [
    "Dr. Smith moved to the U.S. in 1990. | He works at St. Mary's Hospital.",
    "J. R. R. Tolkien wrote it. | It sold 3.5 million copies.",
    "Take 2.5 mg, i.e. half a tablet. | Stop after 3 days.",
    "Use a solvent, e.g. acetone. | Do not inhale it.",
    "The dose is 5 mg. | The maximum is 10 mg.",
    "It opens at 9 a.m. and closes at 5 p.m. | On Sundays it is closed.",
    "See https://example.com/a.b?c=1.2 for more. | It is free.",
    'He said "Go." | Then he left.',
    "He said “Stop!” | She went on.",
    'He asked "Why?" and left. | Nobody knew.',
    "Wait... what happened? | Nothing… | It was late.",
    "Is it open? | (Yes, it is.) | Fine.",
    "Smith v. Jones, 5 U.S. 137 (1803), is old. | It still holds.",
    "Vitamin B. | It is soluble.",
    "World War I. | The war began in 1914.",
    "No. | Refunds take 5 days. | Room No. 5 is open.",
    "He works at Google Inc. | The firm is large.",
    "Version 2.0.1 is out. | Node.js 18 is needed.",
    "What?! | Yes!! | Really.",
    "Run `a.b. C` first. | Then stop.",
    "«Bonjour.» | Il part.",
    "It was built in 1990.[1][2] | It grew. [3] | It is large.",
    "It was built in 1990.¹ | It grew.",
    "Rates fell (Smith, 2019). | They rose. (Source: ECB, 2020) | They fell.",
    "Rates fell.【4†source】 | They rose.",
    "1. Open it. | 2. Close it.",
    'They fed the Food Bank. | "E-Week" is in spring.',
    "Yahoo! is a firm. | It is old.",
    "Dogs are welcome on a lead. | Cats are not.",
]
OTHER_SCRIPTS = [
    "北京是中国的首都。|上海很大！|真的吗？|“是的。”|他说。",
    "真的吗?|是的!|好。",
    "「はい。」と言った。|次の文です。|終わり",
    "彼は『行く！』|そして出た。",
    "كيف حالك؟ | جيد.",
    "यह सच है। | वह झूठ है।",
]
LINES = [
    ("One paragraph\n\nAnother one", ["One paragraph", "Another one"]),
    ("# Title\nText. More.", ["# Title", "Text.", "More."]),
    ("Title\n=====\nText", ["Title", "=====", "Text"]),
    ("- first one\n- second. Third\n* last", ["- first one", "- second.", "Third", "* last"]),
    ("1. one\n2) two\n(3) three", ["1. one", "2) two", "(3) three"]),
    ("- an item\n  that goes on\n- next", ["- an item\n  that goes on", "- next"]),
    (
        "| a. b | c |\n|---|---|\n| Dr. No. It | 2 |",
        ["| a. b | c |", "|---|---|", "| Dr. No. It | 2 |"],
    ),
    ("A | b\n--- | ---\n1 | 2", ["A | b", "--- | ---", "1 | 2"]),
    (
        "Run:\n```py\nx = 1. Y\n\nz\n```\nDone. Ok.",
        ["Run:", "```py\nx = 1. Y\n\nz\n```", "Done.", "Ok."],
    ),
    ("Before.\n~~~\nnever closed. No", ["Before.", "~~~\nnever closed. No"]),
    ("12 Main Street\nSpringfield\nIL 62701", ["12 Main Street", "Springfield", "IL 62701"]),
    ("Name: Ann\r\nAge: 5\r\n\r\nEnd", ["Name: Ann", "Age: 5", "End"]),
    (
        "This is prose that somebody wrapped by hand at a width\n"
        "of some fifty to sixty characters; it names Dr. Albert\n"
        "Einstein on the way. The second sentence begins in the\nmiddle.",
        [
            "This is prose that somebody wrapped by hand at a width\n"
            "of some fifty to sixty characters; it names Dr. Albert\nEinstein on the way.",
            "The second sentence begins in the\nmiddle.",
        ],
    ),
    ("> Quoted. Twice.\n\nPlain.", ["> Quoted.", "Twice.", "Plain."]),
    ("page one\fpage two", ["page one", "page two"]),
]


@pytest.mark.parametrize("marked", PROSE)
def test_prose_is_cut_at_full_stops_only(marked: str) -> None:
    assert split(marked.replace(" | ", " ")) == marked.split(" | ")


@pytest.mark.parametrize("marked", OTHER_SCRIPTS)
def test_full_stops_of_other_scripts_end_sentences(marked: str) -> None:
    spaced = " | " in marked
    bar = " | " if spaced else "|"
    assert split(marked.replace(bar, " " if spaced else "")) == marked.split(bar)


@pytest.mark.parametrize(("text", "sentences"), LINES)
def test_lines_that_are_not_wrapped_prose_stand_alone(text: str, sentences: list[str]) -> None:
    assert split(text) == sentences


@pytest.mark.parametrize("text", ["", " ", "\n\n\t", "\u2028"])
def test_nothing_gives_nothing(text: str) -> None:
    assert find_sentences(text) == []


FRAGMENTS = [
    *"aZ9é中。！」'\"“”().,;:!?…-*#|`>[]\n\r\t\0\ud800\u200f\u2029¹",
    "- ", "1. ", "```", "~~~", "# ", "No. ", "e.g. ", "Dr. ", "[1]", "http://a.b", "\n\n", "? ",
]  # fmt: skip
HOSTILE = st.lists(st.sampled_from(FRAGMENTS) | st.characters(), max_size=60).map("".join)


@given(HOSTILE)
def test_sentences_are_in_order_and_hold_all_that_is_not_space(text: str) -> None:
    covered = bytearray(len(text))
    last = 0
    for start, end in find_sentences(text):
        assert last <= start < end
        assert text[start:end] == text[start:end].strip()
        covered[start:end] = b"\1" * (end - start)
        last = end
    assert all(inside or char.isspace() for inside, char in zip(covered, text, strict=True))


def grows_with(unit: str, size: int, *, times: int = 4) -> bool:
    """Tell whether the time for a text of so many units grows with their number only."""

    def repeat(number: int) -> Callable[[], object]:
        text = unit * number
        return lambda: find_sentences(text)

    return grows_evenly(repeat, size, times=times)


UNITS = [
    *(" ", ".", "\"", "(", "[", "`", "#", "|", "-", "\0", "¹", "。", "」", "word "),
    *("No. ", "1. ", "A. The ", "? ! ", "… ", "- a\n", "> ", "```\n", "'.\" ", "[1", "【1", ".¹ "),
    *("!", "?", ".)", "?!\"", "…) "),
    *("e.g. The ", "\ud800. ", "(A, ", "= ", "The tower is 139 m tall, says Dr. No. It opened. "),
]  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_time_grows_with_length_only(unit: str) -> None:
    assert grows_with(unit, 20_000 // len(unit))


STOPS = re.compile("[.!?…]")


@pytest.mark.parametrize(
    "unit", ["!", "?", ".)", "!?", "a.)", '…"', "x" * 600 + "!", "!" * 400 + " "]
)
def test_nupunkt_is_given_work_that_grows_with_length_only(
    unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From every stop nupunkt looks to the end of the run that it stands in."""
    given = record_what_nupunkt_is_given(monkeypatch)
    text = "Dr. No. " + unit * (100_000 // len(unit))
    find_sentences(text)
    assert sum(map(len, given)) == len(text)
    runs = [run for block in given for run in block.split()]
    assert sum(len(STOPS.findall(run)) * len(run) for run in runs) <= 500 * len(text)


def test_stops_of_a_long_run_that_count_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    given = record_what_nupunkt_is_given(monkeypatch)
    address = "https://example.com/?" + "&".join(f"a{n}=x.y" for n in range(40))
    short, long = f"See {address}. e.g. It", f"See {address}{'z' * 400}. e.g. It"
    many = f"See {'a.b' * 400}. e.g. It"
    for text in (short, long, many):
        find_sentences(text)
    assert given[:2] == [short, long]
    assert (given[2][4:8], given[2][-12:]) == ("axba", many[-12:])
    assert (len(given[2]), STOPS.findall(given[2][:-8])) == (len(many), ["."] * 50)


def test_an_enumerator_is_looked_for_once_at_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where borders are dropped, the same beginning is not read again for each of them."""
    looked = 0

    class Counting:
        def match(self, block: str, begin: int) -> re.Match[str] | None:
            nonlocal looked
            found = pattern.match(block, begin)
            looked += found.end() - begin if found else 0
            return found

    pattern = sentences._ENUMERATOR
    monkeypatch.setattr(sentences, "_ENUMERATOR", Counting())
    text = "1." + " " * 500 + "a! " * 500
    assert split(text) == [text.strip()]
    assert 0 < looked <= len(text)


def test_a_line_of_100_000_words_and_a_text_of_a_megabyte() -> None:
    sentence = "The tower of Dr. Hill is 139.5 m tall and was opened in the U.S. style in 1990. "
    assert grows_with("word ", 25_000)
    assert grows_with(sentence, 1_500)
    page = sentence * 5 + "\n\n- an item of a list\n"
    assert len(page) * 2_400 > 1_000_000
    assert grows_with(page, 600)


PLAIN_SENTENCE = st.builds(
    lambda first, rest, stop: " ".join([first, *rest]) + stop,
    st.sampled_from(["The", "It", "Dogs", "However", "Anna", "Trains", "A"]),
    st.lists(st.sampled_from(["tower", "was", "3.5", "built", "by", "e.g", "Paris"]), min_size=1)
    .map(lambda words: [*words, "tall"]),
    st.sampled_from([".", "!", "?"]),
)  # fmt: skip


@given(st.lists(PLAIN_SENTENCE, min_size=1, max_size=6), st.sampled_from([" ", "  ", "\t"]))
def test_borders_of_plain_text_are_found_without_a_model(sentences: list[str], gap: str) -> None:
    """Where every stop is certain, nupunkt is not asked: it could not add a border."""
    text = gap.join(sentences)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "nupunkt", None)  # importing it would fail
        assert split(text) == sentences
    assert {start for start, _ in nupunkt.sent_spans(text)} <= {s for s, _ in find_sentences(text)}


def test_a_stop_that_may_be_no_border_is_left_to_the_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "He read J. R. R. Tolkien twice. The two never met."
    assert split(text) == ["He read J. R. R. Tolkien twice.", "The two never met."]
    monkeypatch.setitem(sys.modules, "nupunkt", None)
    with pytest.raises(ImportError):
        find_sentences(text)


def test_many_spaces_after_a_stop_end_a_sentence() -> None:
    text = "It rains." + " " * 40 + "It snows."
    assert [text[start:end] for start, end in find_sentences(text)] == ["It rains.", "It snows."]
