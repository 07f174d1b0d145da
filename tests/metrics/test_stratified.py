"""Rates from strata and labels: by hand, at the ends, and beside a plain interval."""

from __future__ import annotations

import numpy as np
import pytest

from claimwise.calibration.stratified import StratumLabel, estimate_stratified
from claimwise.metrics.histogram import Histogram
from claimwise.metrics.intervals import wilson_interval

Verdicts = dict[str, dict[str | None, float]]


def label(stratum: str, item: int, *, good: bool) -> StratumLabel:
    return StratumLabel(stratum=stratum, item_id=f"i{item}", supported=good, group=stratum)


def make(stratum: str, good: int, bad: int, first: int = 0) -> list[StratumLabel]:
    """Labels of one claim an item."""
    return [label(stratum, first + n, good=n < good) for n in range(good + bad)]


def test_shares_are_weighed_by_the_size_of_their_strata() -> None:
    labels = [*make("yes", 18, 2), *make("no", 5, 15, first=20)]
    found = estimate_stratified({"yes": 900, "no": 100}, labels, {})
    assert found is not None
    assert found.value == pytest.approx(0.9 * 0.9 + 0.1 * 0.25)
    assert found.low < found.value < found.high
    assert found.empty == ()


def test_one_stratum_is_a_plain_rate() -> None:
    labels = make("all", 40, 20)
    found = estimate_stratified({"all": 600}, labels, {})
    plain = wilson_interval(Histogram.from_pairs([(1, 1, 40), (0, 1, 20)]))
    assert found is not None
    assert plain is not None
    assert found.value == pytest.approx(2 / 3)
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high), abs=0.01)


@pytest.mark.parametrize("good", [True, False])
def test_labels_that_all_agree_are_not_certain(good: bool) -> None:
    labels = [label(s, n, good=good) for s in ("a", "b") for n in range(20)]
    found = estimate_stratified({"a": 500, "b": 500}, labels, {})
    assert found is not None
    assert found.value == float(good)
    assert 0.02 < found.high - found.low < 0.25


def test_a_stratum_without_labels_could_hold_anything() -> None:
    labels = make("a", 50, 0)
    whole = estimate_stratified({"a": 500}, labels, {})
    half = estimate_stratified({"a": 500, "b": 500}, labels, {})
    assert whole is not None
    assert half is not None
    assert half.empty == ("b",)
    assert half.value == pytest.approx(0.75)
    assert half.high - half.low > 0.4 > whole.high - whole.low


