"""What people's labels say of instruments and of the rates that rest on them, in words."""

from __future__ import annotations

from claimwise.agreement.values import Figure
from claimwise.calibration.headline import Headline
from claimwise.calibration.stratified import FEW_LABELS
from claimwise.calibration.values import CorrectedRate
from claimwise.report.format import (
    MISSING,
    clean,
    pluralize,
    show_percent,
    show_percent_range,
    show_ranged_number,
    show_rate,
)


def show_share(figure: Figure) -> str:
    """Write a share with its range, ``74% (67–81%)``, or why there is none."""
    if figure.value is None:
        return _show_missing(figure)
    return show_rate(figure.value, figure.low, figure.high)


def show_coefficient(figure: Figure) -> str:
    """Write a kappa or an error, which is a share of nothing: ``0.59 (0.33–0.75)``."""
    if figure.value is None:
        return _show_missing(figure)
    return show_ranged_number(figure.value, figure.low, figure.high)


def _show_missing(figure: Figure) -> str:
    return f"{MISSING} ({clean(figure.why)})" if figure.why else MISSING


def describe_correction(one: CorrectedRate) -> str:
    """Say what a run's rate is, corrected, beside what it looks like uncorrected."""
    name = "faithfulness" if one.judgement == "grounded" else "share of true claims"
    alone = f"; {clean(one.labeler)} alone says {show_share(one.instrument)}" if one.labeler else ""
    weighted = f", {clean(str(one.weighting))}" if one.weighting else ""
    before = f" and {one.earlier:,} from before it" if one.earlier else ""
    return (
        f"{clean(one.run_id)}: {name} {show_percent(one.value)}, range "
        f"{show_percent_range(one.low, one.high)} "
        f"(corrected by {pluralize(one.labels, 'label')} of people in round {one.round_id}"
        f"{before}, over {pluralize(one.claims, 'claim')}{weighted}){alone}; the labels as they "
        f"were drawn: {show_share(one.labels_only)}{_describe_choice(one)}"
    )


def describe_judged_parts(run_id: str, headline: Headline) -> str | None:
    """Say that the parts of a corrected rate are a judge's alone; None where nothing is corrected.

    Args:
        run_id: the run.
        headline: its one rate.
    """
    if headline.basis != "corrected":
        return None
    return (
        f"People's labels correct the one rate of {clean(run_id)}, {show_percent(headline.rate)}; "
        f"its other figures here are by {clean(headline.judge)} alone."
    )


def _describe_choice(one: CorrectedRate) -> str:
    """Say which of two ranges was taken, where few labels left a choice."""
    if one.labeler is None or one.other_width is None:
        return ""
    ways = [f"the verdicts of {clean(one.labeler)}", "the labels alone"]
    if one.range_from == "labels":
        ways.reverse()
    return (
        f"; with fewer than {FEW_LABELS} labels the narrower of two ranges counts: that from "
        f"{ways[0]}, {100 * (one.high - one.low):.0f} points wide ({ways[1]}: "
        f"{100 * one.other_width:.0f})"
    )
