"""Differences over the same claims: exact for few groups, groups count and not claims."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from claimwise.metrics.accuracy import compute_figures, rate_claims
from claimwise.metrics.claim_differences import (
    PairedDifference,
    adjust_for_false_discoveries,
    compare_paired,
    plan_claims,
)
from claimwise.metrics.weighted_auc import measure_auc


def compare(changes: list[int], groups: list[int]) -> PairedDifference:
    count = len(changes)
    return compare_paired(
        np.array(changes, dtype=float),
        np.full(count, 1 / count),
        np.zeros(count, dtype=np.intp),
        np.array(groups, dtype=np.intp),
    )


@pytest.mark.parametrize(("groups", "real"), [(5, False), (6, True)])
def test_few_groups_are_counted_exactly(groups: int, real: bool) -> None:
    """All groups on one side: two sign patterns of 2^k are as far from 0."""
    found = compare([1] * groups + [0] * 94, list(range(groups + 94)))
    assert found.p == pytest.approx(2 / 2**groups)
    assert found.can_be_real is real
    assert found.value == pytest.approx(groups / (groups + 94))
    assert found.low is not None
    assert (found.low > 0) is real


def test_claims_of_one_group_are_one_observation() -> None:
    """McNemar's test on single claims would call 40 to 0 beyond doubt."""
    together = compare([1] * 40 + [0] * 60, [0] * 40 + list(range(1, 61)))
    apart = compare([1] * 40 + [0] * 60, list(range(100)))
    assert (together.p, together.can_be_real, together.groups) == (1.0, False, 1)
    assert apart.p < 0.001
    assert (apart.groups, apart.differing) == (40, 40)


def test_drawn_patterns_count_ties_as_the_binomial_does() -> None:
    """65 groups to 50: of equal parts many sums are exactly as far from 0."""
    found = compare([1] * 65 + [-1] * 50, list(range(115)))
    assert found.p == pytest.approx(2 * special.bdtr(50, 115, 0.5), abs=0.01)
    many = compare([1] * 650 + [-1] * 500, list(range(1150)))
    assert many.p == pytest.approx(2 * special.bdtr(500, 1150, 0.5), rel=0.2)


def test_a_group_that_fills_a_set_is_not_taken_for_typical() -> None:
    """Nine tenths of the claims are one group's: its difference says nothing of other groups."""
    changes = [1] * 90 + [1, -1] * 5
    even = compare(changes, list(range(100)))
    uneven = compare(changes, [0] * 90 + list(range(1, 11)))
    assert even.low is not None
    assert uneven.low is not None
    assert even.low > 0.7
    assert uneven.low < 0
    assert plan_claims(even, 0.05) is not None
    assert plan_claims(uneven, 0.05) is None


def test_no_difference_is_no_test() -> None:
    found = compare([1, -1, 0], [0, 0, 1])  # a group that is right and wrong once shows nothing
    assert (found.p, found.low, found.differing) == (1.0, None, 2)
    assert plan_claims(found, 0.05) is None
    alike = compare([1] * 20, list(range(20)))  # no spread to make a range of
    assert alike.value == pytest.approx(1)
    assert alike.low is None
    assert alike.p < 0.001


def test_false_discoveries_are_adjusted_as_by_benjamini_and_hochberg() -> None:
    values = [0.041, 0.001, 0.9, 0.039, 0.008]
    assert adjust_for_false_discoveries(values) == pytest.approx(
        [0.05125, 0.005, 0.9, 0.05125, 0.02]
    )
    assert adjust_for_false_discoveries([]) == []


def test_twice_the_difference_needs_a_quarter_of_the_claims() -> None:
    found = compare([1, -1, 0, 0] * 25, list(range(100)))
    small, large = plan_claims(found, 0.05), plan_claims(found, 0.10)
    assert small is not None
    assert large is not None
    assert small == pytest.approx(4 * large, rel=0.01)
    # Variance 0.5 for each claim: 0.5 * (1.96 + 0.84)^2 / 0.05^2.
    assert small == pytest.approx(0.5 * 2.802**2 / 0.05**2, rel=0.03)
    assert plan_claims(found, 0.0001) is None


def test_the_auc_of_weights_is_that_of_repeated_claims() -> None:
    generator = np.random.default_rng(5)
    scores = np.round(generator.random(60), 1)
    supported = generator.random(60) < scores
    weights = generator.integers(1, 4, 60)
    groups = np.repeat(np.arange(20), 3)
    found = measure_auc(
        scores, supported, weights.astype(float), groups, np.zeros(60, dtype=np.intp)
    )
    repeated = [np.repeat(values, weights) for values in (scores, supported, groups)]
    rating = rate_claims(repeated[0], list(repeated[1]), [str(g) for g in repeated[2]], 0.5)
    assert found is not None
    assert found.value == pytest.approx(compute_figures(rating)["auc"])
    assert found.low is not None
    assert found.low < found.value < (found.high or 0)
