"""How far people agree: raw, Cohen, Fleiss, Krippendorff and Gwet, with intervals over items.

Labels are a table of units (claims) by raters, with -1 where a rater gave none. Units with fewer
than two labels say nothing of agreement and are left out of everything here.

Every figure has the form (observed - expected) / (1 - expected), and both parts are made of sums
over units. Units of one item are alike, so sums are kept item by item: leaving out an item is a
subtraction, and intervals come from leaving out each item in turn (`_bound`).

Reference: Gwet (2014), Handbook of Inter-Rater Reliability, 4th ed., chapters 2 and 5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from claimwise.agreement.values import Figure
from claimwise.metrics.intervals import FEW_INFORMATIVE, PLANNING_ICC, wilson_bounds

MISSING: Final = -1
NO_OVERLAP: Final = "no claim has two labels"
ONE_VERDICT: Final = "kappa undefined: all labels are the same verdict"
ONE_ITEM: Final = "no interval: all claims belong to one item"
NEVER_GIVEN: Final = "nobody gave this verdict"

Floats = NDArray[np.float64]
Parts = tuple[Floats, Floats]
"""Observed and expected agreement, one entry for each line of sums."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Ratings:
    """Labels of units that have at least two of them.

    Attributes:
        labels: units by raters; a category from 0 on, or -1 where there is no label.
        items: the item of every unit, numbered from 0.
        item_count: how many items there are.
        categories: how many categories raters could choose from, used or not.
    """

    labels: NDArray[np.int64]
    items: NDArray[np.intp]
    item_count: int
    categories: int

    @property
    def counts(self) -> Floats:
        """How often each category was given, units by categories."""
        chosen = self.labels[:, :, None] == np.arange(self.categories)
        counts: Floats = chosen.sum(axis=1).astype(np.float64)
        return counts


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Sums:
    """What items add to the figures, a line each."""

    units: Floats  # units
    trials: Floats  # labels beyond the first of each unit: comparisons that are worth something
    agreeing: Floats  # sum over units of the share of pairs of labels that agree
    matching: Floats  # sum over labels of the share of the unit's other labels that match
    given: Floats  # labels by category
    shares: Floats  # sum over units of the share of labels, by category

    def add_up(self) -> _Sums:
        """Return the sums of all items, in one line."""
        return _Sums(**{name: getattr(self, name).sum(axis=0, keepdims=True) for name in _COLUMNS})

    def leave_out(self, whole: _Sums) -> _Sums:
        """Return the sums of all items but one, a line for each that is left out."""
        return _Sums(**{name: getattr(whole, name) - getattr(self, name) for name in _COLUMNS})


_COLUMNS: Final = tuple(field.name for field in fields(_Sums))


class PairMeasure(NamedTuple):
    """Two raters, by their columns, on the units that both labelled."""

    one: int
    other: int
    units: int
    items: int
    raw: Figure
    kappa: Figure


class _Held(NamedTuple):
    """What items hold of a figure, a line for each item."""

    agreeing: Floats
    units: Floats
    trials: Floats


class _Crossed(NamedTuple):
    """All pairs of raters that share units, and what is left of a pair without one of its items."""

    places: NDArray[np.intp]  # the two raters, a line for each pair
    tables: Floats  # pairs by the one's categories by the other's
    pair: NDArray[np.intp]  # a line for each item of each pair: which pair
    item: NDArray[np.intp]  # and which item
    without: Floats  # the pair's table without that item


def rate_units(labels: ArrayLike, items: ArrayLike, categories: int) -> Ratings:
    """Bring labels and items together, keeping the units with two labels or more.

    Args:
        labels: a line for each unit, a column for each rater: a category from 0, or -1 for none.
        items: the name of each unit's item: units of one item are not independent.
        categories: how many categories raters could choose from.

    Raises:
        ValueError: lengths differ, or a label is no category.
    """
    table = np.asarray(labels, dtype=np.int64)
    named = np.asarray(items, dtype=str)
    if table.ndim != 2 or len(table) != len(named):
        raise ValueError(
            f"found labels of shape {table.shape} and {len(named)} items; expected a line of "
            "labels for each item named"
        )
    wrong = table[(table < MISSING) | (table >= categories)]
    if wrong.size:
        raise ValueError(f"found the label {wrong[0]}, expected -1 to {categories - 1}")
    kept = (table != MISSING).sum(axis=1) >= 2
    names, codes = np.unique(named[kept], return_inverse=True)
    return Ratings(labels=table[kept], items=codes, item_count=len(names), categories=categories)


