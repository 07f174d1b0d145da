"""Decides a gate by one-sided bounds, slice by slice.

A slice fails when even the favourable bound is on the wrong side of the limit, and passes when the
unfavourable bound is on the right side; else it is inconclusive. Everything that is unknown
(unscored, or judged by no one but a judge) turns out well before a slice may fail, and ill before
it may pass; where more is known of people's rate, the reading that leaves least open decides
(readings.py, changes.py).

A gate fails if any slice fails. A build with K good slices has K chances to fail by bad luck, so
each is tested at 1 - (1 - confidence) / K (Bonferroni): with confidence no good gate fails,
however slices depend on each other. A gate passes if all slices pass. A bad slice then has to pass
by luck itself, and other slices only make that rarer: each is tested at the plain confidence, and
the gate still passes a bad build no more often than 1 - confidence (intersection-union).

A gate that is applied to every commit has as many chances to fail by bad luck: a system exactly at
its limit fails one of a hundred looks almost surely. A gate with ``looks`` spends its error over
all of them (Bonferroni again, as nobody knows how looks depend on each other), and says what that
costs: the drop below the limit that one look still finds.

A relative gate has two lines, as no sample can show that nothing changed. It passes when the drop
is surely below the margin, and fails when there surely is a drop that was not shown to be below
the margin. A small, well measured drop within the margin therefore passes.

Reference: Berger (1982), Technometrics 24, 295-300, on intersection-union tests; Schuirmann (1987),
J. Pharmacokinetics and Biopharmaceutics 15, 657-680, on margins.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import msgspec
import numpy as np
from scipy import special

from claimwise.gates.bounds import POWER, Confidence
from claimwise.gates.changes import ChangeReading, PairedChange, RangeChange, decide_change
from claimwise.gates.counts import Floats, GateCounts, ItemRow, forget_unknown
from claimwise.gates.gather import Gathered, SliceReadings
from claimwise.gates.planning import MOST_ITEMS, find_detectable, is_wrong, plan_change, plan_rate
from claimwise.gates.readings import CalibratedReading, CountedReading, Range, RateReading
from claimwise.gates.rules import describe_margin
from claimwise.gates.values import Gate, GateDecision, Outcome, SliceDecision
from claimwise.metrics.counting import SliceKey
from claimwise.metrics.intervals import simultaneous_confidence
from claimwise.report.changes import show_change_range
from claimwise.report.format import pluralize, show_difference, show_exact_percent
from claimwise.types.results import Better

_ADVICE: Final = {"claim": "let people label some of these claims (claimwise rounds create)"}
_ORDER: Final[dict[Outcome, int]] = {"fail": 0, "inconclusive": 1, "pass": 2}


def decide_gate(gathered: Gathered) -> GateDecision:
    """Decide a gate: every slice, then the whole."""
    rule = gathered.rule
    keys = list(dict.fromkeys([*gathered.slices, *gathered.baseline, *gathered.missing]))
    tested = [key for key in keys if _count_items(gathered, key) >= rule.gate.min_items]
    sure = _share_error(rule.gate, len(tested))
    slices = [_decide_slice(gathered, key, sure, tested=key in tested) for key in keys]
    unpaired = sum(found.unpaired for found in slices)
    alone = (f"Not compared, as only one of the runs was asked: {_count(unpaired)}.",)
    slices.sort(key=lambda found: (_ORDER[found.outcome], _badness(found, rule.better)))
    return GateDecision(
        gate=rule.gate,
        title=rule.member or rule.metric.title,
        unit=rule.metric.unit,
        better=rule.better,
        rule=rule.describe(),
        run_id=gathered.run_id,
        baseline_id=gathered.baseline_id,
        outcome=combine_outcomes([found.outcome for found in slices]),
        pass_confidence=sure.passing,
        fail_confidence=sure.failing,
        slices=tuple(slices),
        notes=(*_describe_weighting(gathered), *gathered.notes, *(alone if unpaired else ())),
        weighting=gathered.weighting,
        power=_describe_power(rule.gate, slices, sure),
    )


def _describe_weighting(gathered: Gathered) -> tuple[str, ...]:
    return (f"{gathered.weighting.start_sentence()}.",) if gathered.weighting else ()


def _share_error(gate: Gate, slices: int) -> Confidence:
    """Return how sure each slice must be, so that all of them, at all looks, hold together."""
    failing = simultaneous_confidence(1 - gate.look_error, max(1, slices))
    return Confidence(passing=gate.confidence, failing=failing)


def _describe_power(gate: Gate, slices: list[SliceDecision], sure: Confidence) -> str | None:
    """Say what a gate finds at one look, where it compares runs or looks more than once."""
    found = max((one.detectable for one in slices if one.detectable), default=None)
    if found is None or not (gate.relative or gate.spares):
        return None
    points = round(100 * found)
    told = f"One look catches a rate {points} points beyond the limit four times in five"
    if gate.relative:
        told = f"One look catches a run that is {points} points worse four times in five"
    if len(slices) > 1:
        told += ", whichever group it is"
    if not gate.spares:
        return f"{told}."
    # The same slice, had the gate spent all of its error on one look.
    once = 1 - (1 - sure.failing) * (1 - gate.confidence) / gate.look_error
    reaches = special.ndtri([once, sure.failing]) + special.ndtri(POWER)
    return f"{told} ({100 * found * reaches[0] / reaches[1]:.0f} points if it looked only once)."


def find_slide(gathered: Gathered) -> list[SliceDecision]:
    """Return the slices that are surely worse than an anchor by more than the margin.

    The anchor may be the best of many runs, and so better than it is by luck: that there surely is
    a drop does not count here, only that it surely is beyond the margin. Half of the error of all
    slices is spent on it.
    """
    rule = gathered.rule
    keys = [
        key
        for key in dict.fromkeys([*gathered.slices, *gathered.baseline])
        if _count_items(gathered, key) >= rule.gate.min_items
    ]
    sure = _share_error(rule.gate, 2 * len(keys))
    found = []
    for key in keys:
        decided = _decide_slice(gathered, key, sure, tested=True)
        kindest = decided.high if rule.better == "higher" else decided.low
        if kindest is None:
            continue
        drop = -kindest if rule.better == "higher" else kindest
        if drop > rule.gate.tolerance:
            reason = (
                f"slow slide: worse than {gathered.baseline_id} by at least "
                f"{show_difference(drop)} points ({describe_margin(rule.gate.tolerance)} allowed)"
            )
            found.append(msgspec.structs.replace(decided, outcome="fail", reason=reason))
    return found


def add_slide(decision: GateDecision, slid: list[SliceDecision], anchor_id: str) -> GateDecision:
    """Return a decision that a slow slide from an anchor fails as well."""
    by_slice = {tuple(one.slice.items()): one for one in slid}
    slices = [
        one if one.outcome == "fail" else by_slice.get(tuple(one.slice.items()), one)
        for one in decision.slices
    ]
    slices.sort(key=lambda one: _ORDER[one.outcome])
    return msgspec.structs.replace(
        decision,
        anchor_id=anchor_id,
        slices=tuple(slices),
        outcome=combine_outcomes([one.outcome for one in slices]),
        notes=(*decision.notes, f"Also compared with the earlier run {anchor_id}."),
    )


def combine_outcomes(outcomes: list[Outcome]) -> Outcome:
    """Return a gate's outcome: fail if any slice fails, pass if all pass, else inconclusive."""
    if not outcomes:
        return "inconclusive"
    return min(outcomes, key=_ORDER.__getitem__)


