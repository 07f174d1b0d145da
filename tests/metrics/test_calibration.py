"""What an instrument is worth: figures by hand, weights, people beside it, and the rule."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.agreement.values import Figure
from claimwise.calibration.measure import (
    compare_with_people,
    count_matrix,
    measure_balanced,
    measure_bins,
    measure_calibration_error,
    measure_kappa,
    measure_share,
    measure_verdicts,
    read_claims,
)
from claimwise.calibration.trust import decide_trust
from claimwise.calibration.values import JudgedClaim, PeopleAgreement, TrustRule


def claims(*counts: tuple[str, str, int], per_item: int = 2, **more: Any) -> list[JudgedClaim]:
    """Claims by (said, told, how many), dealt over items."""
    pairs = [(said, told) for said, told, count in counts for _ in range(count)]
    items = max(1, len(pairs) // per_item)
    return [
        JudgedClaim(run_id="r", item_id=f"i{n % items}", claim_id=f"c{n}", said=said, told=told,
                    **more)
        for n, (said, told) in enumerate(pairs)
    ]  # fmt: skip


MIXED = (
    ("supported", "supported", 60),
    ("supported", "unlinked", 10),
    ("unlinked", "supported", 20),
    ("unlinked", "unlinked", 25),
    ("unlinked", "overreach", 5),
)


def test_figures_by_hand() -> None:
    judged = read_claims(claims(*MIXED), "grounded")
    assert measure_share(judged, judged.says, judged.holds).value == pytest.approx(60 / 80)
    assert measure_share(judged, ~judged.says, ~judged.holds).value == pytest.approx(30 / 40)
    assert measure_balanced(judged).value == pytest.approx(0.75)
    matrix = count_matrix(judged)
    assert (matrix["supported"]["unlinked"], matrix["unlinked"]["overreach"]) == (10, 5)
    assert sum(count for row in matrix.values() for count in row.values()) == 120
    # Observed (60 + 25) / 120; expected (70 · 80 + 50 · 35) / 120².
    observed, expected = 85 / 120, (70 * 80 + 50 * 35) / 120**2
    kappa = measure_kappa(judged)
    assert kappa.value == pytest.approx((observed - expected) / (1 - expected))
    assert kappa.low is not None
    assert kappa.low < (kappa.value or 0) < (kappa.high or 0)


def test_precision_and_recall_of_every_verdict() -> None:
    found = {row.verdict: row for row in measure_verdicts(read_claims(claims(*MIXED), "grounded"))}
    assert set(found) == {"supported", "unlinked", "overreach"}
    assert found["supported"].precision.value == pytest.approx(60 / 70)
    assert found["unlinked"].recall.value == pytest.approx(25 / 35)
    assert found["overreach"].precision == Figure(value=None, why="the judge never says it")
    assert found["overreach"].recall.value == 0
    assert (found["unlinked"].said, found["unlinked"].told) == (50, 35)


def test_closed_book_labels_have_their_own_verdicts() -> None:
    judged = read_claims(
        claims(("true", "true", 30), ("true", "false", 10), ("unverifiable", "false", 20)),
        "closed_book",
    )
    assert measure_balanced(judged).value == pytest.approx((1 + 20 / 30) / 2)
    assert measure_bins(judged) == ()
    assert measure_calibration_error(judged).why == "no claim has a confidence"


def test_a_claim_that_stands_for_four_counts_four_times() -> None:
    """A quarter of the supported claims was drawn, and all of the others."""
    rows = [
        *claims(("supported", "supported", 20), ("unlinked", "supported", 5),
                inclusion_probability=0.25),
        *claims(("supported", "unlinked", 30), ("unlinked", "unlinked", 20),
                inclusion_probability=1.0),
    ]  # fmt: skip
    judged = read_claims(rows, "grounded")
    assert judged.weighted
    found = measure_share(judged, judged.holds, judged.said >= 0)
    assert found.value == pytest.approx(100 / 150)
    assert judged.weights.sum() == pytest.approx(150**2 / (25 * 16 + 50))
    precision = measure_verdicts(judged)[0].precision
    assert precision.value == pytest.approx(80 / 110)


def test_equal_chances_are_no_weights() -> None:
    plain = read_claims(claims(*MIXED), "grounded")
    drawn = read_claims(claims(*MIXED, inclusion_probability=0.2), "grounded")
    assert not drawn.weighted
    assert measure_balanced(drawn) == measure_balanced(plain)
    assert measure_kappa(drawn) == measure_kappa(plain)


def test_labels_without_a_chance_count_for_themselves() -> None:
    rows = [
        *claims(("supported", "supported", 10), inclusion_probability=0.5),
        *claims(("supported", "unlinked", 10)),
    ]
    judged = read_claims(rows, "grounded")
    assert measure_share(judged, judged.holds, judged.said >= 0).value == pytest.approx(20 / 30)


def test_the_interval_of_balanced_accuracy_covers() -> None:
    """True sensitivity 0.9 and specificity 0.7; items are hard or easy as a whole."""
    generator = np.random.default_rng(5)
    covered = 0
    for _ in range(200):
        rows = []
        for item in range(60):
            shift = generator.normal(0, 0.06)
            for n in range(4):
                good = generator.random() < 0.7
                right = generator.random() < (0.9 if good else 0.7) + shift
                told, other = ("supported", "unlinked") if good else ("unlinked", "supported")
                rows.append(
                    JudgedClaim(run_id="r", item_id=f"i{item}", claim_id=f"{item}-{n}",
                                said=told if right else other, told=told)
                )  # fmt: skip
        found = measure_balanced(read_claims(rows, "grounded"))
        covered += (found.low or 0) <= 0.8 <= (found.high or 0)
    assert covered >= 0.9 * 200


def test_the_interval_of_balanced_accuracy_by_hand() -> None:
    """One claim to an item: sensitivity and specificity vary apart, so that reaches add up."""
    judged = read_claims(claims(*MIXED, per_item=1), "grounded")
    found = measure_balanced(judged)
    yes = measure_share(judged, judged.says, judged.holds)
    no = measure_share(judged, ~judged.says, ~judged.holds)
    below = [(side.value or 0) - (side.low or 0) for side in (yes, no)]
    above = [(side.high or 0) - (side.value or 0) for side in (yes, no)]
    assert found.low == pytest.approx(0.75 - math.hypot(*below) / 2)
    assert found.high == pytest.approx(0.75 + math.hypot(*above) / 2)


def test_perfect_agreement_is_not_certainty() -> None:
    judged = read_claims(
        claims(("supported", "supported", 30), ("unlinked", "unlinked", 30)), "grounded"
    )
    for figure in (measure_balanced(judged), measure_kappa(judged)):
        assert figure.value == 1
        assert figure.low is not None
        assert 0.5 < figure.low < 1


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (claims(("supported", "supported", 20)), "people call all claims supported, or none"),
        (claims(("unlinked", "stale", 20)), "people call all claims supported, or none"),
        ([], "people call all claims supported, or none"),
    ],
)
def test_one_kind_of_claims_has_no_balanced_accuracy(rows: list[JudgedClaim], why: str) -> None:
    judged = read_claims(rows, "grounded")
    assert measure_balanced(judged) == Figure(value=None, why=why)
    assert compare_with_people(judged).claims == 0
    assert measure_kappa(judged).why is not None or rows


def test_one_item_says_nothing_of_others() -> None:
    judged = read_claims(claims(*MIXED, per_item=120), "grounded")
    assert measure_balanced(judged) == Figure(value=0.75, low=0.0, high=1.0)
    assert measure_kappa(judged).low is None
    assert measure_calibration_error(read_claims(
        claims(*MIXED, per_item=120, confidence=0.9), "grounded"
    )).low is None  # fmt: skip


def test_scores_lie_on_one_scale() -> None:
    """“unlinked” with 0.9 is a score of 0.1."""
    rows = [
        *claims(("supported", "supported", 18), ("supported", "unlinked", 2), confidence=0.85),
        *claims(("unlinked", "supported", 5), ("unlinked", "unlinked", 15), confidence=0.95),
        *claims(("overreach", "overreach", 3)),
    ]
    judged = read_claims(rows, "grounded")
    low, high = measure_bins(judged)
    assert (low.claims, low.mean_score, low.observed.value) == pytest.approx((20, 0.05, 0.25))
    assert (high.claims, high.mean_score, high.observed.value) == pytest.approx((20, 0.85, 0.9))
    error = measure_calibration_error(judged)
    assert error.value == pytest.approx((0.2 + 0.05) / 2, abs=0.03)  # less what chance adds
    assert error.low is not None
    assert error.low <= (error.value or 0) <= (error.high or 0)


def test_a_score_knows_its_side() -> None:
    """0.4 sure of “overreach” scores as 0.6 sure of “supported” does, and is another thing."""
    sides = (("supported", 0.6), ("overreach", 0.4), ("stale", None), ("contradicted", 0.4))
    rows = [one for said, sure in sides
            for one in claims((said, "supported", 1), confidence=sure)]  # fmt: skip
    scored = read_claims(rows, "grounded").scored
    assert scored.scores == pytest.approx([0.6, 0.6, 0.6])
    assert scored.rejected is not None
    assert scored.rejected.tolist() == [False, True, True]


def test_honest_scores_may_have_no_calibration_error() -> None:
    """Chance makes an error of honest scores look larger: intervals of 40 samples hold 0."""
    errors = [measure_honest(seed) for seed in range(40)]
    assert sum(error.low != 0 for error in errors) <= 4
    assert all(0 <= (error.value or 0) < (error.high or 0) < 0.15 for error in errors)
    assert np.mean([error.value for error in errors]) < 0.015


def measure_honest(seed: int) -> Figure:
    generator = np.random.default_rng(seed)
    sure = generator.uniform(0.5, 1, 400)
    rows = [
        JudgedClaim(run_id="r", item_id=f"i{n // 4}", claim_id=f"c{n}", said="supported",
                    told="supported" if right else "unlinked", confidence=float(sure[n]))
        for n, right in enumerate(generator.random(400) < sure)
    ]  # fmt: skip
    return measure_calibration_error(read_claims(rows, "grounded"))


def rated(said: str, told: str, *ratings: str, item: int, number: int) -> JudgedClaim:
    return JudgedClaim(run_id="r", item_id=f"i{item}", claim_id=f"c{number}", said=said, told=told,
                       ratings=ratings)  # fmt: skip


def test_people_and_the_instrument_on_the_same_claims() -> None:
    """Two people: 30 both supported, 8 both not, 2 differ; the instrument errs on 4 more."""
    rows = [
        *(rated("supported", "supported", "supported", "supported", item=n // 2, number=n)
          for n in range(30)),
        *(rated("unlinked" if n % 2 else "supported", "unlinked", "unlinked", "unlinked",
                item=n // 2, number=n) for n in range(30, 38)),
        *(rated("supported", "unlinked", "supported", "unlinked", item=n // 2, number=n)
          for n in range(38, 40)),
        *claims(("supported", "supported", 10)),
    ]  # fmt: skip
    found = compare_with_people(read_claims(rows, "grounded"))
    assert (found.claims, found.items) == (40, 20)
    share = 62 / 80
    expected = share**2 + (1 - share) ** 2
    assert found.kappa.value == pytest.approx((38 / 40 - expected) / (1 - expected))
    # The instrument says 36 supported; it agrees with 30 + 4 claims and with half of 2.
    chance = (36 / 40) * (31 / 40) + (4 / 40) * (9 / 40)
    assert found.instrument_kappa.value == pytest.approx((35 / 40 - chance) / (1 - chance))
    gap = (found.kappa.value or 0) - (found.instrument_kappa.value or 0)
    assert found.gap.value == pytest.approx(gap)
    assert found.gap.low is not None
    assert found.gap.low < gap < (found.gap.high or 0)


def test_the_gap_reaches_as_far_as_its_parts_and_no_further() -> None:
    """Up: people's kappa may be higher, the instrument's lower; down: the other way round.

    The instrument says what people say, and where they differ it sides with one of them, so both
    kappas fall on the same claims: their difference varies less than the two of them apart.
    """
    rows = [
        *(rated(v, v, v, v, item=n, number=n)
          for n, v in enumerate(["supported"] * 40 + ["unlinked"] * 8)),
        *(rated("supported", "unlinked", "supported", "unlinked", item=n, number=n)
          for n in range(48, 54)),
    ]  # fmt: skip
    found = compare_with_people(read_claims(rows, "grounded"))
    people, instrument, gap = found.kappa, found.instrument_kappa, found.gap
    ends = (people, instrument, gap)
    assert all(one.value is not None and one.low is not None and one.high is not None
               for one in ends)  # fmt: skip
    up = [(one.high or 0) - (one.value or 0) for one in ends]
    down = [(one.value or 0) - (one.low or 0) for one in ends]
    assert abs(up[0] - down[1]) <= up[2] < np.hypot(up[0], down[1])
    assert abs(down[0] - up[1]) <= down[2] < np.hypot(down[0], up[1])
    assert down[1] > 1.2 * up[1]  # lopsided, so that the ends can't be taken for each other
    assert (down[2] > up[2]) == (down[0] > up[0])


RULE = TrustRule()


def people(
    kappa: float,
    low: float,
    high: float,
    gap: float,
    gap_low: float | None,
    gap_high: float | None = 0.15,
) -> PeopleAgreement:
    return PeopleAgreement(
        claims=50, items=30, kappa=Figure(value=kappa, low=low, high=high),
        instrument_kappa=Figure(value=kappa - gap),
        gap=Figure(value=gap, low=gap_low, high=gap_high),
    )  # fmt: skip


ALONE = PeopleAgreement(
    claims=0, items=0, kappa=Figure(value=None), instrument_kappa=Figure(value=None),
    gap=Figure(value=None),
)  # fmt: skip
AGREE = people(0.7, 0.6, 0.8, 0.05, -0.1)


@pytest.mark.parametrize(
    ("count", "bounds", "who", "status", "words"),
    [
        (500, (0.8, 0.9), AGREE, "trusted", "is above 75%"),
        (99, (0.8, 0.9), AGREE, "unknown", "99 claims labelled by people; 100 are needed"),
        (500, (0.6, 0.74), AGREE, "not trusted", "is below 75%"),
        (500, (0.6, 0.74), ALONE, "not trusted", "is below 75%"),
        (500, (0.7, 0.9), AGREE, "unknown", "could be above or below 75%"),
        (500, (0.8, 0.9), ALONE, "unknown", "no claim has labels of two people"),
        (500, (0.8, 0.9), people(0.2, 0.1, 0.39, 0.0, -0.2), "unknown", "clarify the guide first"),
        (500, (0.8, 0.9), people(0.2, 0.1, 0.41, 0.0, -0.2), "trusted", "is above"),
        (500, (0.8, 0.9), people(0.9, 0.8, 0.95, 0.3, 0.16, 0.5), "not trusted", "0.15 is allowed"),
        (500, (0.8, 0.9), people(0.9, 0.8, 0.95, 0.3, 0.1, 0.5), "unknown", "label more of"),
        (500, (0.8, 0.9), people(0.9, 0.8, 0.95, 0.05, 0.0, 0.16), "unknown", "0.15 allowed"),
        (500, (0.8, 0.9), people(0.9, 0.8, 0.95, 0.0, None, None), "unknown", "too uncertain"),
    ],
)
def test_the_rule(
    count: int, bounds: tuple[float, float], who: PeopleAgreement, status: str, words: str
) -> None:
    balanced = Figure(value=sum(bounds) / 2, low=bounds[0], high=bounds[1])
    found, reason = decide_trust(RULE, count, balanced, who)
    assert found == status
    assert words in reason


def test_without_a_balanced_accuracy_nothing_is_known() -> None:
    found, reason = decide_trust(RULE, 500, Figure(value=None, why="one kind"), AGREE)
    assert (found, reason) == ("unknown", "no balanced accuracy: one kind")


def test_people_who_all_say_the_same_have_no_kappa() -> None:
    who = PeopleAgreement(
        claims=9, items=5, kappa=Figure(value=None, why="all the same"),
        instrument_kappa=Figure(value=None), gap=Figure(value=None),
    )  # fmt: skip
    found, reason = decide_trust(RULE, 500, Figure(value=0.9, low=0.8, high=0.95), who)
    assert found == "unknown"
    assert "all the same" in reason


VERDICT = st.sampled_from(["supported", "unlinked", "overreach", "contradicted", "stale"])
CLAIM = st.builds(
    lambda item, said, told, confidence, chance, ratings: (
        f"i{item}", said, told, confidence, chance, tuple(ratings)
    ),
    st.integers(0, 5), VERDICT, VERDICT, st.none() | st.floats(0, 1),
    st.none() | st.floats(0.01, 1), st.just([]) | st.lists(VERDICT, min_size=2, max_size=4),
)  # fmt: skip


@given(st.lists(CLAIM, max_size=40))
def test_whatever_the_claims_figures_are_figures(rows: list[Any]) -> None:
    """No NaN, nothing outside its range, no figure outside its interval; a reason where missing."""
    judged = read_claims(
        [
            JudgedClaim(run_id="r", item_id=item, claim_id=str(n), said=said, told=told,
                        confidence=confidence, inclusion_probability=chance, ratings=ratings)
            for n, (item, said, told, confidence, chance, ratings) in enumerate(rows)
        ],
        "grounded",
    )  # fmt: skip
    people = compare_with_people(judged)
    shares = [
        measure_balanced(judged),
        measure_calibration_error(judged),
        *(bin_.observed for bin_ in measure_bins(judged)),
        *(part for row in measure_verdicts(judged) for part in (row.precision, row.recall)),
    ]
    kappas = [measure_kappa(judged), people.kappa, people.instrument_kappa]
    for least, figures in ((0.0, shares), (-1.0, kappas)):
        for figure in figures:
            check_figure(figure, least)
    gap = people.gap
    assert gap.value is None or np.isfinite(gap.value)
    if gap.low is not None and gap.high is not None:
        assert gap.low - 1e-9 <= (gap.value or 0.0) <= gap.high + 1e-9
    status, reason = decide_trust(TrustRule(min_claims=0), len(rows), shares[0], people)
    assert status in ("trusted", "not trusted", "unknown")
    assert "nan" not in reason


def check_figure(figure: Figure, least: float) -> None:
    if figure.value is None:
        assert figure.why
        return
    assert least <= figure.value <= 1 + 1e-9
    if figure.low is not None and figure.high is not None:
        assert least <= figure.low <= figure.value + 1e-9
        assert figure.value - 1e-9 <= figure.high <= 1
