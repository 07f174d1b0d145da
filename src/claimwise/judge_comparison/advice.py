"""Says in words which differences between judges are real, and which judge to use."""

from __future__ import annotations

from collections.abc import Sequence

from claimwise.judge_comparison.figures import FIVE_POINTS
from claimwise.judge_comparison.values import JudgeComparison, JudgeDifference, JudgeFigures
from claimwise.report.format import join_words, show_points


def describe_difference(one: JudgeDifference, found: JudgeComparison) -> str:
    """Say whether two judges differ, by how much, and how many labels would tell."""
    if one.difference is None:
        return f"{one.one} and {one.other} can't be compared: no set has both kinds of labels."
    if not one.difference and one.low is None:
        return f"{one.one} and {one.other} are right and wrong on the same claims."
    better, worse = (one.one, one.other) if one.difference >= 0 else (one.other, one.one)
    size = _show_size(one)
    if one.real:
        return f"{better} is better than {worse}: {size}. The difference is real."
    told = f"{better} and {worse} can't be told apart: {size}."
    return f"{told} {_describe_needed(one, found.claims)}"


def _show_size(one: JudgeDifference) -> str:
    """Write how far the better judge is ahead, with the range where there is one."""
    value = one.difference or 0.0
    points = f"{show_points(abs(value))} points"
    if one.low is None or one.high is None:
        return points
    low, high = (one.low, one.high) if value >= 0 else (-one.high, -one.low)
    return f"{points} ({show_points(low)} to {show_points(high)})"


def _describe_needed(one: JudgeDifference, claims: int) -> str:
    """Say how many more labelled claims would show the difference, and one of 5 points."""
    if one.few_groups:
        return "A few groups carry all of it: label claims of more items or documents."
    if one.claims_needed is None:
        told = "Not even a million labelled claims would show a difference of this size"
    else:
        more = _round(one.claims_needed - claims)
        told = f"About {more:,} more labelled claims would show a difference of this size"
    if one.claims_needed_5_points is None or abs(one.difference or 0.0) >= FIVE_POINTS:
        return f"{told}."
    more = _round(one.claims_needed_5_points - claims)
    return f"{told}, and about {more:,} more one of 5 points."


def _round(claims: int) -> int:
    """Return a number of claims to two digits, rounded up, and at least 10."""
    step = int(10 ** max(1, len(str(max(1, claims))) - 2))
    return max(10, -(-claims // step) * step)


def list_advice(found: JudgeComparison) -> list[str]:
    """Say which judge to use for which budget.

    At every price the judges that cost at most that much compete. The choice is the cheapest of
    those that are not shown to be worse than the one with the best figure; of equally cheap ones
    the one with the best figure.
    """
    lines: list[str] = []
    chosen: JudgeFigures | None = None
    for price in sorted({cost for judge in found.judges if (cost := _cost(judge)) is not None}):
        pool = [j for j in found.judges if (c := _cost(j)) is not None and c <= price]
        pick = _choose(pool, found.differences)
        if pick is None:
            continue
        lines.append(_describe_choice(price, pick, chosen, pool, found.differences))
        chosen = pick
    unpriced = [judge.name for judge in found.judges if _cost(judge) is None]
    if unpriced:
        lines.append(
            f"No advice on {join_words(unpriced)} without a price: give --price JUDGE=IN,OUT."
        )
    if chosen is not None and not _beats_baseline(chosen, found):
        lines.append(
            f"{chosen.name} is not shown to be better than counting words on these claims: label "
            "more of them before you rely on it."
        )
    return lines


def _cost(judge: JudgeFigures) -> float | None:
    return judge.usage.usd_per_1000_claims


def _choose(
    pool: Sequence[JudgeFigures], differences: Sequence[JudgeDifference]
) -> JudgeFigures | None:
    """Return the cheapest judge that is not shown to be worse than the best of the pool."""
    known = [judge for judge in pool if judge.balanced_accuracy.value is not None]
    if not known:
        return None
    best = max(known, key=_value)
    as_good = [judge for judge in known if judge is best or not _differ(judge, best, differences)]
    return min(as_good, key=lambda judge: (_cost(judge) or 0.0, -_value(judge)))


def _value(judge: JudgeFigures) -> float:
    return judge.balanced_accuracy.value or 0.0


def _differ(one: JudgeFigures, other: JudgeFigures, differences: Sequence[JudgeDifference]) -> bool:
    names = {one.name, other.name}
    return any(found.real for found in differences if {found.one, found.other} == names)


def _beats_baseline(judge: JudgeFigures, found: JudgeComparison) -> bool:
    baseline = next((one for one in found.judges if one.baseline), None)
    return (
        baseline is None
        or judge is baseline
        or (_differ(judge, baseline, found.differences) and _value(judge) > _value(baseline))
    )


def _describe_choice(
    price: float,
    pick: JudgeFigures,
    before: JudgeFigures | None,
    pool: Sequence[JudgeFigures],
    differences: Sequence[JudgeDifference],
) -> str:
    budget = f"Up to US$ {price:,.4f} per 1,000 claims" if price else "Without a budget"
    if pick is before:
        paid = [judge.name for judge in pool if _cost(judge) == price]
        verb = "is" if len(paid) == 1 else "are"
        return f"{budget}: still {pick.name}; {join_words(paid)} {verb} not shown to be better."
    if before is not None:
        return f"{budget}: {pick.name}, which is better than {before.name}."
    alike = [j.name for j in pool if j is not pick and not _differ(j, pick, differences)]
    if not alike:
        return f"{budget}: {pick.name}."
    return f"{budget}: {pick.name}, though not shown to be better than {join_words(alike)}."
