"""Decides a gate by one-sided bounds, slice by slice.

A slice fails when even the favourable bound is on the wrong side of the limit, and passes when the
unfavourable bound is on the right side; else it is inconclusive. Everything that is unknown
(unscored, or judged by an instrument that may not decide) turns out well before a slice may fail,
and ill before it may pass.

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
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

import msgspec
import numpy as np
from scipy import special

from claimwise.calibration.headline import Basis
from claimwise.gates.bounds import Side, bound_to_fail, bound_to_pass
from claimwise.gates.counts import Floats, GateCounts, imagine
from claimwise.gates.gather import Gathered
from claimwise.gates.values import GateDecision, Outcome, SliceDecision
from claimwise.metrics.counting import SliceKey
from claimwise.metrics.histogram import Histogram
from claimwise.metrics.intervals import effective_size, simultaneous_confidence
from claimwise.metrics.paired import RateDifference, compare_items
from claimwise.types.results import Better

MOST_ITEMS: Final = 100_000
"""Beyond this many items, “more items” is no advice."""

_ORDER: Final[dict[Outcome, int]] = {"fail": 0, "inconclusive": 1, "pass": 2}


@dataclass(frozen=True, kw_only=True, slots=True)
class Confidence:
    """How sure a slice must be: to pass by itself, to fail together with the others."""

    passing: float
    failing: float


def decide_gate(gathered: Gathered) -> GateDecision:
    """Decide a gate: every slice, then the whole."""
    rule = gathered.rule
    keys = list(dict.fromkeys([*gathered.slices, *gathered.baseline, *gathered.missing]))
    tested = [key for key in keys if _count_items(gathered, key) >= rule.gate.min_items]
    sure = Confidence(
        passing=rule.gate.confidence,
        failing=simultaneous_confidence(
            rule.gate.confidence, max(1, len(tested)) * rule.gate.looks
        ),
    )
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
        notes=(*gathered.notes, *(alone if unpaired else ()), *_describe_power(gathered, sure)),
    )


def _describe_power(gathered: Gathered, sure: Confidence) -> list[str]:
    """Say what a gate with several looks still finds at one of them; nothing for one look."""
    gate = gathered.rule.gate
    limit = gate.min if gate.min is not None else gate.max
    if gate.looks == 1 or limit is None:
        return []
    once = 1 - (1 - sure.failing) * gate.looks
    sizes = [
        effective_size(Histogram.from_clusters(table[:, 0], table[:, 1]))
        for table in (counts.table() for counts in gathered.slices.values())
    ]
    size = min((one for one in sizes if one), default=0.0)
    if not size:
        return []
    found, without = (find_detectable(size, limit, one) for one in (sure.failing, once))
    where = "the smallest slice" if len(sizes) > 1 else "one look"
    return [
        f"Looks {gate.looks:,} times: {where} finds a rate {found:.0%} beyond the limit four times "
        f"in five ({without:.0%} with one look)."
    ]


def find_detectable(size: float, limit: float, confidence: float, power: float = 0.8) -> float:
    """Return how far beyond the limit a rate must lie for a look to fail it with ``power``.

    Method: (z_confidence + z_power) standard errors of a rate at the limit from ``size``
    independent units.
    """
    reach = float(special.ndtri(confidence) + special.ndtri(power))
    return min(1.0, reach * math.sqrt(limit * (1 - limit) / size))


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
    sure = Confidence(
        passing=rule.gate.confidence,
        failing=simultaneous_confidence(
            rule.gate.confidence, 2 * max(1, len(keys)) * rule.gate.looks
        ),
    )
    found = []
    for key in keys:
        decided = _decide_slice(gathered, key, sure, tested=True)
        kindest = decided.high if rule.better == "higher" else decided.low
        if kindest is None:
            continue
        drop = -kindest if rule.better == "higher" else kindest
        if drop > rule.gate.tolerance:
            reason = (
                f"slow slide: worse than {gathered.baseline_id} by at least {drop:.3f}; "
                f"{rule.gate.tolerance:g} is tolerated"
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
        notes=(*decision.notes, f"Also held against the earlier run {anchor_id}."),
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
    ill = _bound_all(table, better, sure.passing, well=False)
    well = _bound_all(table, better, sure.failing, well=True)
    low, high = (ill, well) if better == "higher" else (well, ill)
    return _decide_bounds(ill, well, better, limit), low, high


def decide_change(
    ill: RateDifference, well: RateDifference, better: Better, margin: float, sure: Confidence
) -> tuple[Outcome, float, float]:
    """Decide one slice against a baseline; return the outcome and bounds of the change.

    ``ill`` is the change if everything unknown turned out badly, ``well`` if it turned out well.
    """
    if better == "higher":
        worst, best = ill.bound(sure.passing, upper=False), well.bound(sure.failing, upper=True)
        low, high, drop, surely = worst, best, -worst, -best
    else:
        worst, best = ill.bound(sure.passing, upper=True), well.bound(sure.failing, upper=False)
        low, high, drop, surely = best, worst, worst, best
    if drop <= margin:
        return "pass", low, high
    return ("fail" if surely > 0 else "inconclusive"), low, high


def _is_wrong(value: float, limit: float, better: Better) -> bool:
    return value < limit if better == "higher" else value > limit


def _bound_all(table: Floats, better: Better, confidence: float, *, well: bool) -> float:
    """Return the bound on the side of the imagined turn.

    Adding imagined units also makes the sample look larger, so the bound of what was scored
    alone counts too where it reaches further.
    """
    side: Side = "upper" if well == (better == "higher") else "lower"
    bound_rate = bound_to_fail if well else bound_to_pass
    imagined = Histogram.from_clusters(*imagine(table, better, well=well, trusting=False))
    scored = Histogram.from_clusters(table[:, 0], table[:, 1])
    found = [
        bound
        for counted in (imagined, scored)
        if (bound := bound_rate(counted, confidence, side)) is not None
    ]
    trivial = float(side == "upper")
    return trivial if not found else (max if side == "upper" else min)(found)


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
    rule, gate = gathered.rule, gathered.rule.gate
    table = gathered.slices[key].table()
    limit = (gate.min if gate.min is not None else gate.max) or 0.0
    items, total = _count_items(gathered, key), table.sum(axis=0)
    found = _read_slice(gathered, key, table, limit, sure)
    outcome, more = found.outcome, None
    if not tested:
        outcome, more = "inconclusive", gate.min_items - items
        reason = f"{_count(items)}, {gate.min_items:,} are asked for"
    elif outcome == "inconclusive" and found.told:
        reason = (
            f"{found.told}: {found.low:.3f} to {found.high:.3f} leaves {limit:g} open; label some "
            "claims of this run (claimwise rounds create)"
        )
    elif outcome == "inconclusive":
        known, _, _ = decide_rate(_forget_unknown(found.table), rule.better, limit, sure)
        if known == "inconclusive":
            more = _plan_rate(found.table, rule.better, limit, sure)
        reason = _explain(table, more, gathered.doubts.get(key))
    else:
        reason = _describe_rate(outcome, found.low, found.high, limit, rule.better)
        reason += f" ({found.told})" if found.told else ""
    return SliceDecision(
        slice=named,
        outcome=outcome,
        reason=reason,
        rate=found.rate,
        low=found.low,
        high=found.high,
        items=items,
        units=round(total[1]),
        unscored=round(total[2]),
        untrusted=0 if found.told else round(max(total[3], total[4])),
        basis=found.basis,
        more_items=more,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Read:
    """A slice's rate as one of its readings gives it; ``told`` is empty for labels as they are."""

    outcome: Outcome
    rate: float | None
    low: float
    high: float
    table: Floats
    basis: Basis | None = None
    told: str = ""