def decide_rate(
    table: Floats, better: Better, limit: float, sure: Confidence
) -> tuple[Outcome, float, float]:
    """Decide one slice against a limit; return the outcome, the lower and the upper bound."""
    bounds = _bound_rate(CountedReading(table=table), better, sure)
    return _decide_bounds(bounds, better, limit), *bounds


def _bound_rate(reading: RateReading, better: Better, sure: Confidence) -> Range:
    """Return the bounds of a rate: the side that passes, and the side that fails."""
    passing = reading.find_range(sure.passing, passing=True)
    failing = reading.find_range(sure.failing, passing=False)
    return (passing[0], failing[1]) if better == "higher" else (failing[0], passing[1])


def _decide_bounds(bounds: Range, better: Better, limit: float) -> Outcome:
    """Decide by the bound that must hold to pass and the one that must not to fail."""
    ill, well = bounds if better == "higher" else bounds[::-1]
    if is_wrong(well, limit, better):
        return "fail"
    return "inconclusive" if is_wrong(ill, limit, better) else "pass"


def _count_items(gathered: Gathered, key: SliceKey) -> int:
    """Count the items that can say something: in both runs, where there are two."""
    if gathered.baseline_id is not None:
        return len(_share_items(gathered, key)[0])
    return len(_list_measured(gathered.slices.get(key)))