def measure_raw(ratings: Ratings, confidence: float = 0.95) -> Figure:
    """Measure raw agreement: the chance that two labels of one unit are the same.

    The mean over units of the share of their pairs of labels that agree: a unit with five labels
    counts as much as one with two.
    """
    return _measure(ratings, _raw_parts, confidence)


def measure_fleiss(ratings: Ratings, confidence: float = 0.95) -> Figure:
    """Measure Fleiss' kappa, generalised to units with different numbers of labels.

    Observed: raw agreement. Expected: that of two labels drawn from all labels together. With as
    many labels for every unit it is Fleiss' own kappa. (Gwet's generalisation averages the units'
    shares of a category instead of pooling labels; the two differ a little.)

    Reference: Fleiss (1971), Psychological Bulletin 76, 378-382.
    """
    return _measure(ratings, _fleiss_parts, confidence)


def measure_alpha(ratings: Ratings, confidence: float = 0.95) -> Figure:
    """Measure Krippendorff's alpha for nominal categories, with labels missing anywhere.

    One minus observed over expected disagreement; here every label counts alike, so that units
    with more labels weigh more. Expected pairs are drawn without replacement, which raises it
    above kappa a little where units are few.

    Reference: Krippendorff (2011), Computing Krippendorff's Alpha-Reliability.
    """
    return _measure(ratings, _alpha_parts, confidence)


def measure_ac1(ratings: Ratings, confidence: float = 0.95) -> Figure:
    """Measure Gwet's AC1, which does not fall when nearly all labels are one category.

    Expected agreement is that of guessing, which is rarest at the ends: sum of p (1 - p) over
    categories, divided by their number less one. All categories that raters could choose from
    count, used or not; p is the mean over units of a category's share of the labels.

    Reference: Gwet (2008), British Journal of Mathematical and Statistical Psychology 61, 29-48.
    """
    return _measure(ratings, _ac1_parts, confidence)


def measure_category(ratings: Ratings, category: int, confidence: float = 0.95) -> Figure:
    """Measure Fleiss' kappa of one category against all others together."""
    if not np.any(ratings.labels == category):
        return Figure(value=None, why=NEVER_GIVEN if len(ratings.labels) else NO_OVERLAP)
    # Whatever is not the category becomes one other, and missing stays missing.
    labels = np.where(ratings.labels == MISSING, MISSING, (ratings.labels == category).astype(int))
    narrowed = Ratings(
        labels=labels, items=ratings.items, item_count=ratings.item_count, categories=2
    )
    return _measure(narrowed, _fleiss_parts, confidence)


def measure_same(ratings: Ratings, category: int, confidence: float = 0.95) -> Figure:
    """Measure how often another label of the unit is the category too, given that one is.

    Specific agreement; with two raters, twice the units on which both gave it over the labels
    that gave it. It needs no chance correction and shows which category people can't hold apart.

    Reference: Cicchetti & Feinstein (1990), Journal of Clinical Epidemiology 43, 551-558, for two
    raters and two categories.
    """
    counts = ratings.counts
    given, others = counts[:, category], counts.sum(axis=1) - 1
    if not given.any():
        return Figure(value=None, why=NEVER_GIVEN if len(counts) else NO_OVERLAP)
    used = given > 0  # an item where nobody gave the category says nothing of it
    found, items = np.unique(ratings.items[used], return_inverse=True)
    columns = (given, np.ones(len(given)), given * (given - 1) / others)
    weight, trials, matching = (_add(items, len(found), column[used]) for column in columns)

    def share(above: Floats, below: Floats) -> Parts:
        return _divide(above, below), np.zeros(len(above))

    return _bound(
        share(matching.sum(keepdims=True), weight.sum(keepdims=True)),
        share(matching.sum() - matching, weight.sum() - weight),
        _Held(matching, weight, trials),
        confidence,
    )


