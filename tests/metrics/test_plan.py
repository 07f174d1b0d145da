"""Plans: what they ask for is what shows a drop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from claimwise.comparison.plan import (
    Goal,
    Outlook,
    Pilot,
    _expect_power,
    _find_drop,
    _find_items,
    _look_out,
    plan_items,
)
from claimwise.comparison.plan_doubt import correlate_resamples, doubt_spread
from claimwise.comparison.plan_values import Plan
from claimwise.comparison.queries import find_pair
from claimwise.errors import MetricError
from claimwise.metrics import load_metrics
from claimwise.metrics.histogram import Histogram
from claimwise.metrics.paired import compare_items
from claimwise.store import Store
from small_data import answer, item, label, load, run, source

METRICS = load_metrics()


def fill(store: Store, items: int = 40) -> None:
    """Two runs: every fourth claim of every second item is wrong, in both runs alike."""
    records = [source(), run("old"), run("new", started_at="2026-02-01T00:00:00Z")]
    for number in range(items):
        name = f"i{number:03}"
        records.append(item(name, query_type="lookup" if number % 4 else "multi_hop"))
        for run_id in ("old", "new"):
            texts = [f"{run_id} {n}" for n in range(4)]
            records.append(answer(name, *texts, run_id=run_id))
            records += [
                label(name, text, "unlinked" if n == 0 and number % 2 else "supported",
                      run_id=run_id)
                for n, text in enumerate(texts)
            ]  # fmt: skip
    load(store, *records)


def plan(store: Store, *by: str, runs: int = 2, metric: str = "faithfulness", **goal: Any) -> Plan:
    pair = find_pair(store, "old", "new")
    return plan_items(store, METRICS[metric], [pair.new, pair.base][:runs], by, goal=Goal(**goal))


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize(("rate", "drop"), [(0.85, 0.05), (0.95, 0.04)])
def test_the_planned_items_see_the_drop_as_often_as_planned(
    paired: bool, rate: float, drop: float
) -> None:
    """Simulated runs of the planned size, with the correlation that the plan was told."""
    generator = np.random.default_rng(11)
    icc, claims = 0.3, 5
    # Two answers to an item are alike through the item's rate alone.
    shared = icc / (icc + (1 - icc) / claims)
    outlook = Outlook(
        rate=rate, worse=-1, claims=claims, effect=1 + (claims - 1) * icc, correlation=shared
    )
    items = _find_items(outlook, Goal(drop=drop), 0.95, paired=paired)
    assert items is not None
    total, seen, runs = (1 - icc) / icc, 0, 1000
    units = np.full(items, claims)
    for _ in range(runs):
        chance = generator.beta(rate * total, (1 - rate) * total, items)
        other = chance if paired else generator.beta(rate * total, (1 - rate) * total, items)
        base = generator.binomial(claims, chance)
        new = generator.binomial(claims, other * (rate - drop) / rate)
        found = compare_items(base, units, new, units)
        assert found is not None
        seen += found.interval(0.95)[1] < 0
    assert 0.76 <= seen / runs <= 0.88


@pytest.mark.parametrize("paired", [True, False])
def test_plans_of_small_pilots_keep_their_power_on_average(paired: bool) -> None:
    """Asked 0.8; a plan that took a pilot's spread for the truth reached 0.73 when paired."""
    generator = np.random.default_rng(7)
    rate, icc, claims, items, drop = 0.9, 0.3, 5, 60, 0.05
    alpha, beta = rate * (1 - icc) / icc, (1 - rate) * (1 - icc) / icc

    def draw_runs(count: int, loss: float) -> np.ndarray:
        chance = generator.beta(alpha, beta, count)
        units = 1 + generator.negative_binomial(3, 3 / (2 + claims), (2, count))
        base, new = generator.binomial(units, [chance, chance * (rate - loss) / rate])
        return np.array([base, units[0], new, units[1]], dtype=float)

    y0, m0, y1, m1 = draw_runs(100_000, drop)
    u0, u1 = ((y - y.sum() / m.sum() * m) / m.mean() for y, m in ((y0, m0), (y1, m1)))
    truth = np.array([np.var(u1 - u0) if paired else np.var(u0) + np.var(u1)])
    powers = []
    for _ in range(60):
        both = draw_runs(items, 0)
        histogram = Histogram.from_clusters(both[2], both[3])
        pilot = Pilot(histogram, float(correlate_resamples(both, np.ones((1, items)))[0]), both)
        outlook, _ = _look_out(pilot, "higher", None)
        planned = _find_items(outlook, Goal(drop=drop), 0.95, paired=paired)
        assert planned is not None
        powers.append(_expect_power(drop, planned, truth, 0.95, paired=paired))
    assert 0.77 <= np.mean(powers) <= 0.92


