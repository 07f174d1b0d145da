import math
from random import Random
from typing import Literal, TypeAlias

import numpy as np
import pytest
import scipy
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from claimwise.metrics import bootstrap, intervals
from claimwise.metrics.histogram import Histogram
from claimwise.metrics.intervals import (
    INTERVALS,
    bootstrap_interval,
    carried_by,
    degrees_of_freedom,
    design_effect,
    detectable_difference,
    effective_size,
    intraclass_correlation,
    korn_graubard_bound,
    korn_graubard_interval,
    logit_t_interval,
    planning_weight,
    rate,
    simultaneous_confidence,
    variance,
    warnings_for,
    wilson_interval,
)

EMPTY = Histogram.from_pairs([])
ANALYTIC = ("wilson", "logit-t", "korn-graubard")

Counts: TypeAlias = NDArray[np.int64]
Bounds: TypeAlias = tuple[float, float]
Rows: TypeAlias = list[tuple[int, int, int]]

pairs = st.integers(1, 9).flatmap(lambda m: st.tuples(st.integers(0, m), st.just(m)))
tables = st.lists(st.tuples(pairs, st.integers(1, 20)), min_size=1, max_size=8).map(
    lambda rows: [(y, m, count) for (y, m), count in rows]
)


def clustered(
    items: int, p: float, icc: float, claims: float, seed: int = 0
) -> tuple[Counts, Counts]:
    """Draw beta-binomial items: hits and sizes."""
    generator = np.random.default_rng(seed)
    sizes = 1 + generator.negative_binomial(3, 3 / (2 + claims), items)
    total = (1 - icc) / icc
    return generator.binomial(sizes, generator.beta(p * total, (1 - p) * total, items)), sizes


def bounds(name: str, h: Histogram, *, confidence: float = 0.95, seed: int = 0) -> Bounds:
    found = INTERVALS[name](h, confidence=confidence, resamples=300, seed=seed)
    assert found is not None
    return found.low, found.high


HITS, SIZES = clustered(80, 0.2, 0.3, 6)
RICH = Histogram.from_clusters(HITS, SIZES)


# Rate, variance, design effect


def test_rates_are_pooled_and_mean_of_items() -> None:
    assert rate(RICH) == pytest.approx(HITS.sum() / SIZES.sum())
    assert rate(RICH.per_item_rates()) == pytest.approx(np.mean(HITS / SIZES))
    assert rate(EMPTY) is None


def test_variance_is_that_of_a_regression_with_clustered_errors() -> None:
    import statsmodels.api as sm

    item = np.repeat(np.arange(len(SIZES)), SIZES)
    place = np.arange(len(item)) - np.repeat(np.cumsum(SIZES) - SIZES, SIZES)
    claims = (place < HITS[item]).astype(float)
    fit = sm.OLS(claims, np.ones(len(claims))).fit(
        cov_type="cluster", cov_kwds={"groups": item, "use_correction": False}
    )
    correction = len(SIZES) / (len(SIZES) - 1)
    assert variance(RICH) == pytest.approx(fit.bse[0] ** 2 * correction)


def test_variance_of_item_rates_is_the_squared_standard_error_of_their_mean() -> None:
    assert variance(RICH.per_item_rates()) == pytest.approx(scipy.stats.sem(HITS / SIZES) ** 2)


@pytest.mark.parametrize("h", [EMPTY, Histogram.from_pairs([(1, 4, 1)])])
def test_spread_is_unknown_below_two_items(h: Histogram) -> None:
    assert variance(h) is None
    assert design_effect(h) is None
    assert intraclass_correlation(h) is None
    assert detectable_difference(h) is None


def test_items_that_agree_throughout_have_correlation_one() -> None:
    h = Histogram.from_pairs([(0, 5, 40), (5, 5, 10)])
    assert design_effect(h) == pytest.approx(5 * 50 / 49)
    assert intraclass_correlation(h) == 1.0
    assert effective_size(h) == pytest.approx(49)


