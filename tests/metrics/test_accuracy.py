"""Accuracy figures against computations that share no code with them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claimwise.metrics.accuracy import (
    COMPARED,
    FIGURES,
    MeasuredAccuracy,
    Rating,
    Resampling,
    average_sets,
    compare_sets,
    compute_figures,
    measure_set,
    rate_claims,
    resample_figures,
)

NAN = math.nan
QUICK = Resampling(resamples=200, seed=1)

# Few different scores, so that ties and bin borders are common.
scores = st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.5, 0.7, 0.95, 1.0, NAN])
rows = st.lists(st.tuples(scores, st.booleans(), st.sampled_from("abcdef")), max_size=40)


def rate_rows(found: Sequence[tuple[float, bool, str]], threshold: float = 0.5) -> Rating:
    return rate_claims(
        [score for score, _, _ in found],
        [label for _, label, _ in found],
        [group for _, _, group in found],
        threshold,
    )


def draw_set(groups: int, seed: int, *, noise: float = 1.0, stretch: float = 1.0) -> Rating:
    """Draw clustered claims whose true probability of support is known to the scores."""
    generator = np.random.default_rng(seed)
    group = np.repeat(np.arange(groups), 1 + generator.poisson(3, groups))
    truth = generator.normal(0, 1, groups)[group] + generator.normal(0, 1, len(group))
    label = generator.random(len(group)) < 1 / (1 + np.exp(-truth))
    blurred = truth + generator.normal(0, noise, len(group))
    return rate_claims(
        1 / (1 + np.exp(-stretch * blurred)), label.tolist(), [str(g) for g in group], 0.5
    )


# Figures


def count_pairs(found: Sequence[tuple[float, bool, str]]) -> float | None:
    """The AUC as it is defined: every supported claim against every unsupported one."""
    above = [s for s, label, _ in found if label and s == s]
    below = [s for s, label, _ in found if not label and s == s]
    wins = sum((a > b) + 0.5 * (a == b) for a in above for b in below)
    return wins / (len(above) * len(below)) if above and below else None


def weigh_bins(found: Sequence[tuple[float, bool, str]]) -> float | None:
    """The calibration error as it is defined: bin by bin, less what chance adds."""
    scored = [(s, label, group) for s, label, group in found if s == s]
    gaps, variances = [], []
    for number in range(10):
        low, high = number / 10, (number + 1) / 10
        inside = [one for one in scored if low <= one[0] < high or (number == 9 and one[0] == 1)]
        if not inside:
            continue
        gap = sum(s - y for s, y, _ in inside)
        by_group: dict[str, list[float]] = {}
        for s, y, group in inside:
            by_group.setdefault(group, []).append(s - y - gap / len(inside))
        shown = sum(sum(rest) ** 2 for rest in by_group.values())
        shown *= len(by_group) / (len(by_group) - 1) if len(by_group) > 1 else 0
        gaps.append(abs(gap))
        variances.append(max(sum(s * (1 - s) for s, _, _ in inside), shown))
    if not scored or not sum(gaps):
        return 0.0 if scored else None
    chance = min(1.0, sum(variances) / sum(gap**2 for gap in gaps))
    added = math.sqrt(2 / math.pi) * sum(map(math.sqrt, variances)) * chance
    return max(0.0, sum(gaps) - added) / len(scored)


def test_scores_that_are_right_have_hardly_any_calibration_error() -> None:
    """Of 60 claims: uncorrected, chance alone made it 0.09 on average."""
    generator = np.random.default_rng(60)
    errors = []
    for _ in range(200):
        scores = generator.beta(5, 1.5, 60)
        labels = (generator.random(60) < scores).tolist()
        found = compute_figures(rate_claims(scores, labels, [str(n) for n in range(60)], 0.5))
        errors.append(found["ece"] or 0.0)
    assert np.median(errors) == 0
    assert np.mean(errors) < 0.02


def test_scores_that_are_far_off_keep_their_calibration_error() -> None:
    labels = [n % 2 == 0 for n in range(400)]
    rating = rate_claims([0.9] * 400, labels, [str(n) for n in range(400)], 0.5)
    assert compute_figures(rating)["ece"] == pytest.approx(0.4, abs=0.001)


@given(rows)
def test_figures_are_what_their_definitions_say(found: list[tuple[float, bool, str]]) -> None:
    figures = compute_figures(rate_rows(found))
    scored = [(s, y) for s, y, _ in found if s == s]
    supported = [s >= 0.5 for s, y in scored if y]
    unsupported = [s < 0.5 for s, y in scored if not y]
    sensitivity = sum(supported) / len(supported) if supported else None
    specificity = sum(unsupported) / len(unsupported) if unsupported else None
    balanced = None
    if sensitivity is not None and specificity is not None:
        balanced = (sensitivity + specificity) / 2
    brier = sum((s - y) ** 2 for s, y in scored) / len(scored) if scored else None
    expected = {
        "auc": count_pairs(found),
        "balanced_accuracy": balanced,
        "sensitivity": sensitivity,
        "specificity": specificity,
        "ece": weigh_bins(found),
        "brier": brier,
    }
    assert figures.keys() == expected.keys() == set(FIGURES)
    for name, value in expected.items():
        assert figures[name] == (None if value is None else pytest.approx(value, abs=1e-12)), name


def test_a_worked_example() -> None:
    rating = rate_claims(
        [0.9, 0.8, 0.4, 0.4, 0.2, NAN],
        [True, True, True, False, False, False],
        ["a", "a", "b", "b", "c", "c"],
        0.4,
    )
    accuracy = measure_set(rating, QUICK).accuracy
    assert (accuracy.n, accuracy.unscored, accuracy.groups) == (6, 1, 3)
    assert accuracy.prevalence == 0.5
    assert accuracy.auc == pytest.approx(5.5 / 6)  # one tie among six pairs
    assert accuracy.sensitivity == 1.0  # the threshold itself is support
    assert accuracy.specificity == 0.5
    assert accuracy.balanced_accuracy == 0.75
    assert accuracy.ece == 0  # chance alone would make it larger
    assert accuracy.brier == pytest.approx((0.01 + 0.04 + 0.36 + 0.16 + 0.04) / 5)
    # the unscored claim is unsupported: wrong gives a specificity of 1/3, right of 2/3
    assert accuracy.balanced_accuracy_bounds == pytest.approx(((1 + 1 / 3) / 2, (1 + 2 / 3) / 2))


def test_auc_does_not_change_when_scores_are_stretched() -> None:
    one, other = draw_set(50, seed=3), draw_set(50, seed=3, stretch=3)
    assert compute_figures(one)["auc"] == compute_figures(other)["auc"]


# What can't be computed


@pytest.mark.parametrize(
    ("labels", "given_scores", "undefined"),
    [
        ([True] * 4, [0.1, 0.9, 0.9, 0.9], {"auc", "balanced_accuracy", "specificity"}),
        ([False] * 4, [0.1, 0.9, 0.9, 0.9], {"auc", "balanced_accuracy", "sensitivity"}),
        ([True, False, True, False], [NAN] * 4, set(FIGURES)),
        ([True, False], [NAN, 0.2], {"auc", "balanced_accuracy", "sensitivity"}),
        ([], [], set(FIGURES)),
    ],
)
def test_undefined_figures_are_none(
    labels: list[bool], given_scores: list[float], undefined: set[str]
) -> None:
    rating = rate_claims(given_scores, labels, [str(n) for n in range(len(labels))], 0.5)
    measured = measure_set(rating, QUICK)
    for name in FIGURES:
        assert (getattr(measured.accuracy, name) is None) == (name in undefined), name
        if name in undefined:
            assert measured.accuracy.intervals[name] is None
    difference = compare_sets(measured, measured, QUICK).difference
    assert (difference.balanced_accuracy is None) == ("balanced_accuracy" in undefined)
    assert (difference.interval is None) == ("balanced_accuracy" in undefined)


def test_one_group_has_figures_and_no_interval() -> None:
    rating = rate_claims([0.9, 0.6, 0.2, 0.7], [True, True, False, False], ["a"] * 4, 0.5)
    measured = measure_set(rating, QUICK)
    assert measured.accuracy.balanced_accuracy == 0.75
    assert set(measured.accuracy.intervals.values()) == {None}
    assert compare_sets(measured, measured, QUICK).difference.interval is None
    other = measure_set(draw_set(30, seed=0), QUICK)
    macro = average_sets([measured, other])
    assert macro.balanced_accuracy is not None
    assert macro.intervals["balanced_accuracy"] is None


def test_no_interval_where_every_claim_is_right() -> None:
    rating = rate_claims([1.0, 0.0] * 20, [True, False] * 20, [str(n) for n in range(40)], 0.5)
    accuracy = measure_set(rating, QUICK).accuracy
    assert accuracy.balanced_accuracy == 1.0
    assert accuracy.intervals["balanced_accuracy"] is None


@pytest.mark.parametrize(
    ("given_scores", "labels"), [([0.5], [True, False]), ([1.2, 0.1], [True, False])]
)
def test_nonsense_is_refused(given_scores: list[float], labels: list[bool]) -> None:
    with pytest.raises(ValueError, match="expected"):
        rate_claims(given_scores, labels, ["a", "b"], 0.5)


def test_rounding_past_the_ends_is_forgiven() -> None:
    assert rate_claims([1 + 1e-8, -1e-8], [True, False], ["a", "b"], 0.5).scores.tolist() == [1, 0]


# Resamples


def repeat_groups(rating: Rating, drawn: Sequence[int]) -> Rating:
    """Write a resample out row by row; a group that was drawn twice is two groups."""
    rows = [np.flatnonzero(rating.groups == group) for group in drawn]
    picked = np.concatenate(rows)
    return rate_claims(
        rating.scores[picked],
        rating.labels[picked].tolist(),
        [str(number) for number, held in enumerate(rows) for _ in held],
        rating.threshold,
    )


@settings(max_examples=30)
@given(rows.filter(lambda found: len({group for _, _, group in found}) > 1), st.integers(0, 99))
def test_weights_are_the_same_as_repeated_rows(
    found: list[tuple[float, bool, str]], seed: int
) -> None:
    rating = rate_rows(found)
    count = rating.group_count
    draws = resample_figures(rating, Resampling(resamples=5, seed=seed))
    drawn = np.random.Generator(np.random.PCG64(seed)).integers(0, count, size=(5, count))
    for number, groups in enumerate(drawn):
        expected = compute_figures(repeat_groups(rating, groups))
        for name in FIGURES:
            value = expected[name]
            if value is None:
                assert np.isnan(draws[name][number])
            else:
                assert draws[name][number] == pytest.approx(value, abs=1e-12)


def test_resamples_do_not_depend_on_the_block_size(monkeypatch: pytest.MonkeyPatch) -> None:
    rating = draw_set(40, seed=5)
    whole = resample_figures(rating, QUICK)
    monkeypatch.setattr("claimwise.metrics.accuracy._BLOCK_CELLS", 1000)
    parts = resample_figures(rating, QUICK)
    for name in FIGURES:
        assert np.array_equal(whole[name], parts[name])


def test_the_same_seed_gives_the_same_intervals() -> None:
    rating = draw_set(40, seed=5)
    one, again = measure_set(rating, QUICK), measure_set(rating, QUICK)
    other = measure_set(rating, Resampling(resamples=200, seed=2))
    assert one.accuracy == again.accuracy
    assert one.accuracy.intervals != other.accuracy.intervals


def test_claims_of_one_group_widen_the_interval() -> None:
    rating = draw_set(60, seed=6)
    alone = rate_claims(
        rating.scores, rating.labels.tolist(), [str(n) for n in range(len(rating.scores))], 0.5
    )
    same_order = [f"{group:03}" for group in rating.groups]
    copies = rate_claims(np.tile(rating.scores, 5), rating.labels.tolist() * 5, same_order * 5, 0.5)
    widths = {}
    for name, r in (("groups", rating), ("alone", alone), ("copies", copies)):
        low, high = measure_set(r, QUICK).accuracy.intervals["auc"] or (0, 0)
        widths[name] = high - low
    assert widths["groups"] > widths["alone"]
    # Five copies of every claim are no news.
    assert widths["copies"] == pytest.approx(widths["groups"])


def test_intervals_cover_the_truth() -> None:
    truth = compute_figures(draw_set(100_000, seed=0, stretch=1.5))
    tries = 150
    covered = dict.fromkeys(FIGURES, 0)
    for seed in range(1, tries + 1):
        accuracy = measure_set(
            draw_set(80, seed=seed, stretch=1.5), Resampling(resamples=250, seed=seed)
        ).accuracy
        for name in FIGURES:
            low, high = accuracy.intervals[name] or (1.0, 0.0)
            covered[name] += low <= (truth[name] or 0) <= high
    # Nominally 95%; a binomial of 150 tries at 93% falls below 87% once in a hundred times.
    assert {name: hits / tries for name, hits in covered.items() if hits / tries < 0.87} == {}


# Differences


def test_an_instrument_does_not_lead_itself() -> None:
    measured = measure_set(draw_set(40, seed=7), QUICK)
    difference = compare_sets(measured, measured, QUICK).difference
    assert (difference.balanced_accuracy, difference.interval) == (0.0, (0.0, 0.0))
    assert (difference.auc, difference.auc_interval) == (0.0, (0.0, 0.0))


def measure_two(seed: int = 8) -> tuple[MeasuredAccuracy, MeasuredAccuracy]:
    good, bad = draw_set(150, seed=seed, noise=0.1), draw_set(150, seed=seed, noise=3.0)
    assert np.array_equal(good.labels, bad.labels)
    return measure_set(good, QUICK), measure_set(bad, QUICK)


def test_the_difference_is_that_of_the_figures_and_its_interval_is_paired() -> None:
    good, bad = measure_two()
    difference = compare_sets(good, bad, QUICK).difference
    assert difference.balanced_accuracy == pytest.approx(
        (good.accuracy.balanced_accuracy or 0) - (bad.accuracy.balanced_accuracy or 0)
    )
    assert difference.interval is not None
    low, high = difference.interval
    gain = difference.balanced_accuracy
    assert gain is not None
    assert 0 < low < gain < high
    apart = [m.accuracy.intervals["balanced_accuracy"] or (0, 0) for m in (good, bad)]
    unpaired = math.hypot(*(end - start for start, end in apart))
    assert high - low < unpaired
    back = compare_sets(bad, good, QUICK).difference
    assert back.balanced_accuracy == -gain


def test_instruments_are_compared_on_what_both_scored() -> None:
    labels = [True, True, False, False] * 5
    groups = [str(n) for n in range(20)]
    # The first gives up on what it would get wrong; the second is wrong there.
    first = rate_claims([0.9, NAN, 0.1, NAN] * 5, labels, groups, 0.5)
    second = rate_claims([0.9, 0.1, 0.1, 0.9] * 5, labels, groups, 0.5)
    one, other = measure_set(first, QUICK), measure_set(second, QUICK)
    assert (one.accuracy.balanced_accuracy, other.accuracy.balanced_accuracy) == (1.0, 0.5)
    assert one.accuracy.balanced_accuracy_bounds == (0.5, 1.0)
    assert compare_sets(one, other, QUICK).difference.balanced_accuracy == 0.0


def test_different_rows_are_not_compared() -> None:
    with pytest.raises(ValueError, match="same set"):
        compare_sets(measure_set(draw_set(9, 1), QUICK), measure_set(draw_set(9, 2), QUICK), QUICK)


# Means


def test_macro_is_the_plain_mean_over_sets() -> None:
    sets = [measure_set(draw_set(n, n), Resampling(resamples=200, seed=n)) for n in (30, 300)]
    macro = average_sets(sets)
    accuracies = [measured.accuracy for measured in sets]
    for name in (*FIGURES, "prevalence"):
        assert getattr(macro, name) == pytest.approx(
            sum(getattr(a, name) for a in accuracies) / 2
        ), name
    assert macro.n == sum(a.n for a in accuracies)
    assert (macro.sets, macro.groups, macro.difference) == (2, 330, None)
    assert macro.left_out == dict.fromkeys(FIGURES, 0)
    # Of independent sets: the spread of a mean is the root of the summed squares, halved.
    spreads = [float(np.std(m.draws["auc"])) for m in sets]
    low, high = macro.intervals["auc"] or (0, 0)
    assert (high - low) / 3.92 == pytest.approx(math.hypot(*spreads) / 2, rel=0.2)


def test_the_mean_of_differences_is_the_difference_of_means() -> None:
    pairs = [measure_two(seed) for seed in (1, 2, 3)]
    compared = [compare_sets(good, bad, QUICK) for good, bad in pairs]
    macro = average_sets([good for good, _ in pairs], compared)
    baseline = average_sets([bad for _, bad in pairs])
    assert macro.difference is not None
    for name in COMPARED:
        assert getattr(macro.difference, name) == pytest.approx(
            getattr(macro, name) - getattr(baseline, name)
        )
    low, high = macro.difference.interval or (0, 0)
    assert 0 < low < (macro.difference.balanced_accuracy or 0) < high


def test_undefined_sets_are_left_out_of_means_and_counted() -> None:
    whole = measure_set(draw_set(30, 1), QUICK)
    one_kind = measure_set(rate_claims([0.5, 0.9, 0.1], [True] * 3, ["a", "b", "c"], 0.5), QUICK)
    macro = average_sets([whole, one_kind], [compare_sets(m, m, QUICK) for m in (whole, one_kind)])
    assert macro.balanced_accuracy == whole.accuracy.balanced_accuracy
    assert macro.intervals["balanced_accuracy"] == whole.accuracy.intervals["balanced_accuracy"]
    assert macro.sensitivity != whole.accuracy.sensitivity
    assert macro.left_out["balanced_accuracy"] == macro.left_out["auc"] == 1
    assert macro.left_out["sensitivity"] == 0
    assert macro.difference is not None
    assert macro.difference.balanced_accuracy == 0.0
    nothing = average_sets([one_kind])
    assert nothing.balanced_accuracy is None
    assert nothing.intervals["balanced_accuracy"] is None


def test_sets_where_some_resamples_are_undefined_still_have_a_macro_interval() -> None:
    # One unsupported claim: more than a third of all resamples miss it.
    rare = measure_set(
        rate_claims([0.9, 0.4, 0.8, 0.3], [True, True, True, False], list("abcd"), 0.5), QUICK
    )
    assert np.isnan(rare.draws["balanced_accuracy"]).any()
    macro = average_sets([rare, measure_set(draw_set(30, 1), QUICK)])
    low, high = macro.intervals["balanced_accuracy"] or (0, 0)
    assert 0 < low < high < 1