def test_a_large_pilot_leaves_no_doubt() -> None:
    one, many = (Histogram.from_pairs([(4, 5, n), (5, 5, 3 * n)]) for n in (15, 600))
    assert np.std(doubt_spread(one)) > 0.05
    assert doubt_spread(many).tolist() == [1]


def test_what_the_items_show_agrees_with_what_the_drop_needs() -> None:
    outlook = Outlook(rate=0.9, worse=-1, claims=4, effect=2, correlation=0.4)
    for paired in (True, False):
        items = _find_items(outlook, Goal(drop=0.05), 0.95, paired=paired)
        assert items is not None
        seen = _find_drop(outlook, items, 0.8, 0.95, paired=paired)
        assert seen == pytest.approx(0.05, abs=0.001)
    assert _find_drop(outlook, 1, 0.8, 0.95, paired=True) is None


def test_a_plan_from_two_runs(store: Store) -> None:
    fill(store)
    found = plan(store, "query_type")
    (whole,) = found.overall
    assert (found.run_id, found.base_id) == ("new", "old")
    assert whole.rate == pytest.approx(7 / 8)
    assert whole.claims_per_item == 4
    assert whole.items == 40
    assert whole.correlation == pytest.approx(0.95)  # alike throughout, held below 1
    assert whole.assumed == ()
    assert whole.paired_items is not None
    assert whole.unpaired_items is not None
    assert whole.paired_items < whole.unpaired_items
    assert whole.paired_labels == 4 * whole.paired_items
    assert found.slice_confidence == pytest.approx(0.975)
    assert [row.slice["query_type"] for row in found.slices] == ["multi_hop", "lookup"]
    lookup = found.slices[1]
    assert lookup.correlation == pytest.approx(0.95)
    assert found.slices[0].assumed[-1] == "correlation of runs (0.95, that of all items)"
    assert found.warnings == ()


def test_a_harder_goal_needs_more(store: Store) -> None:
    fill(store)

    def need(**goal: Any) -> int:
        items = plan(store, **goal).overall[0].paired_items
        assert items is not None
        return items

    assert need(drop=0.02) > need(drop=0.05) > need(drop=0.1)
    assert need(power=0.95) > need(power=0.8)
    assert need(confidence=0.99) > need(confidence=0.9)


def test_one_run_and_none_fall_back_on_assumptions_and_say_so(store: Store) -> None:
    fill(store)
    (alone,) = plan(store, runs=1).overall
    assert alone.correlation == 0.5
    assert alone.assumed == ("correlation of runs (0.5)",)
    nothing = plan(store, runs=0)
    assert nothing.warnings == ("No run is stored: every figure is assumed.",)
    (row,) = nothing.overall
    assert (row.items, row.rate, row.claims_per_item) == (0, 0.9, 5)
    assert row.sees_paired is None
    assert row.paired_items is not None
    assert row.assumed[0] == "rate 90%, 5 claims per item, ICC 0.3"


def test_a_run_without_labels_falls_back_too(store: Store) -> None:
    load(store, source(), run("old"), run("new"), item("i"), answer("i", "c", run_id="new"))
    found = plan(store, runs=1)
    assert found.overall[0].items == 0
    assert found.warnings[0] == "Run new has nothing scored: every figure is assumed."


def test_lower_is_better_plans_for_a_rise(store: Store) -> None:
    fill(store)
    (row,) = plan(store, metric="stale_share").overall
    assert row.better == "lower"
    assert row.rate == 0
    assert row.paired_items is not None
    assert row.assumed[0].startswith("ICC (in part")


def test_a_rate_without_room_needs_what_nobody_has(store: Store) -> None:
    fill(store)
    (row,) = plan(store, drop=0.95).overall
    assert (row.paired_items, row.paired_labels, row.unpaired_items) == (None, None, None)


@pytest.mark.parametrize(
    ("goal", "said"),
    [({"drop": 0.0}, "such as 0.05, not 0.0"), ({"drop": 1.5}, "not 1.5"),
     ({"power": 1.0}, "power must be at least 0.5"),
     ({"confidence": 0.2}, "0.9999, such as 0.95, not 0.2")],
)  # fmt: skip
def test_goals_that_make_no_sense_are_refused(store: Store, goal: Any, said: str) -> None:
    fill(store, items=2)
    with pytest.raises(MetricError, match=said):
        plan(store, **goal)