def _read_slice(
    gathered: Gathered, key: SliceKey, table: Floats, limit: float, sure: Confidence
) -> _Read:
    """Decide a slice by the reading that leaves least open: people's labels, or a judge's."""
    better = gathered.rule.better
    known = gathered.readings.get(key)
    counted = known.people.table() if known else table
    outcome, low, high = decide_rate(counted, better, limit, sure)
    hits, units = counted.sum(axis=0)[:2]
    found = [
        _Read(
            outcome=outcome, rate=_divide(hits, units), low=low, high=high, table=counted,
            basis="people" if known and units else None,
        )
    ]  # fmt: skip
    for reading in known.others if known else ():
        low, _ = reading.find_range(sure.passing, passing=True)
        _, high = reading.find_range(sure.failing, passing=False)
        found.append(
            _Read(
                outcome=_decide_bounds(low, high, better, limit), rate=reading.rate, low=low,
                high=high, table=counted, basis=reading.basis, told=reading.told,
            )
        )  # fmt: skip
    return min(found, key=lambda one: one.high - one.low)


def _decide_bounds(ill: float, well: float, better: Better, limit: float) -> Outcome:
    """Decide by the bound that must hold to pass and the one that must not to fail."""
    if _is_wrong(well, limit, better):
        return "fail"
    return "inconclusive" if _is_wrong(ill, limit, better) else "pass"