def test_correlation_is_recovered_from_many_items() -> None:
    for icc in (0.05, 0.3):
        h = Histogram.from_clusters(*clustered(40_000, 0.2, icc, 8, seed=3))
        assert intraclass_correlation(h) == pytest.approx(icc, abs=0.02)
        assert intraclass_correlation(h.per_item_rates()) == pytest.approx(icc, abs=0.02)


def test_correlation_needs_items_with_several_units() -> None:
    assert intraclass_correlation(Histogram.from_pairs([(0, 1, 5), (1, 1, 5)])) is None


def test_effective_size_never_exceeds_the_units() -> None:
    evenly = Histogram.from_pairs([(2, 4, 50)])
    assert design_effect(evenly) == pytest.approx(0, abs=1e-12)
    assert effective_size(evenly) == 200
    assert effective_size(EMPTY) == 0


@pytest.mark.parametrize("hits", [0, 6])
def test_effective_size_at_the_ends_is_the_planned_one(hits: int) -> None:
    h = Histogram.from_pairs([(hits, 6, 20)])
    assert design_effect(h) is None
    assert effective_size(h) == pytest.approx(120 / (1 + 5 * 0.5))


def test_planned_effect_fades_out_at_ten_items_with_a_hit() -> None:
    def with_hits(count: int) -> Histogram:
        return Histogram.from_pairs([(1, 5, count), (0, 5, 50 - count)])

    weights = [planning_weight(with_hits(count)) for count in (0, 4, 10, 30)]
    assert weights == pytest.approx([1, 0.6, 0, 0])
    assert planning_weight(Histogram.from_pairs([(5, 5, 46), (4, 5, 4)])) == pytest.approx(0.6)
    measured, planned = design_effect(with_hits(4)), 1 + 4 * 0.3
    assert measured is not None
    assert effective_size(with_hits(4)) == pytest.approx(250 / (0.6 * planned + 0.4 * measured))


def test_what_is_assumed_never_lowers_what_was_measured() -> None:
    """Four of sixty answers are wrong throughout: the measured effect is far above the planned."""
    h = Histogram.from_pairs([(8, 8, 4), (0, 8, 56)])
    measured = design_effect(h)
    assert measured is not None
    assert measured > 8
    assert planning_weight(h) == pytest.approx(0.6)
    assert h.trials / effective_size(h) == pytest.approx(measured)


def test_few_items_that_carry_the_spread_leave_few_degrees_of_freedom() -> None:
    even = Histogram.from_pairs([(1, 4, 30), (3, 4, 30)])
    assert (carried_by(even), degrees_of_freedom(even)) == (59, 59)
    heavy = Histogram.from_pairs([(40, 40, 2), (1, 4, 10), (0, 4, 88)])
    assert 2 <= carried_by(heavy) < 2.2
    assert degrees_of_freedom(heavy) == pytest.approx(2 / (1 / carried_by(heavy) - 0.01))
    assert carried_by(EMPTY) == 0
    # As far as the spread is assumed, there is no luck in it.
    rare = Histogram.from_pairs([(4, 4, 1), (0, 4, 99)])
    assert 85 < degrees_of_freedom(rare) < 95
    assert warnings_for(heavy)[-1].startswith(
        "A handful of items carries the variance (about 2 of 100)"
    )


# Intervals against references