def _share_items(gathered: Gathered, key: SliceKey) -> tuple[list[str], int]:
    """Return the measured items that both runs were asked, and the number of the others."""
    found = _list_measured(gathered.slices.get(key)) | _list_measured(gathered.baseline.get(key))
    asked = gathered.asked[gathered.run_id] & gathered.asked[gathered.baseline_id or ""]
    return sorted(found & asked), len(found - asked)


def _list_measured(counts: GateCounts | None) -> set[str]:
    rows = counts.rows if counts else {}
    return {item for item, row in rows.items() if row.units + row.unscored > 0}


def _decide_slice(
    gathered: Gathered, key: SliceKey, sure: Confidence, *, tested: bool
) -> SliceDecision:
    named = dict(zip(gathered.rule.by, key, strict=True))
    if key not in gathered.slices and key not in gathered.baseline:
        return SliceDecision(
            slice=named,
            outcome="inconclusive",
            reason=f"never asked in this run: {_count(gathered.missing[key])}",
            rate=None,
            low=None,
            high=None,
            items=0,
            units=0,
            unscored=0,
        )
    decide = _decide_absolute if gathered.baseline_id is None else _decide_relative
    return decide(gathered, key, named, sure, tested=tested)


def _decide_absolute(
    gathered: Gathered,
    key: SliceKey,
    named: dict[str, str | None],
    sure: Confidence,
    *,
    tested: bool,
) -> SliceDecision:
    rule, limit = gathered.rule, gathered.rule.gate.limit
    items, total = _count_items(gathered, key), gathered.slices[key].count()
    reading, bounds = _choose_reading(gathered, key, sure)
    outcome, more = _decide_bounds(bounds, rule.better, limit), None
    if not tested:
        outcome, more = "inconclusive", rule.gate.min_items - items
        reason = f"{_count(items)}, {rule.gate.min_items:,} required"
    elif outcome != "inconclusive":
        reason = _describe_rate(outcome, *bounds, limit, rule.better) + _name_reading(reading)
    elif isinstance(reading, CountedReading):
        known, _, _ = decide_rate(forget_unknown(reading.table), rule.better, limit, sure)
        if known == "inconclusive":  # else items are not what is missing
            more = plan_rate(reading.table, rule.better, limit, sure)
        reason = _explain(gathered, key, total, more)
    else:
        shown = f"{show_difference(bounds[0])}–{show_difference(bounds[1])}%"
        reason = _explain_open(reading.told, shown, f"limit {show_exact_percent(limit)}")
    return SliceDecision(
        slice=named,
        outcome=outcome,
        reason=reason,
        rate=reading.rate,
        low=bounds[0],
        high=bounds[1],
        items=items,
        units=round(total.units),
        unscored=round(total.unscored),
        untrusted=0 if reading.told else round(total.untrusted),
        basis=reading.basis,
        more_items=more,
        detectable=find_detectable(reading.worth, limit, sure.failing) if reading.worth else None,
    )


def _choose_reading(
    gathered: Gathered, key: SliceKey, sure: Confidence
) -> tuple[RateReading, Range]:
    """Return the reading of a slice that leaves least open, and its bounds."""
    known = gathered.readings.get(key)
    readings: list[RateReading] = [] if known is None else known.list_all()
    if known is None:
        table = gathered.slices[key].table()
        by_people = gathered.by_people and table[:, 1].any()
        readings = [CountedReading(table=table, basis="people" if by_people else None)]
    better = gathered.rule.better
    bounded = [(reading, _bound_rate(reading, better, sure)) for reading in readings]
    return min(bounded, key=lambda one: one[1][1] - one[1][0])


