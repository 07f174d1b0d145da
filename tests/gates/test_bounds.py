"""The bound that gates decide by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.gates.bounds import bound_to_fail, bound_to_pass
from claimwise.metrics.histogram import Histogram
from claimwise.metrics.intervals import korn_graubard_bound

Bound = Callable[[Histogram, float, Any], float | None]
both = pytest.mark.parametrize("bound_rate", [bound_to_pass, bound_to_fail])
pairs = st.lists(
    st.tuples(st.integers(0, 8), st.integers(1, 8), st.integers(1, 40)).map(
        lambda row: (min(row[0], row[1]), row[1], row[2])
    ),
    min_size=1,
    max_size=6,
)


@both
def test_few_items_say_nothing(bound_rate: Bound) -> None:
    one = Histogram.from_pairs([(3, 3, 1)])
    assert bound_rate(Histogram.from_pairs([]), 0.95, "lower") is None
    assert bound_rate(one, 0.95, "lower") == 0.0
    assert bound_rate(one, 0.95, "upper") == 1.0


@both
@given(pairs)
def test_a_bound_is_beyond_the_rate_and_further_with_more_confidence(
    bound_rate: Bound, rows: list[tuple[int, int, int]]
) -> None:
    h = Histogram.from_pairs(rows)
    rate = h.hits / h.units
    low, lower = (bound_rate(h, level, "lower") for level in (0.95, 0.9975))
    high, higher = (bound_rate(h, level, "upper") for level in (0.95, 0.9975))
    assert low is not None
    assert lower is not None
    assert high is not None
    assert higher is not None
    assert 0 <= lower <= low <= rate + 1e-9
    assert rate - 1e-9 <= high <= higher <= 1


@both
@given(pairs.filter(lambda rows: sum((2 * a - b) * c for a, b, c in rows) != 0))
def test_both_sides_are_alike(bound_rate: Bound, rows: list[tuple[int, int, int]]) -> None:
    h = Histogram.from_pairs(rows)
    turned = Histogram.from_pairs([(units - hits, units, count) for hits, units, count in rows])
    low, high = bound_rate(h, 0.95, "lower"), bound_rate(turned, 0.95, "upper")
    assert low is not None
    assert high is not None
    assert low == pytest.approx(1 - high, abs=1e-9)


@both
@given(pairs)
def test_it_is_never_bolder_than_the_interval(
    bound_rate: Bound, rows: list[tuple[int, int, int]]
) -> None:
    h = Histogram.from_pairs(rows)
    ours, plain = bound_rate(h, 0.95, "lower"), korn_graubard_bound(h, 0.95, "lower")
    assert ours is not None
    assert plain is not None
    assert ours <= plain + 1e-9


def test_with_many_informative_items_nothing_is_assumed() -> None:
    rng = np.random.default_rng(3)
    units = rng.integers(1, 9, 2_000)
    h = Histogram.from_clusters(rng.binomial(units, 0.4), units)
    assert bound_to_pass(h, 0.95, "upper") == pytest.approx(korn_graubard_bound(h, 0.95, "upper"))


def test_a_system_at_the_limit_rarely_passes() -> None:
    """The harsh case of the plain bound: 100 items of ten claims, rate 5 %, ICC 0.5."""
    rng = np.random.default_rng(11)
    passed = {"ours": 0, "plain": 0}
    runs = 600
    for _ in range(runs):
        chances = rng.beta(0.05, 0.95, 100)
        units = 1 + rng.negative_binomial(3, 3 / 12, 100)
        h = Histogram.from_clusters(rng.binomial(units, chances), units)
        passed["ours"] += (bound_to_pass(h, 0.95, "upper") or 1) < 0.05
        passed["plain"] += (korn_graubard_bound(h, 0.95, "upper") or 1) < 0.05
    assert passed["ours"] / runs < 0.06
    assert passed["plain"] > passed["ours"]
