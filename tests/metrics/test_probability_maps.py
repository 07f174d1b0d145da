"""Maps from scores to probabilities, and thresholds: known answers, and what can go wrong."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from claimwise.calibration.maps import (
    LabelledScores,
    _log_loss,
    apply_map,
    deal_items,
    find_thresholds,
    fit_isotonic,
    fit_map,
    fit_platt,
    measure_ece,
)
from claimwise.calibration.values import ProbabilityMap


def make(
    scores: list[float], supported: list[int], items: list[int] | None = None
) -> LabelledScores:
    return LabelledScores(
        scores=np.array(scores, dtype=float),
        supported=np.array(supported, dtype=bool),
        weights=np.ones(len(scores)),
        items=np.array(range(len(scores)) if items is None else items, dtype=np.intp),
    )


def draw(claims: int, seed: int, *, sharpness: float = 2.0) -> LabelledScores:
    """Claims whose scores are surer than they should be."""
    generator = np.random.default_rng(seed)
    odds = generator.normal(0.7, 1.2, claims)
    supported = generator.random(claims) < special.expit(odds)
    return LabelledScores(
        scores=special.expit(sharpness * odds),
        supported=supported,
        weights=np.ones(claims),
        items=np.arange(claims) // 4,
    )


def test_platt_is_the_curve_with_the_smallest_loss() -> None:
    scored = draw(300, 1)
    found = fit_platt(scored)
    yes = int(scored.supported.sum())
    targets = np.where(scored.supported, (yes + 1) / (yes + 2), 1 / (300 - yes + 2))
    odds = special.logit(np.clip(scored.scores, 1e-3, 1 - 1e-3))

    def loss(curve: np.ndarray) -> float:
        share = np.clip(special.expit(curve[0] * odds + curve[1]), 1e-12, 1 - 1e-12)
        return float(-(targets * np.log(share) + (1 - targets) * np.log(1 - share)).sum())

    other = scipy.optimize.minimize(loss, [1.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-7})
    assert (found.slope, found.offset) == pytest.approx(tuple(other.x), abs=1e-4)


def test_platt_stays_finite_where_scores_separate_the_labels() -> None:
    found = fit_platt(make([0.1] * 30 + [0.9] * 30, [0] * 30 + [1] * 30))
    assert np.isfinite([found.slope, found.offset]).all()
    assert apply_map(found, np.array([0.1, 0.9])) == pytest.approx([1 / 32, 31 / 32], abs=1e-6)


def test_platt_is_never_turned_upside_down() -> None:
    found = fit_platt(make([0.1] * 30 + [0.9] * 30, [1] * 30 + [0] * 30))
    assert found.slope == 0
    assert apply_map(found, np.array([0.1, 0.9])) == pytest.approx([0.5, 0.5], abs=1e-6)


def test_isotonic_pools_what_falls() -> None:
    """Shares 0, 1/2, 0, 1 by score: the second and third become one level of 1/4."""
    scores = [0.1] * 4 + [0.3] * 2 + [0.5] * 2 + [0.9] * 4
    found = fit_isotonic(make(scores, [0] * 4 + [1, 0] + [0, 0] + [1] * 4))
    share = 5 / 12
    assert [place for place, _ in found.points] == pytest.approx([0.1, 0.4, 0.9])
    levels = [(0 + share) / 5, (1 + share) / 5, (4 + share) / 5]
    assert [level for _, level in found.points] == pytest.approx(levels)


@given(
    st.lists(
        st.tuples(st.sampled_from([0.05, 0.2, 0.35, 0.5, 0.77, 0.99]), st.booleans()),
        min_size=2, max_size=60,
    )
)  # fmt: skip
def test_isotonic_rises_and_keeps_the_mean(claims: list[tuple[float, bool]]) -> None:
    scored = make([score for score, _ in claims], [int(good) for _, good in claims])
    found = fit_isotonic(scored)
    levels = [level for _, level in found.points]
    assert levels == sorted(levels)
    assert all(0 <= level <= 1 for level in levels)
    mapped = apply_map(found, np.linspace(0, 1, 21))
    assert (np.diff(mapped) >= -1e-12).all()


def test_isotonic_rises_where_a_small_level_is_pulled_further_than_a_large_one() -> None:
    """19 of 20, then 1 of 1: pulled by one claim towards 0.5 the second would be the lower one."""
    scores = [0.1] * 19 + [0.7] * 20 + [0.9]
    found = fit_isotonic(make(scores, [0] * 19 + [0] + [1] * 20))
    levels = [level for _, level in found.points]
    assert levels == pytest.approx([0.5 / 20, 20.5 / 22])


@given(st.integers(0, 2**32 - 1), st.integers(50, 300))
def test_isotonic_rises_for_scores_that_all_differ(seed: int, claims: int) -> None:
    scored = draw_three_ways(claims, seed)
    found = fit_isotonic(scored)
    assert (np.diff([level for _, level in found.points]) > 0).all()
    steps = np.linspace(0, 1, 101)
    for rejected in (np.zeros(101, dtype=bool), np.ones(101, dtype=bool)):
        mapped = apply_map(found, steps, rejected)
        assert (np.diff(mapped) >= -1e-12).all()
        assert ((mapped > 0) & (mapped < 1)).all()


def draw_three_ways(claims: int, seed: int) -> LabelledScores:
    """An instrument whose probabilities are right, and that knows two verdicts beside supported.

    Of those it names the likelier one, so that its confidence may be a third where it is sure that
    the claim is not supported.
    """
    generator = np.random.default_rng(seed)
    shares = generator.dirichlet([2.0, 0.7, 0.7], claims)
    rejected = shares[:, 0] < 0.5
    scores = np.where(rejected, 1 - shares[:, 1:].max(axis=1), shares[:, 0])
    return LabelledScores(
        scores=scores,
        supported=generator.random(claims) < shares[:, 0],
        weights=np.ones(claims),
        items=np.arange(claims) // 4,
        rejected=rejected,
    )


def test_a_doubtful_verdict_other_than_supported_is_no_sign_of_support() -> None:
    """One of three verdicts: 0.4 sure of it leaves 0.6, most of which is the third verdict's."""
    fit, fresh = fit_map(draw_three_ways(4_000, 1)), draw_three_ways(20_000, 2)
    assert fit is not None
    assert fresh.rejected is not None
    assert fit.map.drop is not None
    assert fit.map.drop > 0.5
    mapped = apply_map(fit.map, fresh.scores, fresh.rejected)
    for side in (fresh.rejected, ~fresh.rejected):
        assert mapped[side].mean() == pytest.approx(fresh.supported[side].mean(), abs=0.03)
    assert measure_ece(fresh, mapped) < 0.03
    blind = fit_map(replace(draw_three_ways(4_000, 1), rejected=None))
    assert blind is not None
    assert fit.log_loss[fit.map.kind] < blind.log_loss[blind.map.kind] - 0.005