def _decide_relative(
    gathered: Gathered,
    key: SliceKey,
    named: dict[str, str | None],
    sure: Confidence,
    *,
    tested: bool,
) -> SliceDecision:
    rule, gate = gathered.rule, gathered.rule.gate
    shared, unpaired = _share_items(gathered, key)
    new, base = (
        side.get(key, GateCounts()).count(shared) for side in (gathered.slices, gathered.baseline)
    )
    both = ItemRow(*np.add(new, base))
    change, bounds = _choose_change(gathered, key, shared, sure)
    outcome: Outcome = "inconclusive"
    more: int | None = None
    low, high = bounds if bounds and tested else (None, None)
    if bounds is None:
        reason = "no item of this group has a rate in both runs"
    elif not tested:
        more = gate.min_items - len(shared)
        reason = f"{_count(len(shared))} in both runs, {gate.min_items:,} required"
    else:
        outcome = decide_change(bounds, rule.better, gate.tolerance)
        more = _plan_paired(change, rule.better, gate.tolerance, sure, outcome)
        reason = _explain_change(gathered, key, change, bounds, outcome, both, more)
    was, rate = change.rates
    return SliceDecision(
        slice=named,
        outcome=outcome,
        reason=reason,
        rate=rate,
        low=low,
        high=high,
        items=len(shared),
        units=round(new.units),
        unscored=round(both.unscored),
        untrusted=0 if change.told else round(new.untrusted),
        basis=change.basis,
        baseline_rate=was,
        change=None if rate is None or was is None else rate - was,
        more_items=more,
        unpaired=unpaired,
        detectable=change.find_detectable(sure) if tested else None,
    )


def _plan_paired(
    change: ChangeReading, better: Better, margin: float, sure: Confidence, outcome: Outcome
) -> int | None:
    """Return how many more items would decide a change that items are counted for."""
    if outcome != "inconclusive" or change.told or not isinstance(change, PairedChange):
        return None
    bounds = change.forget_unknown().find_bounds(better, sure)
    if bounds is not None and decide_change(bounds, better, margin) != "inconclusive":
        return None  # items are not what is missing
    found = change.imagine(better)
    return plan_change(*found, better, margin, sure) if found else None


def _explain_change(
    gathered: Gathered,
    key: SliceKey,
    change: ChangeReading,
    bounds: Range,
    outcome: Outcome,
    total: ItemRow,
    more: int | None,
) -> str:
    """Say why a change is decided as it is, or what would decide it."""
    rule = gathered.rule
    if outcome != "inconclusive":
        told = _describe_change(outcome, *bounds, rule.gate.tolerance, rule.better)
        return told + _name_reading(change)
    if not change.told:
        return _explain(gathered, key, total, more)
    shown = f"{show_change_range(*bounds)} points"
    return _explain_open(change.told, shown, f"margin {describe_margin(rule.gate.tolerance)}")


def _choose_change(
    gathered: Gathered, key: SliceKey, shared: list[str], sure: Confidence
) -> tuple[ChangeReading, Range | None]:
    """Return the reading of a change that leaves least open, and its bounds; None without rates."""
    changes = _list_changes(gathered, key, shared)
    bounded = [(change, change.find_bounds(gathered.rule.better, sure)) for change in changes]
    return min(bounded, key=lambda one: math.inf if one[1] is None else one[1][1] - one[1][0])


