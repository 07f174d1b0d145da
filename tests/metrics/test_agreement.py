"""Agreement between people against other implementations, published examples and simulation."""

from __future__ import annotations

import itertools
import json
import lzma
import math
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.agreement.coefficients import (
    NEVER_GIVEN,
    NO_OVERLAP,
    ONE_ITEM,
    ONE_VERDICT,
    Ratings,
    count_pairs,
    measure_ac1,
    measure_alpha,
    measure_category,
    measure_cohen,
    measure_fleiss,
    measure_pairs,
    measure_raw,
    measure_same,
    measure_tables,
    rate_units,
)
from claimwise.agreement.values import Figure
from claimwise.metrics.histogram import Histogram
from claimwise.metrics.intervals import wilson_interval
from metrics.naive_agreement import (
    Table,
    find_ac1,
    find_alpha,
    find_category,
    find_cohen,
    find_fleiss,
    find_mean_cohen,
    find_raw,
    find_same,
    list_units,
)

CATEGORIES = 4
DATA = Path(__file__).parents[3] / "shared/data/agreement"

label = st.integers(-1, CATEGORIES - 1)
tables = st.integers(1, 4).flatmap(
    lambda raters: st.lists(st.lists(label, min_size=raters, max_size=raters), max_size=25)
)
full_tables = st.integers(2, 4).flatmap(
    lambda raters: st.lists(
        st.lists(st.integers(0, CATEGORIES - 1), min_size=raters, max_size=raters),
        min_size=1,
        max_size=25,
    )
)


def rate(table: Table, items: int = 7, categories: int = CATEGORIES) -> Ratings:
    """Rate a table whose units are dealt to some items in turn."""
    shaped = np.array(table, dtype=int).reshape(len(table), -1) if table else np.empty((0, 2), int)
    return rate_units(shaped, [str(n % items) for n in range(len(shaped))], categories)


def keep_raters(ratings: Ratings, *raters: int) -> Ratings:
    items = [str(item) for item in ratings.items]
    return rate_units(ratings.labels[:, raters], items, ratings.categories)


def list_figures(ratings: Ratings) -> list[Figure]:
    raters = range(ratings.labels.shape[1])
    return [
        measure_raw(ratings),
        measure_fleiss(ratings),
        measure_alpha(ratings),
        measure_ac1(ratings),
        measure_cohen(ratings),
        *(measure_category(ratings, n) for n in range(CATEGORIES)),
        *(measure_same(ratings, n) for n in range(CATEGORIES)),
        *(measure_cohen(keep_raters(ratings, a, b)) for a in raters for b in raters if a < b),
    ]


def expect(table: Table) -> list[float | None]:
    raters = range(len(table[0]))
    return [
        find_raw(table),
        find_fleiss(table),
        find_alpha(table),
        find_ac1(table, CATEGORIES),
        find_mean_cohen(table),
        *(find_category(table, n) for n in range(CATEGORIES)),
        *(find_same(table, n) for n in range(CATEGORIES)),
        *(find_cohen(table, a, b) for a in raters for b in raters if a < b),
    ]


@given(tables.filter(bool))
def test_figures_are_those_of_the_definitions(table: Table) -> None:
    found = [figure.value for figure in list_figures(rate(table))]
    for ours, theirs in zip(found, expect(table), strict=True):
        assert ours == (None if theirs is None else pytest.approx(theirs, abs=1e-9))


@given(tables, st.integers(1, 5))
def test_every_figure_is_known_or_says_why(table: Table, items: int) -> None:
    for figure in list_figures(rate(table, items)):
        numbers = (figure.value, figure.low, figure.high)
        assert all(number is None or math.isfinite(number) for number in numbers)
        if figure.low is None or figure.high is None:
            assert figure.why
            assert figure.low is figure.high is None
        else:
            assert figure.value is not None
            assert -1 <= figure.low <= figure.value <= figure.high <= 1 + 1e-12


@given(tables.filter(bool), st.randoms(use_true_random=False))
def test_figures_do_not_depend_on_the_order_of_units_and_raters(table: Table, random: Any) -> None:
    units = list(enumerate(table))
    random.shuffle(units)
    raters = list(range(len(table[0])))
    random.shuffle(raters)
    shuffled = rate_units(
        [[row[r] for r in raters] for _, row in units], [str(n % 7) for n, _ in units], CATEGORIES
    )
    for measure in (measure_raw, measure_fleiss, measure_alpha, measure_ac1, measure_cohen):
        one, other = measure(rate(table)), measure(shuffled)
        assert one.value == pytest.approx(other.value, abs=1e-9)
        assert one.low == pytest.approx(other.low, abs=1e-6)
        assert one.high == pytest.approx(other.high, abs=1e-6)