def measure_cohen(ratings: Ratings, confidence: float = 0.95) -> Figure:
    """Measure Cohen's kappa: of two raters, or the mean over all pairs of more.

    Expected agreement is that of two raters who each keep to their own shares of the categories.
    The mean is weighted by the units that two raters share; pairs whose kappa is undefined (both
    gave one and the same category only) are left out of it.

    Reference: Cohen (1960), Educational and Psychological Measurement 20, 37-46.
    """
    if not len(ratings.labels):
        return Figure(value=None, why=NO_OVERLAP)
    crossed = _cross(ratings)
    pairs = _weigh_kappas(crossed.tables)
    change = _weigh_kappas(crossed.without) - pairs[crossed.pair]
    changes = [_add(crossed.item, ratings.item_count, column) for column in change.T]
    sums = _sum_items(ratings)
    return _bound(
        _mean_parts(pairs.sum(axis=0, keepdims=True)),
        _mean_parts(pairs.sum(axis=0) + np.column_stack(changes)),
        _Held(sums.agreeing, sums.units, sums.trials),
        confidence,
    )


def measure_pairs(ratings: Ratings, confidence: float = 0.95) -> list[PairMeasure]:
    """Measure raw agreement and Cohen's kappa of each two raters who share units.

    The same as `measure_raw` and `measure_cohen` of their two columns, all pairs at once.
    """
    if not len(ratings.labels):
        return []
    places, tables, pair, _, without = _cross(ratings)
    whole, left = _table_parts(tables), _table_parts(without)
    sizes, others = tables.sum(axis=(1, 2)), without.sum(axis=(1, 2))
    units = sizes[pair] - others
    agreeing = np.rint((whole[0] * sizes)[pair] - left[0] * others)
    held = _Held(agreeing, units, units)
    kappas = _bound_each(whole, left, pair, held, confidence)
    raws = _bound_each(_drop_chance(whole), _drop_chance(left), pair, held, confidence)
    items = np.bincount(pair, minlength=len(tables))
    rows = zip(
        places.tolist(), sizes.astype(int).tolist(), items.tolist(), raws, kappas, strict=True
    )
    return [
        PairMeasure(one, other, size, count, raw, kappa)
        for (one, other), size, count, raw, kappa in rows
    ]


def measure_tables(tables: Floats, confidence: float = 0.95) -> Figure:
    """Measure Cohen's kappa of two raters from their tables, one for each item.

    Args:
        tables: items by the one's categories by the other's: how many units, or their weights,
            whose mean should then be 1.
        confidence: of the interval.
    """
    units = tables.sum(axis=(1, 2))
    tables, units = tables[units > 0], units[units > 0]
    if not len(tables):
        return Figure(value=None, why=NO_OVERLAP)
    whole = tables.sum(axis=0, keepdims=True)
    return _bound(
        _table_parts(whole),
        _table_parts(whole - tables),
        _Held(np.trace(tables, axis1=1, axis2=2), units, units),
        confidence,
    )


def find_kappas(tables: Floats) -> Floats:
    """Return Cohen's kappa of each of several tables; NaN where chance alone explains all."""
    return _correct(*_table_parts(tables))


def count_pairs(ratings: Ratings) -> NDArray[np.int64]:
    """Count pairs of labels of one unit by their categories, each pair once, lower first."""
    counts = ratings.counts
    both = counts.T @ counts
    same = (counts * (counts - 1) / 2).sum(axis=0)
    return np.rint(np.triu(both, 1) + np.diag(same)).astype(np.int64)


def _measure(ratings: Ratings, make_parts: Callable[[_Sums], Parts], confidence: float) -> Figure:
    if not len(ratings.labels):
        return Figure(value=None, why=NO_OVERLAP)
    sums = _sum_items(ratings)
    whole = sums.add_up()
    return _bound(
        make_parts(whole),
        make_parts(sums.leave_out(whole)),
        _Held(sums.agreeing, sums.units, sums.trials),
        confidence,
    )


def _sum_items(ratings: Ratings) -> _Sums:
    """Return what every item adds to the figures, a line each."""
    counts = ratings.counts
    labels = counts.sum(axis=1)
    matching = (counts * (counts - 1)).sum(axis=1) / (labels - 1)

    def add(values: Floats) -> Floats:
        return _add(ratings.items, ratings.item_count, values)

    return _Sums(
        units=add(np.ones(len(counts))),
        trials=add(labels - 1),
        agreeing=add(matching / labels),
        matching=add(matching),
        given=np.column_stack([add(column) for column in counts.T]),
        shares=np.column_stack([add(column) for column in (counts / labels[:, None]).T]),
    )