def _list_changes(gathered: Gathered, key: SliceKey, shared: list[str]) -> list[ChangeReading]:
    """Return the ways to read a change; both runs are on the same basis in each."""
    new, base = gathered.readings.get(key), gathered.base_readings.get(key)
    if new is None or base is None:
        tables = (_take(side, key, shared) for side in (gathered.baseline, gathered.slices))
        return [PairedChange(base=next(tables), new=next(tables))]
    found: list[ChangeReading] = [
        PairedChange(base=base.people.table(shared), new=new.people.table(shared), basis="people"),
        RangeChange(base=_take_narrowest(base, shared), new=_take_narrowest(new, shared)),
    ]
    judges = {one.judge: one for one in base.others if isinstance(one, CalibratedReading)}
    for one in new.others:
        if isinstance(one, CalibratedReading) and one.judge in judges:
            other = judges[one.judge]
            found.append(
                PairedChange(
                    base=other.counts.table(shared), new=one.counts.table(shared),
                    strength=min(one.strength, other.strength), basis=one.basis, told=one.told,
                )
            )  # fmt: skip
    return found


def _take_narrowest(known: SliceReadings, items: list[str]) -> RateReading:
    """Return the reading with the narrowest range among those that rest on people's labels."""
    by_people = [one for one in known.list_all(items) if one.basis != "judge_only"]
    return min(by_people, key=lambda one: -np.subtract(*one.find_range(0.95, passing=True)))


def _take(side: Mapping[SliceKey, GateCounts], key: SliceKey, items: list[str]) -> Floats:
    return side.get(key, GateCounts()).table(items)


def _name_reading(reading: RateReading | ChangeReading) -> str:
    return f" ({reading.told})" if reading.told else ""


def _explain_open(told: str, shown: str, line: str) -> str:
    """Say why a reading that is no count of items leaves a slice open, and what would help."""
    return (
        f"{told}: {shown} doesn't settle it ({line}); let people label more claims "
        "(claimwise rounds create)"
    )


def _explain(gathered: Gathered, key: SliceKey, total: ItemRow, more: int | None) -> str:
    """Say why a slice is inconclusive, and what would decide it."""
    unscored, untrusted = round(total.unscored), round(total.untrusted)
    told = []
    if more is not None and more >= MOST_ITEMS:
        told.append(f"needs more than {MOST_ITEMS:,} more items: too near the limit")
    elif more is not None:
        told.append(f"needs about {_count(_round_up(more), 'more ')}")
    if untrusted:
        doubt = gathered.doubts.get(key)
        told.append(f"{_count_labels(untrusted)} can't count" + (f": {doubt}" if doubt else ""))
        told.append(_ADVICE.get(gathered.rule.metric.unit, "let people label them"))
    if told:
        return "; ".join(told)
    them = "it" if unscored == 1 else "them"
    unit = pluralize(unscored, f"unscored {gathered.rule.metric.unit}")
    return f"{unit} could decide this: score {them}"


def _count(items: int, kind: str = "") -> str:
    return f"{items:,} {kind}{'item' if items == 1 else 'items'}"


def _count_labels(labels: int) -> str:
    return f"{labels:,} {'label' if labels == 1 else 'labels'} by a judge"


def _round_up(count: int) -> int:
    """Round to two leading digits: more would pretend to know."""
    step = int(10 ** max(0, len(str(count)) - 2))
    return math.ceil(count / step) * step


def _describe_rate(outcome: Outcome, low: float, high: float, limit: float, better: Better) -> str:
    if (outcome == "pass") == (better == "higher"):
        return f"at least {show_difference(low)}% (limit {show_exact_percent(limit)})"
    return f"at most {show_difference(high)}% (limit {show_exact_percent(limit)})"


def _describe_change(
    outcome: Outcome, low: float, high: float, margin: float, better: Better
) -> str:
    worst, best = (-low, -high) if better == "higher" else (high, low)
    if outcome == "fail":
        return f"clearly worse, by at least {show_difference(best)} points"
    but = "worse, but by" if best > 0 else "worse by"
    most = show_difference(max(0.0, worst))
    return f"{but} at most {most} points ({describe_margin(margin)} allowed)"


def _badness(found: SliceDecision, better: Better) -> tuple[object, ...]:
    """Sort key: the most clearly bad first, by the favourable bound, then by name."""
    bound = found.high if better == "higher" else found.low
    ranked = 0.0 if bound is None else (bound if better == "higher" else -bound)
    names = tuple((value is None, value or "") for value in found.slice.values())
    return (bound is None, ranked, names)