def test_claims_of_one_item_are_worth_less() -> None:
    apart = [label("a", n, good=n % 3 > 0) for n in range(60)]
    together = [label("a", n // 6 * 3 + n // 6 % 3, good=n // 6 % 3 > 0) for n in range(60)]
    one = estimate_stratified({"a": 600}, apart, {})
    other = estimate_stratified({"a": 600}, together, {})
    assert one is not None
    assert other is not None
    assert other.high - other.low > 1.3 * (one.high - one.low)


def test_how_verdicts_vary_over_items_widens() -> None:
    labels = [*make("yes", 20, 0), *make("no", 0, 20, first=20)]
    even: dict[str, dict[str | None, int]] = {f"v{n}": {"yes": 5, "no": 5} for n in range(40)}
    uneven: dict[str, dict[str | None, int]] = {
        f"v{n}": {"yes": 10} if n % 2 else {"no": 10} for n in range(40)
    }
    one, other = (
        estimate_stratified({"yes": 200, "no": 200}, labels, verdicts)
        for verdicts in (even, uneven)
    )
    assert one is not None
    assert other is not None
    assert other.high - other.low > one.high - one.low


def test_degenerate() -> None:
    assert estimate_stratified({"a": 10}, [], {}) is None
    assert estimate_stratified({}, [], {}) is None
    one = estimate_stratified({"a": 10}, [label("a", 0, good=True)], {})
    assert one is not None
    assert 0 <= one.low < 0.2 < one.high == 1
    same = estimate_stratified({"a": 10}, [label("a", 0, good=n > 1) for n in range(4)], {})
    assert same is not None
    assert same.low < 0.2
    assert same.high > 0.8


def test_it_covers_and_is_narrower_than_labels_alone() -> None:
    """A short version of benchmarks/calibration.py."""
    generator = np.random.default_rng(60)
    covered, widths, plain = 0, [], []
    for _ in range(150):
        good = generator.random(2000) < 0.9
        said = np.where(generator.random(2000) < 0.85, good, ~good)
        labels = []
        for verdict in (True, False):
            rows = generator.permutation(np.flatnonzero(said == verdict))[:100]
            labels += [label(str(verdict), int(row), good=bool(good[row])) for row in rows]
        sizes = {"True": int(said.sum()), "False": int((~said).sum())}
        found = estimate_stratified(sizes, labels, {})
        rows = generator.permutation(2000)[:200]
        alone = wilson_interval(Histogram.from_clusters(good[rows], np.ones(200)))
        assert found is not None
        assert alone is not None
        covered += found.low <= good.mean() <= found.high
        widths.append(found.high - found.low)
        plain.append(alone.high - alone.low)
    assert covered >= 0.93 * 150
    assert np.mean(widths) < 0.9 * np.mean(plain)


def test_items_whose_claims_fail_in_several_strata_at_once_widen() -> None:
    def measure(shift: int) -> float:
        labels = [label("a", n, good=n % 3 > 0) for n in range(60)]
        labels += [label("b", n, good=(n + shift) % 3 > 0) for n in range(60)]
        found = estimate_stratified({"a": 300, "b": 300}, labels, {})
        assert found is not None
        return found.high - found.low

    assert measure(0) > 1.3 * measure(1)


def test_with_few_labels_the_narrower_of_two_ranges_counts() -> None:
    """Ten strata of two labels: what is assumed of each adds up to more than labels alone need."""
    sizes = {f"s{n}": 100 for n in range(10)}
    labels = [label(f"s{n}", 10 * n + m, good=n + m > 0) for n in range(10) for m in range(2)]
    found = estimate_stratified(sizes, labels, {})
    alone = wilson_interval(Histogram.from_pairs([(1, 1, 19), (0, 1, 1)]))
    assert found is not None
    assert alone is not None
    assert found.range_from == "labels"
    assert (found.low, found.high) == pytest.approx((alone.low, alone.high))
    assert found.other_width is not None
    assert found.other_width > found.high - found.low


@pytest.mark.parametrize("strata", [4, 10])  # tenths don't add up to 1 exactly, quarters do
@pytest.mark.parametrize("good", [True, False])
def test_labels_that_agree_in_many_strata_say_what_labels_alone_would(
    strata: int, good: bool
) -> None:
    sizes = {f"s{n}": 100 for n in range(strata)}
    held = 100 // strata
    labels = [label(name, held * n + m, good=good) for n, name in enumerate(sizes)
              for m in range(held)]  # fmt: skip
    found = estimate_stratified(sizes, labels, {})
    alone = wilson_interval(Histogram.from_pairs([(float(good), 1, 100)]))
    assert found is not None
    assert alone is not None
    assert found.value == float(good)
    assert (found.low, found.high) == pytest.approx((alone.low, alone.high))


def test_with_few_labels_a_judge_that_is_right_makes_the_range_narrower() -> None:
    labels = [*make("yes", 20, 0), *make("no", 0, 20, first=20)]
    found = estimate_stratified({"yes": 500, "no": 500}, labels, {})
    assert found is not None
    assert found.range_from == "verdicts"
    assert found.other_width is not None
    assert found.other_width > 2 * (found.high - found.low)


def test_with_labels_enough_verdicts_count_and_without_some_stratum_s_too() -> None:
    many = estimate_stratified({"a": 900}, make("a", 60, 0), {})
    gap = estimate_stratified({"a": 500, "b": 500}, make("a", 20, 0), {})
    assert many is not None
    assert gap is not None
    assert (many.range_from, many.other_width) == ("verdicts", None)
    assert (gap.range_from, gap.other_width) == ("verdicts", None)


def weighted(stratum: str, item: int, factor: float, *, good: bool) -> StratumLabel:
    return StratumLabel(
        stratum=stratum, item_id=f"i{item}", supported=good, group=stratum, factor=factor
    )


def test_labels_count_for_what_their_items_do() -> None:
    """Items of factor 3 are all good, those of factor 1 half; the run has as many of both."""
    labels = [weighted("all", n, 3.0, good=True) for n in range(40)]
    labels += [weighted("all", 40 + n, 1.0, good=n % 2 == 0) for n in range(40)]
    found = estimate_stratified({"all": 800}, labels, {})
    plain = estimate_stratified({"all": 800}, make("all", 60, 20), {})
    assert found is not None
    assert plain is not None
    assert found.value == pytest.approx((40 * 3 + 20) / (40 * 4))
    assert plain.value == pytest.approx(0.75)
    assert found.low < found.value < found.high


def test_weighted_labels_add_up_to_the_verdicts_of_all_claims() -> None:
    """By chance no heavy claim of “no” was drawn; the judge's verdicts know how many there are."""
    labels = [weighted("yes", n, 2.0 if n % 2 else 0.5, good=True) for n in range(40)]
    labels += [weighted("no", 40 + n, 0.5, good=False) for n in range(40)]
    verdicts: Verdicts = {
        f"i{n}": {"yes": 9 * factor, "no": factor}
        for n, factor in enumerate([2.0, 0.5] * 40)
    }  # fmt: skip
    found = estimate_stratified({"yes": 720, "no": 80}, labels, verdicts)
    assert found is not None
    assert found.value == pytest.approx(0.9)


@pytest.mark.parametrize("factor", [1.0, 2.5])
def test_even_factors_change_nothing(factor: float) -> None:
    good = {"yes": 36, "no": 8}
    labels = [weighted(name, n + 100 * (name == "no"), factor, good=n < good[name])
              for name in good for n in range(40)]  # fmt: skip
    plain = [weighted(one.stratum, int(one.item_id[1:]), 1.0, good=one.supported) for one in labels]
    verdicts: Verdicts = {f"i{n}": {"yes": 9.0, "no": 1.0} for n in range(140)}
    heavy: Verdicts = {
        item: {name: factor * n for name, n in held.items()} for item, held in verdicts.items()
    }
    one = estimate_stratified({"yes": 1260, "no": 140}, plain, verdicts)
    other = estimate_stratified({"yes": 1260, "no": 140}, labels, heavy)
    assert one is not None
    assert other is not None
    assert (other.value, other.low, other.high) == pytest.approx((one.value, one.low, one.high))
