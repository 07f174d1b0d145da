"""What is read of a text: worked out when asked for, once, and the same in every order."""

from __future__ import annotations

from functools import cached_property

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.judges.lazy import lazy
from claimwise.judges.reading import TextFacts, tells
from claimwise.text.words import is_common
from support.work import count_steps

WORDS = st.sampled_from(
    ["The", "tower", "is", "not", "139", "m", "tall", "on", "5 May 2020", "about", "İzmir", "open",
     "never", "but", "closed,", "1,500", "塔高", "isn't"]
)  # fmt: skip
TEXTS = st.lists(WORDS, max_size=12).map(" ".join)


def test_a_lazy_property_is_worked_out_once() -> None:
    asked: list[int] = []

    class Counted:
        @lazy
        def value(self) -> int:
            """Say how often it was asked."""
            asked.append(1)
            return len(asked)

    one, other = Counted(), Counted()
    assert (one.value, one.value, other.value, one.value) == (1, 1, 2, 1)


def list_properties() -> list[str]:
    classes = [cls for cls in TextFacts.__mro__ if cls is not object]
    return [name for cls in classes for name, it in vars(cls).items() if isinstance(it, lazy)]


def test_no_property_pays_for_a_lock() -> None:
    found = [it for cls in TextFacts.__mro__ for it in vars(cls).values()]
    assert not any(isinstance(it, cached_property) for it in found)
    assert {"words", "quantities", "denied"} <= set(list_properties())


@given(TEXTS, st.permutations(list_properties()))
def test_the_order_of_asking_changes_nothing(text: str, order: list[str]) -> None:
    asked, fresh = TextFacts(text), TextFacts(text)
    for name in order:
        getattr(asked, name)
    for name in list_properties():
        assert getattr(asked, name) == getattr(fresh, name)


@given(TEXTS)
def test_what_is_read_agrees(text: str) -> None:
    reading = TextFacts(text)
    assert [word.stem for word in reading.words] == reading.stems
    assert [word.stem for word in reading.telling] == reading.telling_stems
    assert reading.content == {stem for stem in reading.stems if not is_common(stem)}
    assert reading.undated <= reading.content
    assert len(reading.denied) <= len(reading.denials)
    assert all(tells(stem) for stem in reading.plain)


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("The tower is not open.", ["open"]),
        ("The tower is NOT open, and nobody paints it.", ["open", "paint"]),
        ("It is not only tall.", []),
        ("The tower is open.", []),
        ("It is tall, but never.", []),
    ],
)
def test_what_is_denied(text: str, denied: list[str]) -> None:
    assert [word.stem for word in TextFacts(text).denied] == denied


def test_dates_and_amounts_are_left_out_of_the_plain_words() -> None:
    reading = TextFacts("On 5 May 2020 the tower was 139 metres tall.")
    assert reading.plain == ["tower", "tall"]
    assert reading.undated == {"tower", "139", "metr", "tall"}
    assert reading.opposites == []  # none of its words has one


@pytest.mark.parametrize(
    "unit",
    [
        "5 May 1990 (A, 2019) ",
        "not red ",
        "No. which ",
        "139 m tall ",
        "hundred-",
        "a, but ",
        "塔not ",
    ],
)
def test_work_grows_with_the_text_only(unit: str) -> None:
    """Four times the text may take five times the steps, not sixteen times."""

    def read(size: int) -> int:
        text = TextFacts((unit * size)[:size])

        def read_all() -> None:
            for name in list_properties():
                getattr(text, name)
            for start, end in text.clauses:
                text.around(start, end, near=3, clause=True), text.beside(start, end)
                text.counted_by(end)

        return count_steps(read_all, most=5_000 * size)

    read(2_000)  # reads tables once
    assert read(8_000) < 5 * read(2_000)