@given(full_tables)
def test_fleiss_and_cohen_are_those_of_statsmodels(table: Table) -> None:
    from statsmodels.stats.inter_rater import aggregate_raters, cohens_kappa, fleiss_kappa

    ratings = rate(table)
    counts, _ = aggregate_raters(np.array(table), n_cat=CATEGORIES)
    if np.count_nonzero(counts.sum(axis=0)) > 1:
        assert measure_fleiss(ratings).value == pytest.approx(fleiss_kappa(counts), abs=1e-9)
    crossed = np.zeros((CATEGORIES, CATEGORIES))
    for row in table:
        crossed[row[0], row[1]] += 1
    figure = measure_cohen(keep_raters(ratings, 0, 1))
    if figure.value is not None:
        theirs = cohens_kappa(crossed, return_results=False)
        assert figure.value == pytest.approx(theirs, abs=1e-9)


@given(tables)
def test_pairs_of_labels_are_counted_once(table: Table) -> None:
    units = list_units(table)
    found = count_pairs(rate(table))
    assert found.sum() == sum(len(unit) * (len(unit) - 1) // 2 for unit in units)
    assert np.array_equal(found, np.triu(found))


# Published examples

KRIPPENDORFF = (  # Krippendorff (2011), section C: four observers, twelve units, missing data
    (1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None),
    (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3),
    (None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None),
    (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None),
)


def read_example(columns: Sequence[Sequence[int | None]]) -> list[list[int]]:
    return [
        [-1 if cell is None else cell - 1 for cell in row] for row in zip(*columns, strict=True)
    ]


def test_alpha_of_krippendorffs_example() -> None:
    """He prints 0.743. His coincidence matrix: 7, 10, 8, 4 and 3 of 40 pairable values on the
    diagonal (32 in all), and margins 9, 13, 10, 5 and 3."""
    table = read_example(KRIPPENDORFF)
    by_hand = 1 - 39 * (40 - 32) / (40**2 - (9**2 + 13**2 + 10**2 + 5**2 + 3**2))
    found = measure_alpha(rate(table, categories=5)).value
    assert by_hand == pytest.approx(0.743, abs=0.0005)
    assert found == pytest.approx(by_hand, abs=1e-12)


def test_ac1_of_gwets_prevalence_example() -> None:
    """Gwet (2008) opens with raters who agree on 118 of 125 units, nearly all of one kind:
    kappa is slightly below zero and AC1 is 0.94."""
    table = [[0, 0]] * 118 + [[0, 1]] * 5 + [[1, 0]] * 2
    ratings = rate(table, items=50, categories=2)
    share = (123 + 120) / 250
    guessing = 2 * share * (1 - share)
    assert measure_ac1(ratings).value == pytest.approx((118 / 125 - guessing) / (1 - guessing))
    assert measure_ac1(ratings).value == pytest.approx(0.94, abs=0.005)
    assert measure_cohen(ratings).value == pytest.approx(-0.0234, abs=5e-5)


@pytest.mark.parametrize(
    ("name", "kappa"),
    [
        ("propsegment", 0.803),
        ("xsum_hallucination", 0.778),
        ("nli_five_raters", 0.662),
        ("pubmedqa", 0.455),
        ("shroom", 0.354),
        ("climate_fever", 0.328),
    ],
)
def test_kappas_of_published_labels(name: str, kappa: float) -> None:
    path = DATA / f"{name}.jsonl.xz"
    if not path.is_file():
        pytest.skip(f"{DATA} is not on this machine")
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    given = [[read_label(name, told) for told in row["annotators"]] for row in rows]
    names = sorted({told for unit in given for told in unit if told is not None})
    raters = max(map(len, given))
    table = [
        [-1 if told is None else names.index(told) for told in unit] + [-1] * (raters - len(unit))
        for unit in given
    ]
    items = [str(row.get("group", row["id"])) for row in rows]
    figure = measure_fleiss(rate_units(table, items, len(names)))
    assert figure.value == pytest.approx(kappa, abs=0.0005)
    assert figure.low is not None
    assert figure.high is not None
    assert figure.low < kappa < figure.high


def read_label(name: str, told: str) -> str | None:
    if name == "xsum_hallucination":
        return "faithful" if told == "faithful" else "not"
    return None if told == "UNSPECIFIED" else told


# Degenerate tables


def test_one_verdict_throughout_leaves_kappa_undefined() -> None:
    ratings = rate([[0, 0]] * 20)
    for figure in (measure_fleiss(ratings), measure_alpha(ratings), measure_cohen(ratings)):
        assert figure == Figure(value=None, why=ONE_VERDICT)
    assert measure_category(ratings, 1) == Figure(value=None, why=NEVER_GIVEN)
    for figure in (measure_raw(ratings), measure_ac1(ratings)):
        assert figure.value == 1
        assert figure.low is not None
        assert 0.3 < figure.low < 1  # agreement on twenty claims is no proof


def test_complete_agreement_is_not_certainty() -> None:
    ratings = rate([[0, 0], [1, 1]] * 30, items=20)
    for measure in (measure_fleiss, measure_alpha, measure_ac1, measure_cohen):
        figure = measure(ratings)
        assert figure.value == pytest.approx(1)
        assert figure.low is not None
        assert 0.5 < figure.low < 0.98


@pytest.mark.parametrize("table", [[], [[0], [1]], [[0, -1], [-1, 1]]])
def test_no_overlap(table: Table) -> None:
    ratings = rate(table)
    for measure in (measure_raw, measure_fleiss, measure_alpha, measure_ac1, measure_cohen):
        assert measure(ratings) == Figure(value=None, why=NO_OVERLAP)
    assert measure_same(ratings, 0).why == NO_OVERLAP


def test_few_disagreements_leave_how_alike_claims_are_to_the_plan() -> None:
    """One of a hundred claims differs: the interval is that of a rate with as few misses."""
    table = [[0, 0]] * 99 + [[0, 1]]
    ratings = rate_units(np.array(table), [str(n // 5) for n in range(100)], 2)
    planned = wilson_interval(Histogram.from_pairs([(5, 5, 19), (4, 5, 1)]))
    apart = wilson_interval(Histogram.from_pairs([(1, 1, 99), (0, 1, 1)]))
    figure = measure_raw(ratings)
    assert planned is not None
    assert apart is not None
    assert figure.low == pytest.approx(planned.low, abs=0.003)
    assert planned.low < apart.low - 0.01


def test_one_item_has_no_interval() -> None:
    figure = measure_fleiss(rate([[0, 0], [1, 1], [0, 1]], items=1))
    assert figure.value is not None
    assert (figure.low, figure.high, figure.why) == (None, None, ONE_ITEM)


def test_an_item_that_holds_all_that_differs() -> None:
    """Without that item kappa is undefined: the interval is wide rather than missing."""
    figure = measure_fleiss(rate([[0, 0]] * 99 + [[0, 1]], items=100))
    assert figure.value == pytest.approx(-1 / 199)
    assert figure.low == -1
    assert figure.high is not None
    assert figure.high > 0.5


def test_alike_claims_of_one_item_widen_the_interval() -> None:
    table = [[0, 0]] * 40 + [[1, 1]] * 40 + [[0, 1]] * 20
    apart = rate_units(table, [str(n) for n in range(100)], 2)
    together = rate_units(table, [str(n // 10) for n in range(100)], 2)
    one, other = measure_fleiss(apart), measure_fleiss(together)
    assert one.value == other.value
    assert one.low is not None
    assert one.high is not None
    assert other.low is not None
    assert other.high is not None
    assert other.high - other.low > 1.5 * (one.high - one.low)


@pytest.mark.parametrize(
    ("table", "items", "said"),
    [
        ([[0, 1]], ["a", "b"], "2 items"),
        ([[0, 9]], ["a"], "found the label 9, expected -1 to 3"),
        ([[0, -2]], ["a"], "found the label -2"),
    ],
)
def test_bad_tables_are_refused(table: Table, items: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        rate_units(table, items, CATEGORIES)


@pytest.mark.parametrize(
    ("measure", "find"),
    [
        (measure_fleiss, find_fleiss),
        (measure_alpha, find_alpha),
        (measure_ac1, lambda table: find_ac1(table, 3)),
        (measure_cohen, find_mean_cohen),
    ],
)
def test_intervals_come_from_leaving_out_items(
    measure: Callable[[Ratings], Figure], find: Callable[[Table], float | None]
) -> None:
    """Every figure again without each item. Near the figure, with many items, Wilson's ends are
    those of the plain interval, drawn a little towards one half."""
    generator = np.random.default_rng(3)
    table = generator.choice(4, p=[0.1, 0.3, 0.3, 0.3], size=(480, 3)) - 1
    table[:300, 1:] = table[:300, :1]
    items = [n // 4 for n in range(480)]
    figure = measure(rate_units(table, [str(item) for item in items], 3))
    value = find(table.tolist()) or 0.0
    left = [find(np.delete(table, np.s_[4 * n : 4 * n + 4], axis=0).tolist()) for n in range(120)]
    error = math.sqrt(119 / 120 * sum(((one or 0.0) - value) ** 2 for one in left))
    low, high = figure.low or 0.0, figure.high or 0.0
    student = 1.9801  # 119 degrees of freedom, 97.5%
    assert (high - low) / 2 == pytest.approx(student * error, rel=0.03)
    assert value - low > student * error > high - value


def test_tables_of_two_raters_are_their_kappa() -> None:
    generator = np.random.default_rng(4)
    labels = generator.integers(0, 3, (60, 2))
    labels[:40, 1] = labels[:40, 0]
    items = np.arange(60) % 12
    tables = np.zeros((13, 3, 3))  # the last item has no units
    np.add.at(tables, (items, labels[:, 0], labels[:, 1]), 1)
    ratings = rate_units(labels, [str(item) for item in items], 3)
    one, other = measure_cohen(ratings), measure_tables(tables)
    assert one.value == pytest.approx(other.value)
    assert one.low == pytest.approx(other.low)
    assert one.high == pytest.approx(other.high)
    assert measure_tables(np.zeros((2, 3, 3))) == Figure(value=None, why=NO_OVERLAP)


@given(tables.filter(bool), st.integers(1, 5))
def test_pairs_at_once_are_pairs_one_by_one(table: Table, items: int) -> None:
    ratings = rate(table, items)
    found = {(one.one, one.other): one for one in measure_pairs(ratings)}
    for place in itertools.combinations(range(ratings.labels.shape[1]), 2):
        alone = keep_raters(ratings, *place)
        if not len(alone.labels):
            assert place not in found
            continue
        pair = found.pop(place)
        assert (pair.units, pair.items) == (len(alone.labels), alone.item_count)
        for figure, expected in (
            (pair.raw, measure_raw(alone)),
            (pair.kappa, measure_cohen(alone)),
        ):
            assert figure.why == expected.why
            assert (figure.value, figure.low, figure.high) == pytest.approx(
                (expected.value, expected.low, expected.high)
            )
    assert not found


def test_many_people_and_items_fit_in_memory() -> None:
    """Sixty people have 1,770 pairs; what is kept grows with the labels, not with the pairs."""
    generator = np.random.default_rng(8)
    labels = np.full((6_000, 60), -1)
    for row in labels:
        row[generator.choice(60, 2, replace=False)] = generator.integers(0, 5, 2)
    ratings = rate_units(labels, [str(n // 3) for n in range(6_000)], 5)
    tracemalloc.start()
    figure = measure_cohen(ratings)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert figure.value == pytest.approx(0, abs=0.05)
    assert peak < 200_000_000


def test_intervals_cover() -> None:
    """200 draws of 40 items: the bound on the number of misses has a chance of 1 in 10,000."""
    generator = np.random.default_rng(5)
    truth = measure_fleiss(draw(generator, 20_000)).value
    assert truth is not None
    figures = [measure_fleiss(draw(generator, 40)) for _ in range(200)]
    missed = sum(not (f.low or 0) <= truth <= (f.high or 0) for f in figures)
    assert missed <= 24


def draw(generator: np.random.Generator, items: int) -> Ratings:
    item = np.repeat(np.arange(items), 4)
    bad = generator.beta(0.4, 1.6, items)[item]
    slips = generator.beta(0.3, 2.7, items)[item]
    truth = generator.random(len(item)) < bad
    flipped = generator.random((len(item), 2)) < slips[:, None]
    return rate_units(truth[:, None] ^ flipped, [str(n) for n in item], 2)
