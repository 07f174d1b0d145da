"""Decisions, from counts alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.gates.counts import GateCounts, ItemRow, imagine
from claimwise.gates.decide import combine_outcomes, decide_gate
from claimwise.gates.gather import Gathered
from claimwise.gates.planning import MOST_ITEMS
from claimwise.gates.rules import resolve_gate
from claimwise.gates.values import Gate, GateDecision, SliceDecision
from claimwise.metrics import load_metrics

METRICS = load_metrics()
Rows = dict[str, ItemRow]


def make_gate(**changes: Any) -> Gate:
    return Gate(**{"metric": "faithfulness", "name": "g", "min": 0.8, **changes})


def make_rows(count: int, hits: float, units: float = 4, **more: float) -> Rows:
    return {f"i{n}": ItemRow(hits, units, **more) for n in range(count)}


def decide(slices: dict[tuple[str | None, ...], Rows], **changes: Any) -> GateDecision:
    by = ("query_type",) if any(slices) else ()
    rule = resolve_gate(make_gate(by=by, **changes), METRICS, "default")
    counts = {key: GateCounts(rows) for key, rows in slices.items()}
    return decide_gate(Gathered(rule=rule, run_id="r", slices=counts))


def compare(base: Rows, new: Rows, **changes: Any) -> SliceDecision:
    gate = make_gate(min=None, baseline="b", **changes)
    rule = resolve_gate(gate, METRICS, "default")
    asked = frozenset({*base, *new})
    gathered = Gathered(
        rule=rule, run_id="r", slices={(): GateCounts(new)}, baseline_id="b",
        baseline={(): GateCounts(base)}, asked={"r": asked, "b": asked},
    )  # fmt: skip
    return decide_gate(gathered).slices[0]


def test_three_outcomes() -> None:
    assert decide({(): make_rows(200, 4)}).outcome == "pass"
    assert decide({(): make_rows(200, 2)}).outcome == "fail"
    assert decide({(): make_rows(6, 4)}).outcome == "inconclusive"


def test_a_maximum_is_the_mirror_of_a_minimum() -> None:
    at_most = {"metric": "stale_share", "min": None, "max": 0.2}
    assert decide({(): make_rows(200, 0)}, **at_most).outcome == "pass"
    assert decide({(): make_rows(200, 2)}, **at_most).outcome == "fail"
    assert decide({(): make_rows(6, 0)}, **at_most).outcome == "inconclusive"


def test_one_failing_slice_fails_the_gate_and_stands_first() -> None:
    found = decide({("a",): make_rows(200, 4), ("b",): make_rows(200, 1), ("c",): make_rows(3, 4)})
    assert found.outcome == "fail"
    assert [row.outcome for row in found.slices] == ["fail", "inconclusive", "pass"]
    assert found.slices[0].slice == {"query_type": "b"}


def test_the_observed_extreme_decides_nothing() -> None:
    """Twenty slices of ten items at the limit: some are observed far below it."""
    rng = np.random.default_rng(1)
    slices: dict[tuple[str | None, ...], Rows] = {
        (f"s{n}",): {f"i{i}": ItemRow(float(rng.binomial(4, 0.8)), 4) for i in range(10)}
        for n in range(20)
    }
    found = decide(slices)
    assert min(row.rate or 1 for row in found.slices) < 0.75
    assert found.outcome == "inconclusive"


def test_failing_is_tested_for_all_slices_together_and_passing_for_each() -> None:
    rows = make_rows(40, 4)
    one, many = decide({("a",): rows}), decide({(str(n),): rows for n in range(20)})
    assert one.fail_confidence == 0.95
    assert many.fail_confidence == pytest.approx(0.9975)
    assert many.slices[0].low == one.slices[0].low
    assert many.pass_confidence == 0.95


def test_slices_that_are_too_small_are_no_chance_to_fail() -> None:
    found = decide({("a",): make_rows(40, 4), ("b",): make_rows(4, 0)}, min_items=10)
    small = next(row for row in found.slices if row.slice["query_type"] == "b")
    assert (small.outcome, small.more_items) == ("inconclusive", 6)
    assert "4 items, 10 required" in small.reason
    assert found.fail_confidence == 0.95


def test_unscored_claims_never_help_to_pass() -> None:
    good = decide({(): make_rows(200, 4)}).slices[0]
    gaps = decide({(): make_rows(200, 4, unscored=2)}).slices[0]
    assert (good.outcome, gaps.outcome) == ("pass", "inconclusive")
    assert gaps.reason == "400 unscored claims could decide this: score them"
    assert gaps.more_items is None
    few = make_rows(200, 4) | {"i0": ItemRow(0, 0, 4)}
    assert decide({(): few}).outcome == "pass"


def test_more_items_are_asked_for_only_where_items_are_missing() -> None:
    """Scored throughout, these items would do; a bound at the limit must not ask for hundreds."""
    clear = {f"i{n}": ItemRow(4 if n % 8 else 0, 4) for n in range(200)}
    gaps = {name: row._replace(unscored=0.3) for name, row in clear.items()}
    assert decide({(): clear}).outcome == "pass"
    found = decide({(): gaps}).slices[0]
    assert (found.outcome, found.more_items) == ("inconclusive", None)
    assert found.reason == "60 unscored claims could decide this: score them"
    base = make_rows(200, 3)
    assert compare(base, clear).outcome == "pass"
    changed = compare(base, {name: row._replace(unscored=0.8) for name, row in clear.items()})
    assert (changed.outcome, changed.more_items) == ("inconclusive", None)


def test_unscored_claims_never_help_to_fail() -> None:
    assert decide({(): make_rows(200, 2)}).outcome == "fail"
    assert decide({(): make_rows(200, 2, unscored=8)}).outcome == "inconclusive"


def test_a_slice_nobody_scored_is_inconclusive() -> None:
    rows = {f"i{n}": ItemRow(0, 0, 4) for n in range(50)}
    found = decide({("a",): rows, ("b",): make_rows(200, 4)})
    unscored = next(row for row in found.slices if row.slice["query_type"] == "a")
    assert (unscored.outcome, unscored.rate) == ("inconclusive", None)
    assert found.outcome == "inconclusive"


def test_a_gate_that_looks_often_spends_its_error_over_all_looks() -> None:
    """Fifty of 200 items are wrong throughout: surely below 0.8 once, not surely in a hundred."""
    rows = make_rows(200, 4) | {f"i{n}": ItemRow(0, 4) for n in range(55)}
    once, often = decide({(): rows}), decide({(): rows}, looks=100)
    assert (once.outcome, often.outcome) == ("fail", "inconclusive")
    assert once.fail_confidence == pytest.approx(0.95)
    assert often.fail_confidence == pytest.approx(0.9995)
    assert often.pass_confidence == once.pass_confidence == 0.95
    assert once.power is None
    assert often.power == (
        "One look catches a rate 12 points beyond the limit four times in five (7 points if it "
        "looked only once)."
    )
    assert often.slices[0].detectable == pytest.approx(0.12, abs=0.005)


def test_a_budget_of_false_alarms_is_spent_over_a_year_of_looks() -> None:
    rows = make_rows(200, 4)
    found = decide({(): rows}, looks_per_year=2500, false_alarms_per_year=0.5)
    assert found.fail_confidence == pytest.approx(1 - 0.5 / 2500)
    # Ten looks may not spend more than one look of a gate at 95 % would.
    assert decide({(): rows}, looks_per_year=10, false_alarms_per_year=5).fail_confidence == 0.95
    # Slices share what a look has.
    sliced = decide({("a",): rows, ("b",): rows}, looks_per_year=2500, false_alarms_per_year=0.5)
    assert sliced.fail_confidence == pytest.approx(1 - 0.25 / 2500)


def test_an_untrusted_judge_decides_nothing() -> None:
    assert decide({(): make_rows(200, 4, untrusted=4)}).outcome == "inconclusive"
    found = decide({(): make_rows(200, 2, untrusted=4)})
    assert (found.outcome, found.slices[0].rate) == ("inconclusive", None)


@given(
    st.lists(
        st.tuples(*(st.integers(0, 5) for _ in range(4))).map(
            lambda r: ItemRow(min(r[0], r[1]), r[1], r[2], min(r[3], r[1]))
        ),
        min_size=1,
        max_size=20,
    )
)
def test_what_is_imagined_encloses_every_way_it_could_be(rows: list[ItemRow]) -> None:
    table = GateCounts({str(n): row for n, row in enumerate(rows)}).table()
    (low, units), (high, same) = (imagine(table, hits=hits) for hits in (False, True))
    assert np.array_equal(units, same)
    assert np.all((low >= 0) & (low <= table[:, 0]))
    assert np.all((high <= units) & (high >= table[:, 0] + table[:, 2]))


@given(st.lists(st.sampled_from(["pass", "fail", "inconclusive"]), max_size=6))
def test_outcomes_combine(outcomes: list[Any]) -> None:
    found = combine_outcomes(outcomes)
    if "fail" in outcomes:
        assert found == "fail"
    else:
        assert (found == "pass") == (bool(outcomes) and set(outcomes) == {"pass"})


def test_an_inconclusive_slice_says_how_many_items_it_needs() -> None:
    rows = {f"i{n}": ItemRow(4 if n % 10 else 0, 4) for n in range(50)}
    found = decide({(): rows}, min=0.8).slices[0]
    assert found.outcome == "inconclusive"
    assert found.more_items is not None
    assert found.reason.startswith("needs about ")
    enough = {f"i{n}": ItemRow(4 if n % 10 else 0, 4) for n in range(50 + found.more_items + 10)}
    assert decide({(): enough}, min=0.8).outcome == "pass"


def test_a_rate_at_the_limit_needs_more_items_than_anyone_has() -> None:
    rows = {f"i{n}": ItemRow(4 if n % 5 else 0, 4) for n in range(50)}
    found = decide({(): rows}, min=0.8).slices[0]
    assert (found.more_items or 0) >= MOST_ITEMS
    assert "too near the limit" in found.reason


def paired(drop: float, items: int = 300, base: float = 0.9, seed: int = 5) -> tuple[Rows, Rows]:
    rng = np.random.default_rng(seed)
    chances = rng.beta(base * 3, (1 - base) * 3, items)
    old, new = (rng.binomial(5, np.clip(chances - by, 0, 1)) for by in (0.0, drop))
    rows = ({f"i{n}": ItemRow(float(hits), 5) for n, hits in enumerate(r)} for r in (old, new))
    one, other = rows
    return one, other


def test_relative_gates_catch_a_drop_and_pass_what_did_not_change() -> None:
    same = compare(*paired(0.0))
    assert same.outcome == "pass"
    assert same.change == pytest.approx((same.rate or 0) - (same.baseline_rate or 0))
    worse = compare(*paired(0.1))
    assert worse.outcome == "fail"
    assert worse.reason.startswith("clearly worse")
    assert compare(*paired(0.0, items=12)).outcome == "inconclusive"


def test_a_relative_gate_says_what_drop_it_would_find() -> None:
    """About so large a drop, in other samples, fails four times in five."""
    once, often = compare(*paired(0.0)), compare(*paired(0.0), looks=100)
    assert once.detectable is not None
    assert often.detectable is not None
    assert once.detectable < often.detectable < 2 * once.detectable
    for found, looks in ((once, 1), (often, 100)):
        drop = found.detectable or 0
        worse = [compare(*paired(drop, seed=seed), margin=0, looks=looks) for seed in range(40)]
        assert 0.6 <= np.mean([one.outcome == "fail" for one in worse]) <= 0.98


def test_a_small_sure_drop_within_the_margin_passes() -> None:
    base = make_rows(2_000, 5, 5)
    new = {name: ItemRow(4 if n % 20 == 0 else 5, 5) for n, name in enumerate(base)}
    found = compare(base, new)
    assert found.high is not None
    assert found.high < 0
    assert found.outcome == "pass"
    assert found.reason.startswith("worse, but by at most")
    assert compare(base, new, margin=0).outcome == "fail"


def test_lower_is_better_turns_the_comparison_round() -> None:
    base, new = paired(0.1)
    risen = compare(new, base, metric="stale_share")
    assert risen.outcome == "fail"
    assert compare(base, new, metric="stale_share").outcome == "pass"


def test_relative_gates_bound_the_unscored_of_both_runs() -> None:
    base, new = paired(0.0)
    gaps = {name: row._replace(unscored=3) for name, row in new.items()}
    assert compare(base, gaps).outcome == "inconclusive"
    gaps = {name: row._replace(unscored=12) for name, row in base.items()}
    assert compare(gaps, new).outcome == "inconclusive"


def test_a_judge_decides_no_change() -> None:
    base, new = paired(0.1)
    judged = {name: row._replace(untrusted=5) for name, row in new.items()}
    assert compare(base, judged).outcome == "inconclusive"


def test_only_shared_items_are_compared() -> None:
    base, new = paired(0.0)
    gate = resolve_gate(make_gate(min=None, baseline="b"), METRICS, "default")
    extra = new | {"only-new": ItemRow(0, 50)}
    gathered = Gathered(
        rule=gate, run_id="r", slices={(): GateCounts(extra)}, baseline_id="b",
        baseline={(): GateCounts(base)}, asked={"r": frozenset(extra), "b": frozenset(base)},
    )  # fmt: skip
    decision = decide_gate(gathered)
    found = decision.slices[0]
    assert (found.items, found.unpaired) == (300, 1)
    assert decision.notes == ("Not compared, as only one of the runs was asked: 1 item.",)
    assert found.change == compare(base, new).change


def test_runs_without_a_shared_rate_are_inconclusive() -> None:
    found = compare({"a": ItemRow(3, 4), "b": ItemRow(3, 4)}, {"a": ItemRow(), "b": ItemRow()})
    assert found.outcome == "inconclusive"
    assert "both runs" in found.reason


@given(st.integers(2, 60), st.integers(0, 4), st.floats(0.05, 0.95))
def test_pass_and_fail_exclude_each_other(items: int, hits: int, limit: float) -> None:
    found = decide({(): make_rows(items, hits)}, min=limit).slices[0]
    assert found.low is not None
    assert found.high is not None
    assert found.low <= hits / 4 + 1e-9
    assert found.high >= hits / 4 - 1e-9
    if found.outcome == "pass":
        assert found.low >= limit
    elif found.outcome == "fail":
        assert found.high < limit
