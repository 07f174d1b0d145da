"""What people's labels say of instruments and of the rates that rest on them, in words."""

from __future__ import annotations

from claimwise.report.format import (
    MISSING,
    clean,
    pluralize,
    show_interval,
    show_rate,
)
from claimwise.report.probabilities import describe_probabilities
from claimwise.run_report.values import Report
from claimwise.types.agreeing import Figure
from claimwise.types.calibrating import CorrectedRate


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


def describe_trust(report: Report) -> list[str]:
    """Say how each instrument of a report stands, and what its rates are when corrected."""
    lines = [
        f"{clean(one.labeler)}, by its calibration: {clean(one.calibration)}."
        for one in report.instruments
        if one.calibration
    ]
    lines += [f"{line}." for line in describe_probabilities(report.probabilities)]
    for corrected in report.corrected:
        lines.append(f"{describe_correction(corrected)}.")
        lines += [f"{clean(note)[:1].upper()}{clean(note)[1:]}." for note in corrected.notes]
    return lines