def _decide_relative(
    gathered: Gathered,
    key: SliceKey,
    named: dict[str, str | None],
    sure: Confidence,
    *,
    tested: bool,
) -> SliceDecision:
    rule, gate = gathered.rule, gathered.rule.gate
    here, there = gathered.slices.get(key, GateCounts()), gathered.baseline.get(key, GateCounts())
    shared, unpaired = _share_items(gathered, key)
    new, base = here.table(shared), there.table(shared)
    total = new.sum(axis=0)
    ill, well = (compare_imagined(base, new, rule.better, well=turn) for turn in (False, True))
    outcome: Outcome = "inconclusive"
    low: float | None = None
    high: float | None = None
    more: int | None = None
    if ill is None or well is None:
        reason = "no item of this slice has a rate in both runs"
    elif not tested:
        more = gate.min_items - len(shared)
        reason = f"{_count(len(shared))} in both runs, {gate.min_items:,} are asked for"
    else:
        # A judge shows less of a drop than people would see: less of one is tolerated.
        tolerance = gate.tolerance * gathered.strength
        outcome, low, high = decide_change(ill, well, rule.better, tolerance, sure)
        reason = _describe_change(outcome, low, high, tolerance, rule.better)
        if outcome == "inconclusive":
            if _needs_items(base, new, rule.better, tolerance, sure):
                more = _plan_change(ill, well, rule.better, tolerance, sure)
            reason = _explain(np.vstack((new, base)), more, gathered.doubts.get(key))
    rate, was = _divide(total[0], total[1]), _divide(*base.sum(axis=0)[:2])
    return SliceDecision(
        slice=named,
        outcome=outcome,
        reason=reason,
        rate=rate,
        low=low,
        high=high,
        items=len(shared),
        units=round(total[1]),
        unscored=round(total[2] + base[:, 2].sum()),
        untrusted=round(max(total[3], total[4])),
        baseline_rate=was,
        change=None if rate is None or was is None else rate - was,
        more_items=more,
        unpaired=unpaired,
    )


def compare_imagined(
    base: Floats, new: Floats, better: Better, *, well: bool
) -> RateDifference | None:
    """Return the change if what is unknown of the new run turned out well, and of the base ill.

    Or the other way round. Both tables have a line for each shared item.
    """
    return compare_items(
        *imagine(base, better, well=not well, trusting=well),
        *imagine(new, better, well=well, trusting=well),
    )


def _forget_unknown(table: Floats) -> Floats:
    """Return a table as if every verdict were believed, and nothing else had been asked."""
    known = table.copy()
    known[:, 2:] = 0.0
    return known


def _needs_items(
    base: Floats, new: Floats, better: Better, margin: float, sure: Confidence
) -> bool:
    """Tell whether a change would be open even if every verdict were believed."""
    change = compare_imagined(_forget_unknown(base), _forget_unknown(new), better, well=True)
    return change is None or decide_change(change, change, better, margin, sure)[0] == (
        "inconclusive"
    )


def _plan_rate(table: Floats, better: Better, limit: float, sure: Confidence) -> int | None:
    """Return about how many more items decide, if more of the same come in.

    The items at hand are taken several times over until the bound leaves the limit behind. None
    when the unknown units decide, whatever the number of items.
    """
    for well, confidence in ((False, sure.passing), (True, sure.failing)):
        counted = Histogram.from_clusters(*imagine(table, better, well=well, trusting=False))
        if _is_wrong(counted.hits / counted.units, limit, better) == well:
            decides = partial(_would_decide, counted, better, limit, confidence, well)
            return max(1, _search(counted.items, decides) - counted.items)
    return None


