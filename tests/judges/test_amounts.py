"""Amounts: when two numbers can both be true, and which numbers are none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.judges.amounts import Amount, agree, comparable, entails, read_amounts, read_years
from claimwise.judges.facts import find_facts


def read(text: str) -> list[Amount]:
    found = read_amounts(find_facts(text))
    assert all(text[a.start : a.end].startswith(a.text) for a in found)
    return found


def one(text: str) -> Amount:
    (found,) = read(f"It is {text} here.")
    return found


@pytest.mark.parametrize(
    ("claimed", "told", "both"),
    [
        ("200 m", "139 m", False),
        ("about 140 m", "139 m", True),
        ("nearly 140 m", "139 m", True),
        ("about 200 m", "139 m", False),
        ("more than 100 rooms", "120 rooms", True),
        ("over 130 rooms", "136 rooms", True),
        ("more than 150 rooms", "120 rooms", False),
        ("120 rooms", "more than 100 rooms", True),
        ("90 rooms", "more than 100 rooms", False),
        ("at least 10 hours", "12 hours", True),
        ("less than 10 hours", "12 hours", False),
        ("under 10 hours", "8 hours", True),
        ("8 hours", "at most 10 hours", True),
        ("up to 10 hours", "10 hours", True),
        ("above 30 euros", "above 50 euros", False),  # thresholds are meant exactly
        ("4 days", "3 to 5 days", True),
        ("7 days", "3 to 5 days", False),
        ("3-5 days", "3 to 5 days", True),
        ("three to five days", "4 days", True),
        ("three to five days", "6 days", False),
        ("between 3 and 5 days", "4 days", True),
        ("5 to 7 days", "3 to 4 days", False),
        ("$5-10 million", "$7 million", True),
        ("$5-10 million", "$11 million", False),
        ("1.39 km", "1390 m", True),
        ("8 km", "5 miles", True),  # rounded in another unit
        ("6 km", "5 miles", False),
        ("5 km", "5 miles", False),
        ("8,849 m", "8,848.86 m", True),
        ("8,848.86 m", "8,849 m", True),
        ("1.2 million", "1,234,567", True),
        ("1,234,567", "1.2 million", True),
        ("1984", "the 1980s", True),
        ("the 1980s", "1984", True),
        ("the 1970s", "1984", False),
        ("52", "52-year", True),
        ("35th", "34th", False),
        ("6 pm", "18:00", True),
        ("6:30 p.m.", "18:30", True),
        ("6 pm", "17:00", False),
        ("6:00", "18:00", True),  # morning or evening is not said
        ("6 am", "18:00", False),
        ("12 am", "0:00", True),
        ("12 pm", "12:00", True),
    ],
)
def test_when_two_amounts_can_both_be_true(claimed: str, told: str, both: bool) -> None:
    assert agree(one(claimed), one(told)) is both
    assert comparable(one(claimed), one(told)) or "52" in claimed


@pytest.mark.parametrize(
    ("told", "claimed", "follows"),
    [
        ("120 rooms", "more than 100 rooms", True),
        ("more than 100 rooms", "120 rooms", False),
        ("4 days", "3 to 5 days", True),
        ("3 to 5 days", "4 days", False),
        ("139 m", "about 140 m", True),
        ("18:00", "6 pm", True),
        ("139 m", "139 kg", False),
        ("1,930 points", "1930 points", True),  # the one looks like a year
        ("1930 points", "1,930 points", True),
        ("1930 points", "1,931 points", False),
        ("more than 1,930 points", "1930 points", False),
        ("12,400 yen", "12 400 yen", True),
        ("12\u00a0400 yen", "12,400 yen", True),
        ("1 234 567 people", "1,234,567 people", True),
        ("12,400 yen", "12 500 yen", False),
    ],
)
def test_what_follows_from_what(told: str, claimed: str, follows: bool) -> None:
    assert entails(one(told), one(claimed)) is follows


def test_numbers_side_by_side_are_several() -> None:
    assert len(read("About 1200 400 people came.")) == 2
    assert len(read("Rooms 101 102 103 are free.")) == 3
    assert len(read("It has 2 100-mile routes.")) == 2


@pytest.mark.parametrize(
    "text",
    [
        "COVID-19 spread.",
        "The SM U-30 sank.",
        "He played for the under-21 team.",
        "It is open 24/7 here.",
        "It is about 1/3 of them.",
        "It has two hundred and fifty rooms.",
        "See https://example.org/2017/05.",
    ],
)
def test_what_is_no_amount(text: str) -> None:
    assert read(text) == []


def test_different_kinds_are_not_compared() -> None:
    for first, second in (
        ("5 euros", "5 dollars"),
        ("5 m", "5 kg"),
        ("34th", "34"),
        ("1931", "1,931"),
    ):
        assert not comparable(one(first), one(second))


def test_years_of_dates() -> None:
    years = read_years(find_facts("She was born on 7 November 1867, he on 3 May."))
    assert [(year.low, year.text) for year in years] == [(1867, "7 November 1867")]


@given(st.text(alphabet="0123456789.,:-–/ apmto$€%kday", max_size=60))
def test_amounts_never_fail_and_agree_with_themselves(text: str) -> None:
    for amount in read_amounts(find_facts(text)):
        assert amount.low <= amount.high
        if amount.hedge not in ("more", "less") or amount.given:
            assert agree(amount, amount)
