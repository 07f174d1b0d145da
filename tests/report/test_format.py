from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.report.format import (
    describe_bounds,
    show_difference,
    show_exact_percent,
    show_number,
    show_percent,
    show_percent_range,
    show_ranged_number,
    show_rate,
)

SHARES = st.floats(min_value=0, max_value=1)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "—"), (0, "0%"), (1, "100%"), (0.5, "50%"), (0.0994, "9.9%"), (0.0996, "10%"),
        (0.9004, "90%"), (0.9006, "90.1%"), (0.0005, "0.1%"), (0.0004, "0.04%"),
        (0.00004, "0.004%"), (0.9994, "99.9%"), (0.9996, "99.96%"), (0.99996, "99.996%"),
    ],
)  # fmt: skip
def test_shares_are_percent_with_the_decimals_that_tell(value: float | None, shown: str) -> None:
    assert show_percent(value) == shown


@given(SHARES)
def test_only_none_and_all_read_as_none_and_all(share: float) -> None:
    told = float(show_percent(share)[:-1])
    if 1e-9 < share < 1 - 1e-9:
        assert 0 < told < 100
        away = min(share, 1 - share)  # rounded to within a half of the last digit that is shown
        assert abs(told / 100 - share) <= max(0.0051 if away >= 0.0995 else 0.00051, away / 2)
    else:
        assert told == pytest.approx(100 * share, abs=1e-6)


@given(SHARES, SHARES)
def test_a_range_holds_what_lies_in_it(one: float, other: float) -> None:
    low, high = sorted((one, other))
    start, _, end = show_percent_range(low, high)[:-1].partition("–")
    assert float(start) <= 100 * low + 0.501
    assert float(end) >= 100 * high - 0.501
    assert (start == "0") == (low < 0.0005)
    assert (end == "100") == (high > 0.9995)


def test_rates_differences_and_other_figures() -> None:
    assert show_rate(0.88, 0.82, 0.92) == "88% (82–92.0%)"
    assert (show_rate(0.88, None, None), show_rate(None, None, None)) == ("88%", "—")
    assert (show_difference(0.0912), show_difference(None)) == ("9.1", "—")
    assert [show_number(value) for value in (1.434, -0.031, -0.001)] == ["1.43", "−0.03", "0.00"]
    assert show_ranged_number(0.59, 0.33, 0.75) == "0.59 (0.33–0.75)"
    assert show_ranged_number(0.19, -0.05, 0.43) == "0.19 (−0.05 to 0.43)"
    assert [show_exact_percent(value) for value in (0.95, 0.999, 0.805)] == [
        "95%", "99.9%", "80.5%"
    ]  # fmt: skip
    assert describe_bounds(0, 0.5, 1) == "0–50% whatever it is"
    assert describe_bounds(0.33, 1, 2) == "33–100% whatever they are"