def _raw_parts(sums: _Sums) -> Parts:
    return _divide(sums.agreeing, sums.units), np.zeros_like(sums.units)


def _fleiss_parts(sums: _Sums) -> Parts:
    shares = _divide(sums.given, sums.given.sum(axis=1, keepdims=True))
    return _divide(sums.agreeing, sums.units), (shares**2).sum(axis=1)


def _alpha_parts(sums: _Sums) -> Parts:
    labels = sums.given.sum(axis=1)
    same = (sums.given * (sums.given - 1)).sum(axis=1)
    return _divide(sums.matching, labels), _divide(same, labels * (labels - 1))


def _ac1_parts(sums: _Sums) -> Parts:
    shares = _divide(sums.shares, sums.units[:, None])
    guessing = (shares * (1 - shares)).sum(axis=1) / (shares.shape[1] - 1)
    return _divide(sums.agreeing, sums.units), guessing


def _cross(ratings: Ratings) -> _Crossed:
    """Compare all pairs of raters, and again without each item.

    An item changes the tables of few pairs only: those are computed again, and no others.
    """
    labels, size, raters = ratings.labels, ratings.categories, ratings.labels.shape[1]
    unit, first, second = _list_pairs(labels)
    found, pair = np.unique(first * raters + second, return_inverse=True)
    cells = labels[unit, first], labels[unit, second]
    tables = np.zeros((len(found), size, size))
    np.add.at(tables, (pair, *cells), 1)
    touched, place = np.unique(ratings.items[unit] * len(found) + pair, return_inverse=True)
    item, of_pair = np.divmod(touched, len(found))
    without = tables[of_pair]
    np.subtract.at(without, (place, *cells), 1)
    places = np.column_stack(np.divmod(found, raters))
    return _Crossed(places=places, tables=tables, pair=of_pair, item=item, without=without)


def _list_pairs(labels: NDArray[np.int64]) -> tuple[NDArray[np.intp], ...]:
    """Return unit, one rater and another, for every two raters who labelled the unit."""
    units, raters = (labels != MISSING).nonzero()
    starts = np.searchsorted(units, units)
    reach = int(np.bincount(units).max())
    steps = []
    for step in range(1, reach):  # each label with the one so many places before it
        later = (np.arange(len(units)) - starts >= step).nonzero()[0]
        steps.append((units[later], raters[later - step], raters[later]))
    return tuple(np.concatenate(column) for column in zip(*steps, strict=True))


def _weigh_kappas(tables: Floats) -> Floats:
    """Return weight, weight times kappa and weight times expected agreement of each table."""
    units = tables.sum(axis=(1, 2))
    observed, expected = _table_parts(tables)
    kappas = _correct(observed, expected)
    weights = np.where(np.isnan(kappas), 0, units)
    return np.column_stack((weights, weights * np.nan_to_num(kappas), weights * expected))


def _table_parts(tables: Floats) -> Parts:
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    units = rows.sum(axis=1)
    expected = _divide((rows * columns).sum(axis=1), units**2)
    return _divide(np.trace(tables, axis1=1, axis2=2), units), expected


def _drop_chance(parts: Parts) -> Parts:
    return parts[0], np.zeros_like(parts[0])


def _mean_parts(sums: Floats) -> Parts:
    """Return parts whose kappa is the mean; undefined, as at chance 1, where no pair has one."""
    weights, kappas, expected = sums.T
    # Sums and differences of counts: what is left of nothing is below any weight.
    known = weights > 0.5
    chance = np.where(known, _divide(expected, np.where(known, weights, 0)), 1.0)
    mean = np.where(known, _divide(kappas, np.where(known, weights, 0)), 1.0)
    return chance + mean * (1 - chance), chance


def _bound(whole: Parts, left: Parts, held: _Held, confidence: float) -> Figure:
    """Make one figure; see `_bound_each`."""
    return _bound_each(whole, left, np.zeros(len(left[0]), np.intp), held, confidence)[0]


