"""Numbers and dates are written in one way, and nothing else is touched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.text.figures import write_figures


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("one hundred and fifty people", "150 people"),
        ("two million three hundred thousand", "2300000"),
        ("Twenty-five cats", "25 cats"),
        ("the twenty-first century", "the 21st century"),
        ("two-thirds of it", "2/3 of it"),
        ("half of it, a quarter of that", "50% of it, 25% of that"),
        ("a dozen, a million", "12, 1000000"),
        ("on 20/07/1969 and 20.07.1969", "on 1969-07-20 and 1969-07-20"),
        ("07/20/1969", "1969-07-20"),
        ("03/05/2024", "03/05/2024"),
        ("12 345 678 km", "12345678 km"),
        ("EUR 5, minus 5 degrees Celsius", "€5, -5 °C"),
        ("in World War II", "in World War 2"),
        ("90 kilometres per hour", "90 km/h"),
        ("two one-way tickets", "two one-way tickets"),
        ("one of the best; someone", "one of the best; someone"),
    ],
)
def test_figures(text: str, written: str) -> None:
    assert write_figures(text) == written
    assert write_figures(written) == written


@given(st.text(alphabet="abcdgjklmpq ,.'€-", max_size=60))
def test_text_without_numbers_stays(text: str) -> None:
    assert write_figures(text) == text