def z_for_t(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every interval infinite degrees of freedom, so that binomial references apply."""
    monkeypatch.setattr(intervals, "_student", lambda h, level: float(scipy.stats.norm.ppf(level)))


@pytest.mark.parametrize(("hits", "items"), [(12, 40), (150, 400), (395, 400)])
def test_single_unit_items_give_the_binomial_intervals(
    monkeypatch: pytest.MonkeyPatch, hits: int, items: int
) -> None:
    from statsmodels.stats.proportion import proportion_confint

    z_for_t(monkeypatch)
    h = Histogram.from_pairs([(1, 1, hits), (0, 1, items - hits)])
    size = effective_size(h)
    assert items - 1.001 < size <= items
    wilson = proportion_confint(hits / items * size, size, method="wilson")
    exact = proportion_confint(hits / items * size, size, method="beta")
    assert bounds("wilson", h) == pytest.approx(wilson)
    assert bounds("korn-graubard", h) == pytest.approx(exact)


def test_evenly_spread_hits_give_scipy_binomial_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    z_for_t(monkeypatch)
    h = Histogram.from_pairs([(1, 4, 25)])  # design effect 0, held at 1: as if independent
    test = scipy.stats.binomtest(25, 100)
    assert bounds("wilson", h) == pytest.approx(test.proportion_ci(method="wilson"))
    assert bounds("korn-graubard", h) == pytest.approx(test.proportion_ci(method="exact"))
    upper = scipy.stats.binomtest(25, 100, alternative="less").proportion_ci(method="exact").high
    lower = scipy.stats.binomtest(25, 100, alternative="greater").proportion_ci(method="exact").low
    assert korn_graubard_bound(h, 0.95, "upper") == pytest.approx(upper)
    assert korn_graubard_bound(h, 0.95, "lower") == pytest.approx(lower)


def test_wilson_uses_student_quantiles_of_the_items() -> None:
    found = wilson_interval(RICH)
    centre, spread, t = (
        rate(RICH),
        variance(RICH),
        scipy.stats.t.ppf(0.975, degrees_of_freedom(RICH)),
    )
    assert found is not None
    assert centre is not None
    assert spread is not None
    size = centre * (1 - centre) / spread
    # Both bounds solve (p - rate)^2 = t^2 p (1 - p) / size.
    for bound in (found.low, found.high):
        assert abs(bound - centre) == pytest.approx(t * math.sqrt(bound * (1 - bound) / size))


def test_logit_interval_is_that_of_a_logistic_regression_with_clustered_errors() -> None:
    import statsmodels.api as sm

    outcome = np.column_stack((HITS, SIZES - HITS))
    fit = sm.GLM(outcome, np.ones(len(HITS)), family=sm.families.Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": np.arange(len(HITS)), "use_correction": False}
    )
    error = fit.bse[0] * math.sqrt(80 / 79)
    odds = fit.params[0] + scipy.stats.t.ppf([0.025, 0.975], degrees_of_freedom(RICH)) * error
    assert bounds("logit-t", RICH) == pytest.approx(1 / (1 + np.exp(-odds)), rel=1e-5)


def test_korn_graubard_shrinks_the_size_by_squared_quantiles() -> None:
    p, size = rate(RICH), effective_size(RICH)
    assert p is not None
    sides: list[tuple[float, Literal["lower", "upper"]]] = [(0.95, "upper"), (0.9, "lower")]
    for level, side in sides:
        n = (
            size
            * (scipy.stats.norm.ppf(level) / scipy.stats.t.ppf(level, degrees_of_freedom(RICH)))
            ** 2
        )
        shape = (p * n + 1, n - p * n) if side == "upper" else (p * n, n - p * n + 1)
        expected = scipy.stats.beta.ppf(level if side == "upper" else 1 - level, *shape)
        assert korn_graubard_bound(RICH, level, side) == pytest.approx(expected)
    found = korn_graubard_interval(RICH, 0.9)
    assert found is not None
    assert found.low == korn_graubard_bound(RICH, 0.95, "lower")
    assert found.high == korn_graubard_bound(RICH, 0.95, "upper")


@pytest.mark.parametrize("kind", ["percentile", "bca"])
@pytest.mark.parametrize("items", [40, 1_500], ids=["multinomial", "poisson"])
@pytest.mark.parametrize("macro", [False, True], ids=["micro", "macro"])
def test_bootstrap_agrees_with_scipy_on_the_items(
    kind: Literal["percentile", "bca"], items: int, macro: bool
) -> None:
    hits, sizes = clustered(items, 0.15, 0.3, 6, seed=5)
    h = Histogram.from_clusters(hits, sizes)
    data = (hits / sizes, np.ones(items)) if macro else (hits, sizes)
    h = h.per_item_rates() if macro else h
    found = bootstrap_interval(h, kind=kind, resamples=20_000, seed=1)
    reference = scipy.stats.bootstrap(
        data,
        lambda y, m, axis: y.sum(axis=axis) / m.sum(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=20_000,
        batch=500,
        method=kind,
        rng=2,
    )
    assert found is not None
    assert found.method == f"bootstrap-{kind}"
    # Monte-Carlo error of a 2.5 % quantile: about 0.02 standard errors on each side.
    margin = 0.09 * reference.standard_error
    assert found.low == pytest.approx(reference.confidence_interval.low, abs=margin)
    assert found.high == pytest.approx(reference.confidence_interval.high, abs=margin)


def test_chunks_do_not_change_the_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = bootstrap.resampled_rates(RICH, resamples=50, seed=4)
    monkeypatch.setattr(bootstrap, "_CELLS_AT_ONCE", 7 * len(RICH.clusters))
    assert np.array_equal(bootstrap.resampled_rates(RICH, resamples=50, seed=4), whole)


def test_bca_takes_the_same_quantiles_of_the_same_resamples_as_scipy() -> None:
    hits, sizes = clustered(12, 0.2, 0.3, 4, seed=3)
    reference = scipy.stats.bootstrap(
        (hits, sizes),
        lambda y, m, axis: y.sum(axis=axis) / m.sum(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=999,
        method="BCa",
        rng=1,
    )
    h, rates = Histogram.from_clusters(hits, sizes), reference.bootstrap_distribution
    levels = bootstrap.bca_levels(h, rates, (0.025, 0.975))
    assert np.abs(levels - (0.025, 0.975)).max() > 0.005
    assert np.quantile(rates, levels) == pytest.approx(reference.confidence_interval)


def test_bca_levels_stay_in_order_for_extreme_skewness() -> None:
    h = Histogram.from_pairs([(9, 9, 1), (0, 1, 400)])
    low, high = bootstrap.bca_levels(h, np.zeros(2000), (1e-9, 1 - 1e-9))
    assert 0 < low < high == 1


# What every method promises


@pytest.mark.parametrize("name", INTERVALS)
@given(rows=tables, seed=st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_bounds_lie_in_range_and_hold_the_rate(name: str, rows: Rows, seed: int) -> None:
    h = Histogram.from_pairs(rows)
    for view in (h, h.per_item_rates()):
        low, high = bounds(name, view, seed=seed)
        centre = rate(view)
        assert centre is not None
        assert 0 <= low <= centre <= high <= 1
        assert low < high


@pytest.mark.parametrize("name", INTERVALS)
@given(rows=tables, random=st.randoms())
@settings(max_examples=25, deadline=None)
def test_figures_do_not_depend_on_how_rows_arrive(name: str, rows: Rows, random: Random) -> None:
    halves = [(y, m, part) for y, m, n in rows for part in (n // 2, n - n // 2)]
    random.shuffle(halves)
    assert bounds(name, Histogram.from_pairs(halves)) == bounds(name, Histogram.from_pairs(rows))


@pytest.mark.parametrize("name", ANALYTIC)
@given(rows=tables)
def test_the_rest_has_the_mirrored_interval(name: str, rows: Rows) -> None:
    low, high = bounds(name, Histogram.from_pairs(rows))
    rest = bounds(name, Histogram.from_pairs([(m - y, m, count) for y, m, count in rows]))
    assert rest == pytest.approx((1 - high, 1 - low), abs=1e-9)


@pytest.mark.parametrize("name", ANALYTIC)
@given(rows=tables)
def test_more_confidence_is_wider(name: str, rows: Rows) -> None:
    h = Histogram.from_pairs(rows)
    assume(h.items > 1)
    narrow, wide = bounds(name, h, confidence=0.8), bounds(name, h, confidence=0.99)
    assert wide[0] <= narrow[0]
    assert narrow[1] <= wide[1]
    assert wide[1] - wide[0] > narrow[1] - narrow[0]


@pytest.mark.parametrize("name", ["bootstrap-percentile", "bootstrap-bca"])
def test_more_confidence_is_wider_in_a_bootstrap(name: str) -> None:
    narrow, wide = bounds(name, RICH, confidence=0.8), bounds(name, RICH, confidence=0.99)
    assert wide[0] < narrow[0]
    assert narrow[1] < wide[1]


def test_a_tiny_bootstrap_still_holds_the_rate() -> None:
    for seed in range(20):
        found = bootstrap_interval(RICH, resamples=2, seed=seed)
        assert found is not None
        assert found.low <= HITS.sum() / SIZES.sum() <= found.high


def test_only_the_seed_moves_a_bootstrap() -> None:
    assert bounds("bootstrap-bca", RICH, seed=1) == bounds("bootstrap-bca", RICH, seed=1)
    assert bounds("bootstrap-bca", RICH, seed=1) != bounds("bootstrap-bca", RICH, seed=2)


@pytest.mark.parametrize("name", INTERVALS)
def test_one_item_says_nothing_and_no_items_give_none(name: str) -> None:
    one = Histogram.from_pairs([(2, 7, 1)])
    found = INTERVALS[name](one, confidence=0.95, resamples=50, seed=0)
    assert found is not None
    assert (found.low, found.high, found.method) == (0, 1, f"{name} (one item)")
    assert INTERVALS[name](EMPTY, confidence=0.95, resamples=50, seed=0) is None


def test_one_sided_bounds_at_the_ends() -> None:
    one, none = Histogram.from_pairs([(2, 7, 1)]), Histogram.from_pairs([(0, 5, 40)])
    assert korn_graubard_bound(one, side="lower") == 0
    assert korn_graubard_bound(one, side="upper") == 1
    assert korn_graubard_bound(EMPTY) is None
    assert korn_graubard_bound(none, side="lower") == 0
    assert korn_graubard_bound(Histogram.from_pairs([(5, 5, 40)]), side="upper") == 1
    upper = korn_graubard_bound(none, side="upper")
    assert upper is not None
    assert 0.01 < upper < 0.1


@pytest.mark.parametrize("name", ["logit-t", "bootstrap-percentile", "bootstrap-bca"])
@pytest.mark.parametrize("hits", [0, 4])
def test_default_steps_in_at_the_ends_and_says_so(name: str, hits: int) -> None:
    h = Histogram.from_pairs([(hits, 4, 30)])
    found = INTERVALS[name](h, confidence=0.9, resamples=50, seed=0)
    assert found is not None
    assert found.method == f"wilson (items too alike for {name})"
    assert (found.low, found.high) == bounds("wilson", h, confidence=0.9)
    assert found.confidence == 0.9


def test_default_steps_in_when_resampling_shows_no_spread() -> None:
    found = bootstrap_interval(Histogram.from_pairs([(1, 3, 20), (2, 6, 20)]))
    assert found is not None
    assert found.method.startswith("wilson")
    assert found.low < 1 / 3 < found.high


@pytest.mark.parametrize("confidence", [0, 1, 95, math.nan])
def test_confidence_must_be_a_share(confidence: float) -> None:
    for call in (
        lambda: wilson_interval(EMPTY, confidence),
        lambda: logit_t_interval(RICH, confidence),
        lambda: korn_graubard_bound(RICH, confidence),
        lambda: simultaneous_confidence(confidence, 3),
        lambda: detectable_difference(RICH, confidence=confidence),
    ):
        with pytest.raises(ValueError, match="confidence is"):
            call()


def test_a_bootstrap_needs_resamples() -> None:
    with pytest.raises(ValueError, match="resamples is 1"):
        bootstrap_interval(RICH, resamples=1)


# Coverage


@pytest.mark.parametrize(
    ("items", "p", "icc", "claims"), [(20, 0.05, 0.4, 15), (50, 0.01, 0.4, 15), (100, 0.1, 0.2, 6)]
)
def test_default_covers_where_plain_intervals_fail(
    items: int, p: float, icc: float, claims: float
) -> None:
    from statsmodels.stats.proportion import proportion_confint

    covered = naive = 0
    for seed in range(500):
        hits, sizes = clustered(items, p, icc, claims, seed=seed)
        found = wilson_interval(Histogram.from_clusters(hits, sizes))
        assert found is not None
        covered += found.low <= p <= found.high
        low, high = proportion_confint(hits.sum(), sizes.sum(), method="wilson")
        naive += low <= p <= high
    assert 0.90 <= covered / 500 <= 0.985
    assert naive / 500 < 0.88


# Decisions and advice


def test_simultaneous_confidence_is_bonferroni() -> None:
    assert simultaneous_confidence(0.95, 1) == pytest.approx(0.95)
    assert simultaneous_confidence(0.95, 20) == pytest.approx(0.9975)
    with pytest.raises(ValueError, match="slices is 0"):
        simultaneous_confidence(0.95, 0)


def test_detectable_difference_has_the_promised_power() -> None:
    generator = np.random.default_rng(8)
    h = Histogram.from_clusters(*clustered(150, 0.1, 0.2, 6, seed=1))
    p, size, gap = rate(h), round(effective_size(h)), detectable_difference(h)
    assert p is not None
    assert gap is not None
    first = generator.binomial(size, p, 20_000) / size
    second = generator.binomial(size, p + gap, 20_000) / size
    error = np.sqrt((first * (1 - first) + second * (1 - second)) / size)
    assert np.mean((second - first) / error > 1.96) == pytest.approx(0.8, abs=0.08)


def test_detectable_difference_has_the_planned_size() -> None:
    # 100 items of 12 claims, one in ten bad, ICC 0.2: about 7 points, or 5 on the same items.
    h = Histogram.from_clusters(*clustered(100_000, 0.1, 0.2, 12))
    scale = math.sqrt(h.items / 100)
    unpaired = detectable_difference(h)
    paired = detectable_difference(h, paired_correlation=0.5)
    assert unpaired is not None
    assert paired is not None
    assert unpaired * scale == pytest.approx(0.07, abs=0.004)
    assert paired / unpaired == pytest.approx(math.sqrt(0.5), rel=1e-3)


@pytest.mark.parametrize("hits", [0, 5])
def test_detectable_difference_at_the_ends(hits: int) -> None:
    small = detectable_difference(Histogram.from_pairs([(hits, 5, 50)]))
    large = detectable_difference(Histogram.from_pairs([(hits, 5, 500)]))
    assert small is not None
    assert large is not None
    assert 0 < large < small < 1


def test_detectable_difference_is_at_most_one_and_checks_its_arguments() -> None:
    assert detectable_difference(Histogram.from_pairs([(0, 1, 1), (1, 1, 1)])) == 1
    with pytest.raises(ValueError, match="power is"):
        detectable_difference(RICH, power=1)
    with pytest.raises(ValueError, match="paired_correlation is"):
        detectable_difference(RICH, paired_correlation=1)


def test_runs_on_different_items_have_twice_the_degrees_of_freedom() -> None:
    h = Histogram.from_clusters(*clustered(6, 0.4, 0.2, 6))
    unpaired, paired = detectable_difference(h), detectable_difference(h, paired_correlation=0)
    assert unpaired is not None
    assert paired is not None
    reach = {df: scipy.stats.t.ppf(0.975, df) + scipy.stats.t.ppf(0.8, df) for df in (5, 10)}
    assert paired / unpaired == pytest.approx(reach[5] / reach[10])


def test_more_power_needs_a_larger_difference() -> None:
    likely, unlikely = (
        detectable_difference(RICH, power=0.9),
        detectable_difference(RICH, power=0.5),
    )
    assert likely is not None
    assert unlikely is not None
    assert likely > unlikely


def test_warnings_name_what_is_missing() -> None:
    assert warnings_for(EMPTY) == ("No scored claims.",)
    assert warnings_for(Histogram.from_pairs([(1, 4, 10), (0, 4, 20)])) == ()
    few_items = warnings_for(Histogram.from_pairs([(1, 4, 10), (0, 4, 19)]))
    assert len(few_items) == 1
    assert "30 items (29)" in few_items[0]
    few_bad = warnings_for(Histogram.from_pairs([(1, 4, 9), (0, 4, 40)]))
    assert len(few_bad) == 1
    assert "bad outcome (9)" in few_bad[0]
    assert len(warnings_for(Histogram.from_pairs([(0, 4, 3)]))) == 2


def test_warnings_know_which_claims_are_bad() -> None:
    supported = Histogram.from_pairs([(4, 4, 95), (3, 4, 5)])
    assert warnings_for(supported)[0].startswith("A handful of items carries the variance")
    assert "bad outcome (5)" in warnings_for(supported, bad="complement")[0]
