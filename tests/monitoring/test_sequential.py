"""Alarm statistics against references written here, in plain Python, from the formulas."""

from __future__ import annotations

import math
import random
import statistics

import numpy as np
import pytest

from claimwise.monitoring.anchors import compare_judgings
from claimwise.monitoring.daily_rate import (
    BANDS,
    estimate_day,
    find_bands,
    predict_by_band,
)
from claimwise.monitoring.sequential import (
    TWENTY_YEARS_OF_DAYS,
    Direction,
    advance_by_day,
    advance_by_label,
    find_spread,
    start_state,
    weigh_state,
)


def reference_days(
    values: list[float], baseline: float, sigma: float, tolerated: float, signs: list[int]
) -> float:
    """M = (M + 1) exp[b x / s² - b² / (2 s²)], x at most 3.5 s; the mean over b and signs."""
    ends = []
    for sign in signs:
        for b in (0.02, 0.04, 0.07):
            m = 0.0
            for value in values:
                x = min(sign * (baseline - value) - tolerated, 3.5 * sigma)
                m = (m + 1) * math.exp(b * x / sigma**2 - b * b / (2 * sigma**2))
            ends.append(m)
    return sum(ends) / len(ends)


@pytest.mark.parametrize(("direction", "signs"), [("down", [1]), ("up", [-1]), ("both", [1, -1])])
def test_evidence_over_days_is_the_published_recursion(
    direction: Direction, signs: list[int]
) -> None:
    rng = random.Random(4)
    values = [rng.gauss(0.9, 0.03) for _ in range(60)] + [rng.gauss(0.85, 0.03) for _ in range(6)]
    values.append(0.3)  # one freak day counts as 3.5 deviations
    state = start_state(direction)
    for value in values:
        state = advance_by_day(state, value, 0.9, 0.03, direction=direction, tolerated=0.01)
    assert weigh_state(state) == pytest.approx(reference_days(values, 0.9, 0.03, 0.01, signs))


def test_many_streams_at_once_are_the_same_as_one_by_one() -> None:
    values = np.random.default_rng(3).normal(0.88, 0.03, (5, 20))
    together = np.tile(start_state(), (5, 1))
    for day in range(20):
        together = advance_by_day(together, values[:, day], 0.9, np.full(5, 0.03))
    for stream in range(5):
        alone = start_state()
        for value in values[stream]:
            alone = advance_by_day(alone, float(value), 0.9, 0.03)
        assert weigh_state(together)[stream] == pytest.approx(weigh_state(alone))


def test_a_drop_is_found_and_better_days_take_the_evidence_back() -> None:
    state = start_state()
    for _ in range(12):
        state = advance_by_day(state, 0.84, 0.9, 0.025)
    assert weigh_state(state) > TWENTY_YEARS_OF_DAYS
    for _ in range(30):
        state = advance_by_day(state, 0.9, 0.9, 0.025)
    assert weigh_state(state) < 10


def test_evidence_over_labels_is_a_fair_bet_at_the_limit() -> None:
    """At the limit a bet's expectation is 1, for whatever distribution; and the recursion holds."""
    limit, largest = 0.9, 1.4
    values, chances = [1.4, 0.9, -0.1], [0.5, 0.0, 0.0]
    chances[2] = 0.5 * (1.4 - limit) / (limit + 0.1)
    chances[1] = 1 - chances[0] - chances[2]
    grown = [advance_by_label(start_state(), value, limit, largest) for value in values]
    fair = sum(chance * one for chance, one in zip(chances, grown, strict=True))
    assert fair == pytest.approx(np.ones(3))
    assert min(float(one.min()) for one in grown) > 0  # never loses everything
    state, expected = start_state(), [0.0, 0.0, 0.0]
    for value in (1.4, -0.1, 0.9, -0.1):
        state = advance_by_label(state, value, limit, largest)
        expected = [
            (m + 1) * (1 + share / (largest - limit) * (limit - value))
            for m, share in zip(expected, (0.25, 0.5, 0.9), strict=True)
        ]
    assert state == pytest.approx(np.array(expected))


def test_spread_comes_from_differences_so_that_a_lasting_drop_does_not_hide_itself() -> None:
    rng = random.Random(8)
    quiet = [rng.gauss(0.9, 0.03) for _ in range(70)]
    steps = [b - a for a, b in zip(quiet[-56:], quiet[-55:], strict=False)]
    reference = 1.1 * statistics.stdev(steps) / math.sqrt(2)
    assert find_spread(np.array(quiet)) == pytest.approx(reference)
    dropped = np.array(quiet) - np.where(np.arange(70) >= 40, 0.2, 0.0)
    assert find_spread(dropped) < 1.4 * reference < dropped.std()
    assert find_spread(np.full(30, 0.9), 0.004) == pytest.approx(0.004)


def test_a_day_is_right_on_average_whatever_the_judge_says() -> None:
    """The judge calls nearly all claims supported; labels with their weights put it right."""
    rng = np.random.default_rng(5)
    truth = rng.random(4000) < 0.7
    scores = np.where(truth, rng.beta(9, 1, 4000), rng.beta(6, 2, 4000))
    bands = find_bands(scores)
    chance = np.where(scores < 0.9, 0.05, 0.01)
    sizes = np.bincount(bands, minlength=BANDS).astype(float)
    found = []
    for _ in range(300):
        chosen = rng.random(4000) < chance
        weights = np.where(chosen, 1 / chance, 0.0)
        labels = np.bincount(bands, weights, BANDS).astype(float)
        supported = np.bincount(bands, weights * truth, BANDS).astype(float)
        found.append(estimate_day(sizes, labels, supported, predict_by_band(sizes * 0, sizes * 0)))
    assert scores.mean() > 0.8
    assert np.mean(found) == pytest.approx(truth.mean(), abs=0.01)
    assert np.isnan(estimate_day(sizes, sizes * 0, sizes * 0, np.full(BANDS, 0.9)))


def test_anchors_measure_the_judges_wavering_and_not_its_change() -> None:
    rng = np.random.default_rng(6)
    usual = (rng.random(400) < 0.9).astype(float)
    baseline = np.stack([np.abs(usual - (rng.random(400) < 0.02)) for _ in range(4)])
    now = np.where(np.cumsum(usual) <= 24, 0.0, usual)  # 24 of 400 verdicts fall: 6 points
    change, spread = compare_judgings(baseline, now, now)
    by_anchor = [statistics.variance(baseline[:, anchor].tolist()) for anchor in range(400)]
    assert change == pytest.approx(now.mean() - baseline.mean())
    assert spread == pytest.approx(math.sqrt(statistics.mean(by_anchor) / 400 * 1.25))
    steady = np.ones((4, 400))
    assert compare_judgings(steady, steady[0], steady[0])[1] == pytest.approx(
        math.sqrt(1 / 800 / 400 * 1.25)
    )
