"""Where people's rate may lie, given a judge's: from labelled sets, each left out in turn."""

from __future__ import annotations

import pytest

from claimwise.calibration.headline import list_rate_pairs
from claimwise.judges.card import load_card
from claimwise.metrics.judge_error import LEAST_SETS, RatePair, predict_people_rate

CARDS = [*(one.labeler for one in load_card().verifiers.values()), load_card().baseline.labeler]


@pytest.mark.parametrize("labeler", CARDS)
def test_range_holds_peoples_rate_on_nine_of_ten_sets_left_out(labeler: str) -> None:
    sets = list_rate_pairs(labeler)
    ranges = [
        predict_people_rate(one.judge, one.claims, [other for other in sets if other is not one])
        for one in sets
    ]
    held = [
        found is not None and found.low <= one.people <= found.high
        for one, found in zip(sets, ranges, strict=True)
    ]
    assert sum(held) >= 0.9 * len(sets)
    assert all(found is not None and found.high - found.low < 1 for found in ranges)


def test_what_sampling_alone_says_holds_it_on_few_sets() -> None:
    """The range is wide because judges are off by that much, not because it is generous."""
    sets = list_rate_pairs("verifier:embedded-7")
    near = [abs(one.judge - one.people) <= 0.04 for one in sets]
    assert sum(near) <= len(sets) / 2


def test_card_says_what_the_judge_said() -> None:
    """From sensitivity and specificity: the share of claims that it called supported."""
    sets = load_card().verifiers["embedded"].sets
    for one, pair in zip(sets.values(), list_rate_pairs("verifier:embedded-7"), strict=True):
        assert one.prevalence is not None
        assert one.sensitivity is not None
        assert one.specificity is not None
        good, bad = one.prevalence, 1 - one.prevalence
        assert pair.people == good
        assert pair.judge == pytest.approx(good * one.sensitivity + bad * (1 - one.specificity))


def test_a_judge_that_is_always_right_leaves_sampling_alone() -> None:
    sets = [RatePair(rate, rate, 1000) for rate in (0.5, 0.6, 0.7, 0.8, 0.9)]
    found = predict_people_rate(0.8, 100, sets, sampling=(0.71, 0.87))
    assert found is not None
    assert found.low == pytest.approx(0.68, abs=0.02)
    assert found.high == pytest.approx(0.88, abs=0.02)


def test_few_claims_widen_the_range() -> None:
    sets = [RatePair(0.8, rate, 1000) for rate in (0.6, 0.7, 0.75, 0.8, 0.85)]
    many = predict_people_rate(0.8, 5000, sets, sampling=(0.79, 0.81))
    few = predict_people_rate(0.8, 20, sets, sampling=(0.58, 0.92))
    assert many is not None
    assert few is not None
    assert few.low < many.low < 0.8 < many.high < few.high


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_none_and_all_have_a_range_that_holds_them(rate: float) -> None:
    sets = list_rate_pairs("verifier:embedded-7")
    found = predict_people_rate(rate, 30, sets, sampling=(rate, rate))
    assert found is not None
    assert found.low <= rate <= found.high
    assert found.high - found.low > 0.05


def test_few_sets_make_no_range() -> None:
    sets = [RatePair(0.8, 0.7, 100)] * (LEAST_SETS - 1)
    assert predict_people_rate(0.8, 100, sets) is None
    assert list_rate_pairs("judge:somebody's@1:model") == []
