"""Stems, numbers, pairs of characters, and where words stand."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from claimwise.text import words as words_module
from claimwise.text.words import Word, find_stem, is_common, lower_letters, read_stems, read_words


@pytest.mark.parametrize(
    ("words", "stem"),
    [
        (("tower", "towers", "Towers", "tower's", "tower’s"), "tower"),
        (("city", "cities"), "city"),
        (("church", "churches"), "church"),
        (("box", "boxes"), "box"),
        (("walk", "walks", "walked", "walking"), "walk"),
        (("stop", "stopped", "stopping", "stops"), "stop"),
        (("close", "closes", "closed", "closing"), "clos"),
        (("quick", "quickly"), "quick"),
        (("pass", "passes", "passed"), "pass"),
        (("bus",), "bus"),
        (("red",), "red"),  # too short to lose an ending
        (("ring",), "ring"),
        (("Été",), "été"),
    ],
)
def test_stems_join_the_forms_of_a_word(words: tuple[str, ...], stem: str) -> None:
    assert {find_stem(word) for word in words} == {stem}


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("1,390", "1390"),
        ("12,345,678", "12345678"),
        ("1.50", "1.5"),
        ("2.0", "2"),
        ("100", "100"),
        ("1,5", "1,5"),
        ("1.2.30", "1.2.30"),
        ("007", "007"),
    ],
)
def test_numbers_lose_separators_and_needless_zeros(written: str, plain: str) -> None:
    assert find_stem(written) == plain


def test_words_know_their_places() -> None:
    text = "The tower’s height: 1,390 m — it's «old»."
    words = read_words(text)
    assert [text[w.start : w.end] for w in words] == [
        "The",
        "tower’s",
        "height",
        "1,390",
        "m",
        "it's",
        "old",
    ]
    assert [w.stem for w in words] == ["the", "tower", "height", "1390", "m", "it", "old"]


def test_unspaced_scripts_are_counted_by_pairs() -> None:
    words = read_words("塔高139米。东京 tower")
    assert [w.stem for w in words] == ["塔高", "139", "米", "东京", "tower"]
    assert [w.stem for w in read_words("东京都")] == ["东京", "京都"]
    assert [(w.start, w.end) for w in read_words("东京都")] == [(0, 2), (1, 3)]


def test_a_lone_character_is_a_word() -> None:
    assert [w.stem for w in read_words("139米")] == ["139", "米"]


@pytest.mark.parametrize("word", ["the", "is", "during", "those", "was"])
def test_common_words_carry_nothing(word: str) -> None:
    assert is_common(find_stem(word))
    assert not is_common(find_stem("tower"))


@pytest.mark.parametrize("word", ["I've", "doesn't", "they're", "we'll", "isn’t"])
def test_contractions_carry_nothing(word: str) -> None:
    assert all(is_common(w.stem) for w in read_words(word))


@given(st.text(max_size=80))
@example("N'T")
def test_reading_words_never_fails_and_has_two_ways(text: str) -> None:
    words = read_words(text)
    assert [w.stem for w in words] == read_stems(text)
    assert all(text[w.start : w.end] and w.stem for w in words)
    assert all(a.start < b.start and a.end <= len(text) for a, b in pairwise(words))


@given(st.text(max_size=40), st.sampled_from([" ", "\n", "\u3000", "\x1c"]), st.text(max_size=40))
def test_no_word_goes_across_a_space(left: str, space: str, right: str) -> None:
    begin = len(left) + 1
    moved = [Word(stem, start + begin, end + begin) for stem, start, end in read_words(right)]
    assert read_words(left + space + right) == read_words(left) + moved


def test_what_is_remembered_of_hostile_text_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = words_module._Memory(str.upper)
    monkeypatch.setattr(words_module._Memory, "_MOST", 10)
    for number in range(100):
        assert memory[f"word{number}"] == f"WORD{number}"
        assert len(memory) <= 10
    kept = len(memory)
    assert memory["x" * 1000] == "X" * 1000
    assert len(memory) == kept


@given(st.text(max_size=80))
def test_small_letters_keep_their_places(text: str) -> None:
    small = lower_letters(text + "İ")
    assert len(small) == len(text) + 1
    assert small[-1] == "i"
    assert text.lower() == small[:-1] or not text.isascii()