def test_verdicts_other_than_supported_are_never_raised() -> None:
    """People call what it rejects supported, and the rest not: that is no calibration."""
    rejected = np.array([True] * 30 + [False] * 30)
    scored = replace(make([0.4] * 30 + [0.6] * 30, [1] * 30 + [0] * 30), rejected=rejected)
    for fitted in (fit_platt(scored), fit_isotonic(scored)):
        assert fitted.drop == 0
        low, high = apply_map(fitted, np.array([0.4, 0.6]), np.array([True, False]))
        assert low == pytest.approx(high) == pytest.approx(0.5)


def test_calibration_error_by_hand() -> None:
    """Bin 0.9-1: 50 promise 0.95 and hold 0.5; bin 0.2-0.3: 50 promise 0.25 and hold 0.

    Gaps of 22.5 and 12.5 claims have variances of 50/49 · 12.5 (what the labels show) and 9.375
    (what the scores promise): chance explains 0.033 of their squares, so that little is taken off.
    """
    scored = make([0.95] * 50 + [0.25] * 50, [1, 0] * 25 + [0] * 50)
    shown, promised = 50 / 49 * 12.5, 50 * 0.25 * 0.75
    share = (shown + promised) / (22.5**2 + 12.5**2)
    added = np.sqrt(2 / np.pi) * (np.sqrt(shown) + np.sqrt(promised)) * share
    assert measure_ece(scored, scored.scores) == pytest.approx((35 - added) / 100)
    assert measure_ece(make([1.0, 0.0], [1, 0]), np.array([1.0, 0.0])) == 0


