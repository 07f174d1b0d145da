from random import Random
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.metrics.histogram import Histogram

Rows: TypeAlias = list[tuple[int, int, int]]

pairs = st.integers(0, 9).flatmap(lambda m: st.tuples(st.integers(0, m), st.just(m)))
tables = st.lists(st.tuples(pairs, st.integers(0, 5)), max_size=12).map(
    lambda rows: [(y, m, count) for (y, m), count in rows]
)


def contents(h: Histogram) -> list[tuple[float, float, int]]:
    columns = (h.numerator.tolist(), h.denominator.tolist(), h.clusters.tolist())
    return list(zip(*columns, strict=True))


def test_equal_pairs_are_added_up_and_sorted() -> None:
    h = Histogram.from_pairs([(2, 3, 1), (0, 4, 5), (0, 3, 2), (2, 3, 6)])
    assert contents(h) == [(0, 3, 2), (0, 4, 5), (2, 3, 7)]
    assert (h.items, h.units, h.hits, h.trials) == (14, 47, 14, 47)


def test_items_without_units_are_dropped() -> None:
    assert contents(Histogram.from_pairs([(0, 0, 9), (1, 2, 1)])) == [(1, 2, 1)]
    assert contents(Histogram.from_clusters([0, 1], [0, 2])) == [(1, 2, 1)]


@pytest.mark.parametrize(
    "h",
    [Histogram.from_pairs([]), Histogram.from_clusters([], []), Histogram.from_pairs([(0, 0, 3)])],
)
def test_empty_histogram_works(h: Histogram) -> None:
    assert contents(h) == []
    assert (h.items, h.units, h.hits, h.trials) == (0, 0, 0, 0)
    assert contents(h.per_item_rates()) == []


@given(tables, st.randoms())
def test_order_of_rows_does_not_matter(rows: Rows, random: Random) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert contents(Histogram.from_pairs(shuffled)) == contents(Histogram.from_pairs(rows))


@given(tables)
def test_splitting_a_count_changes_nothing(rows: Rows) -> None:
    halves = [(y, m, part) for y, m, n in rows for part in (n // 2, n - n // 2)]
    assert contents(Histogram.from_pairs(halves)) == contents(Histogram.from_pairs(rows))


@given(tables)
def test_items_and_counted_pairs_give_the_same(rows: Rows) -> None:
    numerator = [y for y, _, count in rows for _ in range(count)]
    denominator = [m for _, m, count in rows for _ in range(count)]
    from_items = Histogram.from_clusters(numerator, denominator)
    assert contents(from_items) == contents(Histogram.from_pairs(rows))


@pytest.mark.parametrize(
    ("numerator", "denominator"),
    [
        pytest.param([0.5, 0.5, 1.0], [1.0, 1.0, 1.0], id="fractional hits"),
        pytest.param([1.0, 1.0, 2.0], [1.5, 1.5, 2.0], id="fractional sizes"),
        pytest.param([3.0, 3.0, 0.0], [9e10, 9e10, 1.0], id="large sizes"),
    ],
)
def test_pairs_that_do_not_fit_a_small_table_are_counted_too(
    numerator: list[float], denominator: list[float]
) -> None:
    h = Histogram.from_clusters(numerator, denominator)
    rows = zip(numerator, denominator, [1, 1, 1], strict=True)
    assert contents(h) == contents(Histogram.from_pairs(rows))
    assert sorted(h.clusters) == [1, 2]


def test_per_item_rates_weigh_items_equally() -> None:
    h = Histogram.from_pairs([(1, 2, 3), (2, 4, 1), (0, 4, 4)]).per_item_rates()
    assert contents(h) == [(0, 1, 4), (0.5, 1, 4)]
    # 8 items, sum of 1/m = 3/2 + 1/4 + 4/4
    assert h.trials == pytest.approx(64 / 2.75)


@given(tables)
def test_per_item_rates_twice_is_once(rows: Rows) -> None:
    once = Histogram.from_pairs(rows).per_item_rates()
    twice = once.per_item_rates()
    assert contents(twice) == contents(once)
    assert twice.trials == pytest.approx(once.trials)


@pytest.mark.parametrize(
    ("numerator", "denominator"), [(3, 2), (-1, 2), (1, -1), (np.nan, 2), (1, np.nan), (1, np.inf)]
)
def test_impossible_pairs_are_refused(numerator: float, denominator: float) -> None:
    with pytest.raises(ValueError, match="between 0 and its denominator"):
        Histogram.from_pairs([(numerator, denominator, 1)])
    with pytest.raises(ValueError, match="between 0 and its denominator"):
        Histogram.from_clusters([0, numerator], [5, denominator])


def test_negative_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        Histogram.from_pairs([(0, 1, -1)])


@pytest.mark.parametrize(("numerator", "denominator"), [([1], [1, 2]), ([[1]], [[2]])])
def test_arrays_of_other_shapes_are_refused(numerator: Any, denominator: Any) -> None:
    with pytest.raises(ValueError, match="equally long"):
        Histogram.from_clusters(numerator, denominator)