def _bound_each(
    whole: Parts, left: Parts, owner: NDArray[np.intp], held: _Held, confidence: float
) -> list[Figure]:
    """Make figures of their parts, and bound each by its parts when items are left out in turn.

    Method: the cluster jackknife gives the variance of the figure, expected agreement included.
    On the scale of observed agreement, expected agreement held, that variance says how many
    independent comparisons the labels are worth, and Wilson's interval with Student's t is built
    on that number and mapped back. It is skewed as it should be near 1, stays within the possible,
    and has a width where everybody agrees. Where fewer than ten items hold a disagreement, the
    worth is partly planned, as for rates (`intervals.effective_size`). benchmarks/agreement.py
    compares it with others.

    With one item there is a figure and no interval.

    Args:
        whole: the parts of every figure.
        left: the parts of a figure without one of its items, a line for each item.
        owner: which figure each such line is of.
        held: what the items hold, in the same lines.
        confidence: of the intervals.
    """
    centres, chances = whole
    values = _correct(centres, chances)
    items = np.bincount(owner, minlength=len(values))
    spreads = _jackknife(left, owner, values, chances)
    worths = _find_worths(held, owner, centres, spreads)
    quantiles = special.stdtrit(np.maximum(items - 1, 1), (1 + confidence) / 2)
    columns = (values, items, centres, chances, worths, quantiles)
    return [_make_figure(*row) for row in zip(*(c.tolist() for c in columns), strict=True)]


def _make_figure(
    value: float, items: int, centre: float, chance: float, worth: float, quantile: float
) -> Figure:
    if np.isnan(value):
        return Figure(value=None, why=ONE_VERDICT)
    if items < 2:
        return Figure(value=value, why=ONE_ITEM)
    low, high = (
        (bound - chance) / (1 - chance) for bound in wilson_bounds(centre, worth, quantile)
    )
    # Rounding may push a bound past the figure or past the ends.
    return Figure(value=value, low=max(-1.0, min(low, value)), high=min(1.0, max(high, value)))


def _jackknife(left: Parts, owner: NDArray[np.intp], values: Floats, chances: Floats) -> Floats:
    """Return the variances of observed agreement that leaving out one item at a time shows.

    Where one item holds all that differs, the figure is undefined without it; it is then taken
    with the whole's expected agreement.
    """
    observed, expected = left
    room = 1 - chances
    without = _correct(observed, expected)
    undefined = _divide(observed - chances[owner], room[owner])
    without = np.where(np.isnan(without), undefined, without)
    items = _add(owner, len(values), np.ones(len(owner)))
    squares = _add(owner, len(values), (without - values[owner]) ** 2)
    return _divide(items - 1, items) * squares * room**2


def _find_worths(held: _Held, owner: NDArray[np.intp], centres: Floats, spreads: Floats) -> Floats:
    """Return the numbers of independent comparisons that the labels of figures are worth."""

    def add(values: NDArray[np.float64 | np.bool_]) -> Floats:
        return _add(owner, len(centres), values)

    # Sums of shares may miss a whole number of units by a rounding error.
    agreeing = np.minimum(held.agreeing, held.units)
    trials, units = add(held.trials), add(held.units)
    planned = 1 + (_divide(trials * add(held.units**2), units**2) - 1) * PLANNING_ICC
    informative = np.minimum(add(agreeing > 0), add(agreeing < held.units))
    varied = centres * (1 - centres)
    # Where all agree, or none do, there is no spread to measure.
    weights = np.where(varied > 0, np.maximum(0.0, 1 - informative / FEW_INFORMATIVE), 1.0)
    measured = _divide(spreads * trials, varied)
    return trials / np.maximum(1.0, weights * planned + (1 - weights) * measured)


def _correct(observed: Floats, expected: Floats) -> Floats:
    """Take out chance; NaN where chance alone explains everything."""
    room = 1 - expected
    return np.where(room > 1e-12, (observed - expected) / np.where(room > 1e-12, room, 1), np.nan)


def _divide(above: Floats, below: Floats) -> Floats:
    """Divide; 0 where there is nothing to divide by, which callers leave out."""
    return np.divide(above, below, out=np.zeros(np.broadcast(above, below).shape), where=below > 0)


def _add(
    items: NDArray[np.intp], item_count: int, values: NDArray[np.float64 | np.bool_]
) -> Floats:
    return np.bincount(items, weights=values, minlength=item_count).astype(np.float64)
