"""Differences of two runs over the same items."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from claimwise.metrics.paired import compare_items, correlate_runs, split_change

ITEM = st.integers(0, 8).flatmap(lambda m: st.tuples(st.integers(0, m), st.just(m)))
ITEMS = st.lists(st.tuples(ITEM, ITEM), min_size=1, max_size=40)
Side = tuple[list[int], list[int]]


def to_sides(items: list[tuple[tuple[int, int], tuple[int, int]]]) -> tuple[Side, Side]:
    base, new = (([p[n][0] for p in items], [p[n][1] for p in items]) for n in (0, 1))
    return base, new


def test_one_claim_an_item_is_the_paired_t_test() -> None:
    generator = np.random.default_rng(3)
    base = generator.binomial(1, 0.7, 80)
    new = np.where(generator.random(80) < 0.3, generator.binomial(1, 0.5, 80), base)
    ones = np.ones(80)
    found = compare_items(base, ones, new, ones)
    expected = scipy.stats.ttest_rel(new, base).confidence_interval(0.95)
    assert found is not None
    assert found.interval(0.95) == pytest.approx((expected.low, expected.high))
    assert found.error == found.measured
    assert found.bound(0.95, upper=True) == pytest.approx(
        scipy.stats.ttest_rel(new, base).confidence_interval(0.90).high
    )


def test_pairing_is_narrower_than_two_samples_and_breaks_with_shuffled_items() -> None:
    generator = np.random.default_rng(1)
    chance = generator.beta(4, 1, 200)
    units = generator.integers(1, 9, 200)
    base, new = generator.binomial(units, chance), generator.binomial(units, chance)
    paired = compare_items(base, units, new, units)
    order = generator.permutation(200)
    apart = compare_items(base, units, new[order], units[order])
    assert paired is not None
    assert apart is not None
    assert paired.change == pytest.approx(apart.change)
    assert paired.error < 0.9 * apart.error


def test_same_answers_twice_are_no_proof_of_sameness() -> None:
    """No item differs: the measured spread is zero, and zero is what nobody may believe."""
    found = compare_items([3] * 40, [3] * 40, [3] * 40, [3] * 40)
    assert found is not None
    assert found.change == 0
    assert found.measured == 0
    low, high = found.interval(0.95)
    assert low < -0.01 < 0.01 < high


@pytest.mark.parametrize("unlike", [0, 2])
def test_items_that_all_change_alike_have_a_spread_too(unlike: int) -> None:
    """Sixty items that all lose half of their claims do not show a loss of exactly half."""
    base, new = np.full(60, 2), np.full(60, 1)
    new[:unlike] = 2
    found = compare_items(base, base, new, base)
    assert found is not None
    low, high = found.interval(0.95)
    assert high - low > 0.1
    assert -0.6 < low < found.change < high < 0
    assert found.measured < found.error


def test_one_item_says_nothing_and_no_units_give_none() -> None:
    found = compare_items([1], [2], [2], [2])
    assert found is not None
    assert found.interval(0.95) == (-1.0, 1.0)
    assert compare_items([0, 0], [0, 0], [1, 1], [1, 1]) is None
    assert compare_items([], [], [], []) is None


@given(ITEMS)
def test_swapping_the_runs_turns_the_change_round(
    items: list[tuple[tuple[int, int], tuple[int, int]]],
) -> None:
    base, new = to_sides(items)
    there, back = compare_items(*base, *new), compare_items(*new, *base)
    assert (there is None) == (back is None)
    if there is None or back is None:
        return
    assert there.change == pytest.approx(-back.change)
    assert there.error == pytest.approx(back.error)
    low, high = there.interval(0.95)
    assert -1 <= low <= there.change + 1e-12
    assert there.change - 1e-12 <= high <= 1


@given(ITEMS)
def test_contributions_add_up_to_the_change(
    items: list[tuple[tuple[int, int], tuple[int, int]]],
) -> None:
    base, new = to_sides(items)
    found = compare_items(*base, *new)
    if found is None:
        return
    parts = split_change(*base, *new)
    assert math.fsum(parts) == pytest.approx(found.change, abs=1e-12)


def test_longer_answers_alone_add_nothing() -> None:
    parts = split_change([2, 2, 1], [2, 2, 2], [4, 4, 2], [4, 4, 4])
    assert parts == pytest.approx([0, 0, 0])


def test_correlation_of_runs() -> None:
    assert correlate_runs([0, 1, 2], [2, 2, 2], [0, 1, 2], [2, 2, 2]) == pytest.approx(1)
    assert correlate_runs([0, 1, 2], [2, 2, 2], [2, 1, 0], [2, 2, 2]) == pytest.approx(-1)
    assert correlate_runs([2, 2], [2, 2], [0, 2], [2, 2]) is None
    assert correlate_runs([1], [2], [1], [2]) is None
    assert correlate_runs([0, 0], [0, 0], [1, 0], [1, 1]) is None
