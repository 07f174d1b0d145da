"""The estimate of a window: against the formulas written out, and what it refuses."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from claimwise.calibration.maps import LabelledScores, apply_map, deal_items, fit_platt
from claimwise.estimates.selection import draw_claims, find_chances
from claimwise.estimates.window import ClaimTable, WindowClaim, estimate_window

RATE = 0.85


def simulate(seed: int = 0, items: int = 300, labels: int = 200) -> list[WindowClaim]:
    """Answers of 1 to 6 claims, a judge that is too mild, and labels of random claims."""
    generator = np.random.default_rng(seed)
    found = []
    for item in range(items):
        share = generator.beta(RATE * 2.3, (1 - RATE) * 2.3)
        for _ in range(int(generator.integers(1, 7))):
            right = bool(generator.random() < share)
            score = 1 / (1 + math.exp(-generator.normal(2.2 if right else 0.4, 1.0)))
            verdict = "supported" if score > 0.6 else "others"
            found.append(
                (
                    f"i{item}",
                    f"{verdict}/{'high' if score > 0.85 or score < 0.4 else 'low'}",
                    score,
                    right,
                )
            )
    chosen = set(generator.choice(len(found), labels, replace=False).tolist())
    chance = labels / len(found)
    return [
        WindowClaim(item, item, stratum, score, right if at in chosen else None,
                    chance if at in chosen else None)
        for at, (item, stratum, score, right) in enumerate(found)
    ]  # fmt: skip


def predict_by_other_folds(claims: list[WindowClaim]) -> list[float]:
    names = sorted({one.cluster for one in claims})
    folds = dict(zip(names, deal_items(np.arange(len(names)), 0).tolist(), strict=True))
    curves = {}
    for fold in set(folds.values()):
        known = [one for one in claims if one.label is not None and folds[one.cluster] != fold]
        curves[fold] = fit_platt(
            LabelledScores(
                scores=np.array([one.score for one in known]),
                supported=np.array([bool(one.label) for one in known]),
                weights=np.array([one.weight / (one.inclusion or 1) for one in known]),
                items=np.arange(len(known)),
            )
        )
    return [
        float(apply_map(curves[folds[one.cluster]], np.array([one.score]))[0]) for one in claims
    ]


def add_jeffreys(
    claims: list[WindowClaim], shares: dict[str, float], shown: dict[str, float]
) -> float:
    """The variance of strata with fewer than three labels of the rarer kind, beyond the shown."""
    found = 0.0
    for name, share in shares.items():
        held = [one for one in claims if one.stratum == name and one.label is not None]
        if min(sum(one.label is kind for one in held) for kind in (True, False)) < 3:
            stands = [one.weight / (one.inclusion or 1) for one in held]
            size = sum(stands) ** 2 / sum(one**2 for one in stands)
            hits = sum(one for one, claim in zip(stands, held, strict=True) if claim.label)
            posterior = stats.beta(
                0.5 + size * hits / sum(stands), 0.5 + size * (1 - hits / sum(stands))
            )
            found += share**2 * float(posterior.var()) - shown[name]
    assert found > 0  # else the test shows nothing
    return found


def test_the_estimate_is_the_one_of_the_formulas() -> None:
    """Claim by claim, in plain Python, with unequal chances and weights of answers."""
    claims = [
        replace(one, weight=2.0 if number % 3 else 1.0,
                inclusion=one.inclusion and one.inclusion * (1 + number % 2))
        for number, one in enumerate(simulate(labels=400))
    ]  # fmt: skip
    predicted = predict_by_other_folds(claims)
    total = sum(one.weight for one in claims)
    by_stratum = defaultdict(list)
    sizes: dict[str, float] = defaultdict(float)
    for one, guess in zip(claims, predicted, strict=True):
        sizes[one.stratum] += one.weight
        if one.label is not None and one.inclusion:
            by_stratum[one.stratum].append((one.weight / one.inclusion, one.label - guess))
    known = {name: sum(stands for stands, _ in held) for name, held in by_stratum.items()}
    off = {
        name: sum(stands * error for stands, error in held) / known[name]
        for name, held in by_stratum.items()
    }
    rate = sum(one.weight * guess for one, guess in zip(claims, predicted, strict=True)) / total
    rate += sum(sizes[name] / total * off[name] for name in off)
    psi: dict[str, float] = defaultdict(float)
    shown: dict[str, float] = defaultdict(float)
    for one, guess in zip(claims, predicted, strict=True):
        part = one.weight * (guess + off[one.stratum] - rate)
        if one.label is not None and one.inclusion:
            count = len(by_stratum[one.stratum])
            rest = (
                one.weight / one.inclusion * sizes[one.stratum] / known[one.stratum]
                * math.sqrt(count / (count - 1)) * (one.label - guess - off[one.stratum])
            )  # fmt: skip
            shown[one.stratum] += (rest / total) ** 2
            part += rest
        psi[one.cluster] += part / total
    squares = np.array(list(psi.values())) ** 2
    variance = len(psi) / (len(psi) - 1) * squares.sum()
    variance += add_jeffreys(claims, {name: sizes[name] / total for name in sizes}, shown)
    labelled = len({one.cluster for one in claims if one.label is not None})
    freedom = min(squares.sum() ** 2 / (squares**2).sum(), labelled - 1)
    pull = stats.t.ppf(0.975, freedom) ** 2 * variance / (rate * (1 - rate))
    middle = (rate + pull / 2) / (1 + pull)
    half = math.sqrt(pull * rate * (1 - rate) + pull**2 / 4) / (1 + pull)

    found = estimate_window(claims)

    assert found.basis == "corrected", found.refusals
    assert found.rate == pytest.approx(rate, abs=1e-9)
    assert found.variance == pytest.approx(variance, rel=1e-9)
    assert found.low == pytest.approx(middle - half, abs=1e-9)
    assert found.high == pytest.approx(middle + half, abs=1e-9)


def test_it_covers_where_the_judge_alone_does_not_and_is_narrower_than_labels_alone() -> None:
    held = judge = labels = 0
    narrower = []
    for seed in range(60):
        claims = simulate(seed)
        found = estimate_window(claims, seed=seed)
        alone = estimate_window(claims, barred=["labels alone, please"])
        assert found.rate is not None
        assert found.low is not None
        assert found.high is not None
        assert alone.low is not None
        assert alone.high is not None
        held += found.low <= RATE <= found.high
        labels += alone.low <= RATE <= alone.high
        judge += (found.judge_low or 0) <= RATE <= (found.judge_high or 0)
        narrower.append((found.width or 1) / (alone.width or 1))
    assert held >= 53  # of 60 at 95%: fewer come once in 300 runs
    assert labels >= 53
    assert judge <= 45
    assert np.mean(narrower) < 0.95


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            lambda one: replace(one, cluster=str(int(one.item[1:]) % 20)),
            "20 labelled clusters (conv",
        ),
        (lambda one: replace(one, label=one.label), "0 labels unsupported"),
        (
            lambda one: replace(one, label=None if one.stratum == "others/low" else one.label),
            "among claims judged “others/low”",
        ),
        (
            lambda one: replace(one, cluster="big" if int(one.item[1:]) < 60 else one.item),
            "one cluster (big) carries",
        ),
    ],
)
def test_it_refuses_what_labels_cannot_carry_and_says_why(change, reason) -> None:  # type: ignore[no-untyped-def]
    claims = [change(one) for one in simulate()]
    if reason.startswith("0 labels"):
        claims = [replace(one, label=None if one.label is None else True) for one in claims]
    found = estimate_window(claims)

    assert found.basis == "labels_only"
    assert any(reason in one for one in found.refusals), found.refusals
    assert found.rate is not None


def test_few_labels_give_no_rate_and_a_barred_judge_labels_only() -> None:
    claims = simulate()
    few = [replace(one, label=one.label if int(one.item[1:]) < 5 else None) for one in claims]

    none = estimate_window(few)
    barred = estimate_window(claims, barred=["the judge changed on 2026-11-12"])

    assert (none.basis, none.rate, none.low) == ("none", None, None)
    assert none.judge_only is not None
    assert "labels alone need 10" in none.refusals[-1]
    assert barred.basis == "labels_only"
    assert barred.refusals == ("the judge changed on 2026-11-12",)


def test_labels_that_somebody_chose_are_left_out_beside_a_sample() -> None:
    claims = simulate()
    flagged = [
        replace(one, label=False) if one.label is None and number % 20 == 0 else one
        for number, one in enumerate(claims)
    ]

    found, plain = estimate_window(flagged), estimate_window(claims)

    assert found.unused_labels == len([one for one in flagged if one.label is not None]) - 200
    assert found.rate == pytest.approx(plain.rate)


def test_unscored_claims_widen_what_is_known_of_all() -> None:
    found = estimate_window(simulate(), unscored=100)

    assert found.low is not None
    assert found.high is not None
    share = 100 / (100 + found.claims)
    assert found.unscored_share == pytest.approx(share)
    assert found.unscored_low == pytest.approx(found.low * (1 - share))
    assert found.unscored_high == pytest.approx(found.high * (1 - share) + share)


def test_label_next_draws_one_claim_per_item_with_the_chances_it_states() -> None:
    claims = simulate(items=60)
    table = ClaimTable.from_claims(claims)
    chances = find_chances(table.scores, table.clusters, 40)
    generator = np.random.default_rng(5)
    times = np.zeros(len(claims))
    for _ in range(4000):
        drawn = draw_claims(chances, table.clusters, generator)
        assert len(np.unique(table.clusters[drawn])) == len(drawn) == 40
        times[drawn] += 1
    doubt = np.sqrt(table.scores * (1 - table.scores))

    assert chances.sum() == pytest.approx(40)
    assert np.abs(times / 4000 - chances).max() < 0.035  # four and a half standard errors
    assert chances[np.argmax(doubt)] > 2 * chances[np.argmin(doubt)]