def _would_decide(
    h: Histogram, better: Better, limit: float, confidence: float, well: bool, items: int
) -> bool:
    """Return whether so many items of the same kinds would fail a gate (``well``) or pass it."""
    side: Side = "upper" if well == (better == "higher") else "lower"
    bound_rate = bound_to_fail if well else bound_to_pass
    bound = bound_rate(_multiply(h, items / h.items), confidence, side)
    return bound is not None and _is_wrong(bound, limit, better) == well


def _multiply(h: Histogram, factor: float) -> Histogram:
    """Return a histogram as it would be with more items of the same kinds."""
    counts = np.rint(h.clusters * factor).astype(np.int64)
    return Histogram(
        numerator=h.numerator, denominator=h.denominator, clusters=counts,
        trials=float(h.denominator @ counts),
    )  # fmt: skip


def _plan_change(
    ill: RateDifference, well: RateDifference, better: Better, margin: float, sure: Confidence
) -> int | None:
    """Return about how many more shared items decide; None when the unknown units do."""
    sign = 1 if better == "higher" else -1
    # How far each change is from the line that it would have to be sure to have left behind.
    room, drop = sign * ill.change + margin, -sign * well.change

    def decides(items: int) -> bool:
        shrink = math.sqrt(ill.items / items)
        t_pass, t_fail = (_reach(ill, sure.passing), _reach(well, sure.failing))
        return t_pass * shrink <= room or t_fail * shrink < drop

    if room <= 0 and drop <= 0:
        return None
    return max(1, _search(ill.items, decides) - ill.items)


def _reach(difference: RateDifference, confidence: float) -> float:
    return difference.bound(confidence, upper=True) - difference.change


def _search(items: int, decides: Callable[[int], bool]) -> int:
    """Return the fewest items that decide, to a twentieth; MOST_ITEMS and more stand for never."""
    low, high = items, items
    while not decides(high):
        low, high = high, high * 2
        if high > MOST_ITEMS:
            return items + MOST_ITEMS
    while high - low > max(1, high // 20):
        middle = (low + high) // 2
        low, high = (low, middle) if decides(middle) else (middle, high)
    return high


def _explain(table: Floats, more: int | None, doubt: str | None) -> str:
    """Say why a slice is inconclusive, and what would decide it.

    ``more`` is None where items are not what is missing: with every verdict believed, or without
    what is unscored, those at hand would do.
    """
    unscored, untrusted = round(table[:, 2].sum()), round(table[:, 3:].max(axis=1).sum())
    barred = f"{untrusted:,} labels decide nothing: {doubt}" if untrusted and doubt else None
    if more is None:
        alone = "the one that is unscored decides: score it"
        return barred or (
            alone if unscored == 1 else f"the {unscored:,} unscored decide: score them"
        )
    if more >= MOST_ITEMS:
        told = f"needs more than {MOST_ITEMS:,} more items: too near the limit"
    else:
        told = f"needs about {_count(_round_up(more), 'more ')}"
    return f"{told}; {barred}" if barred else told


def _count(items: int, kind: str = "") -> str:
    return f"{items:,} {kind}{'item' if items == 1 else 'items'}"


def _round_up(count: int) -> int:
    """Round to two leading digits: more would pretend to know."""
    step = int(10 ** max(0, len(str(count)) - 2))
    return math.ceil(count / step) * step


def _describe_rate(outcome: Outcome, low: float, high: float, limit: float, better: Better) -> str:
    if (outcome == "pass") == (better == "higher"):
        return f"at least {low:.3f}, the limit is {limit:g}"
    return f"at most {high:.3f}, the limit is {limit:g}"


def _describe_change(
    outcome: Outcome, low: float, high: float, margin: float, better: Better
) -> str:
    worst, best = (-low, -high) if better == "higher" else (high, low)
    if outcome == "fail":
        return f"surely worse, by at least {best:.3f}"
    if best > 0:
        return f"worse, but by at most {worst:.3f}; {margin:g} is tolerated"
    return f"worse by at most {max(0.0, worst):.3f}; {margin:g} is tolerated"


def _divide(hits: float, units: float) -> float | None:
    return float(hits / units) if units else None


def _badness(found: SliceDecision, better: Better) -> tuple[object, ...]:
    """Sort key: the surest to be bad first, by the favourable bound, then by name."""
    bound = found.high if better == "higher" else found.low
    ranked = 0.0 if bound is None else (bound if better == "higher" else -bound)
    names = tuple((value is None, value or "") for value in found.slice.values())
    return (bound is None, ranked, names)