def test_the_map_that_does_best_on_unseen_items_is_kept() -> None:
    fit = fit_map(draw(2_000, 3))
    assert fit is not None
    assert fit.map.kind == min(fit.log_loss, key=fit.log_loss.__getitem__) != "identity"
    assert fit.ece_after < fit.ece_before / 2
    fresh = draw(20_000, 4)
    mapped = apply_map(fit.map, fresh.scores)
    assert measure_ece(fresh, mapped) < measure_ece(fresh, fresh.scores) / 2


def test_honest_scores_are_left_alone_or_nearly() -> None:
    fit = fit_map(draw(3_000, 5, sharpness=1.0))
    assert fit is not None
    probe = np.array([0.2, 0.5, 0.8])
    assert apply_map(fit.map, probe) == pytest.approx(probe, abs=0.08)


def test_few_claims_have_no_isotonic_map() -> None:
    fit = fit_map(draw(120, 6))
    assert fit is not None
    assert set(fit.log_loss) == {"identity", "platt"}


@pytest.mark.parametrize(
    "scored",
    [
        draw(49, 7),
        make([0.9] * 60, [1] * 60),
        make([0.9] * 60, [1, 0] * 30, items=[0] * 60),
        make([], []),
    ],
    ids=["few claims", "one kind", "one item", "none"],
)
def test_too_little_to_fit(scored: LabelledScores) -> None:
    assert fit_map(scored) is None
    assert find_thresholds(scored, 0.9) == ()


def test_items_are_never_divided_between_folds() -> None:
    items = np.repeat(np.arange(23), 3)
    folds = deal_items(items, seed=1)
    assert all(len(set(folds[items == item])) == 1 for item in range(23))
    assert sorted(np.bincount(folds[::3])) == [4, 4, 5, 5, 5]
    assert (folds == deal_items(items, seed=1)).all()
    assert (folds != deal_items(items, seed=2)).any()


def test_thresholds_by_hand() -> None:
    """Ten items, each with 0.2, 0.4, 0.6 unsupported and 0.5, 0.7, 0.9 supported."""
    scores = [0.2, 0.4, 0.6, 0.5, 0.7, 0.9] * 10
    scored = make(scores, [0, 0, 0, 1, 1, 1] * 10, items=[n // 6 for n in range(60)])
    best, sure = find_thresholds(scored, 1.0)
    # Between 0.4 and 0.5: all 30 supported, 20 of 30 others, (1 + 2/3) / 2. Above 0.6 the same.
    assert best.value == pytest.approx(0.45)
    assert best.held_out == pytest.approx(5 / 6)
    assert (sure.value, sure.held_out, sure.target) == (0.7, 1.0, 1.0)


def test_a_precision_that_no_score_reaches_has_no_threshold() -> None:
    found = find_thresholds(make([0.9] * 60, [1, 0] * 30), 0.9)
    assert [one.aim for one in found] == ["balanced accuracy"]
    assert found[0].held_out == pytest.approx(0.5)


def test_a_map_survives_json() -> None:
    fit = fit_map(draw(400, 8))
    assert fit is not None
    assert msgspec.json.decode(msgspec.json.encode(fit), type=type(fit)) == fit
    assert apply_map(ProbabilityMap(kind="identity"), np.array([0.3])) == [0.3]


def test_what_is_said_of_unseen_items_was_not_fitted_on_them() -> None:
    """Scores that know nothing: what was fitted on looks better than what was held out."""
    generator = np.random.default_rng(11)
    noise = make(list(generator.random(240)), list(generator.random(240) < 0.5))
    fit, (best, *_) = fit_map(noise), find_thresholds(noise, 0.9)
    assert fit is not None
    for kind, fitted in (("platt", fit_platt(noise)), ("isotonic", fit_isotonic(noise))):
        assert fit.log_loss[kind] > _log_loss(noise, apply_map(fitted, noise.scores)) + 0.001
    called = noise.scores >= best.value
    seen = (called[noise.supported].mean() + (~called[~noise.supported]).mean()) / 2
    assert best.held_out is not None
    assert best.held_out < seen - 0.02
