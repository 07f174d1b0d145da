"""What people's labels say of instruments and of the rates that rest on them, in words."""

from __future__ import annotations

from claimwise.agreement.values import Figure
from claimwise.calibration.values import CorrectedRate
from claimwise.report.format import MISSING, clean, pluralize, show_interval, show_rate


def show_figure(figure: Figure) -> str:
    """Write a figure with its interval, or why there is none."""
    if figure.value is None:
        return f"{MISSING} ({clean(figure.why)})" if figure.why else MISSING
    band = "" if figure.low is None else f" {show_interval(figure.low, figure.high)}"
    return f"{show_rate(figure.value)}{band}"


def describe_correction(one: CorrectedRate) -> str:
    """Say what a run's rate is, corrected, beside what it looks like uncorrected."""
    name = "faithfulness" if one.judgement == "grounded" else "share of true claims"
    alone = (
        f"; {clean(one.labeler)} alone says {show_figure(one.instrument)}" if one.labeler else ""
    )
    before = f" and {one.earlier:,} from before it" if one.earlier else ""
    return (
        f"{clean(one.run_id)}: {name} {show_rate(one.value)} {show_interval(one.low, one.high)} "
        f"(corrected by {pluralize(one.labels, 'label')} of people in round {one.round_id}"
        f"{before}, over {pluralize(one.claims, 'claim')}){alone}; the labels as they were drawn: "
        f"{show_figure(one.labels_only)}"
    )
