"""Says what a window's estimate is, what it rests on, and what to do next."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, time
from typing import Any, Final

import numpy as np

from claimwise.estimates.queries import Period, WindowData
from claimwise.estimates.window import (
    LEAST_CLUSTERS,
    LEAST_RARE,
    WindowEstimate,
    estimate_table,
)
from claimwise.report.format import (
    clean,
    pluralize,
    show_count,
    show_exact_percent,
    show_percent,
    show_percent_range,
    show_points,
)

SCHEMA: Final = "claimwise.estimate.v1"
WIDE: Final = 0.05  # a range that more labels should narrow
_FEWEST_TO_LABEL: Final = 20
_MOST_TO_LABEL: Final = 500  # more than that is no next step


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowReport:
    """A window's estimate with what it rests on."""

    data: WindowData
    estimate: WindowEstimate
    agreement: float | None  # of judge and people on the labelled claims, weighted
    next_labels: int | None  # how many more to label; None: enough


def report_window(data: WindowData, *, confidence: float = 0.95, seed: int = 0) -> WindowReport:
    """Estimate a window, and say how far judge and people agree and how many labels are missing."""
    estimate = estimate_table(
        data.table,
        confidence=confidence,
        seed=seed,
        unscored=data.unscored,
        unscored_weight=data.unscored_weight,
        barred=data.barred,
    )
    table = data.table
    agreement = None
    if len(table.rows):
        agreed = table.approved[table.rows] == table.told
        agreement = float(np.average(agreed, weights=table.stands))
    return WindowReport(
        data=data,
        estimate=estimate,
        agreement=agreement,
        next_labels=_plan_labels(data, estimate),
    )


def _plan_labels(data: WindowData, found: WindowEstimate) -> int | None:
    """Return how many more labels would allow a correction, or narrow the range to `WIDE`.

    None for a window that is too small for one, however many of its claims are labelled.

    The part of the range that labels cause shrinks with their number; the rest is that of the
    traffic itself, as the judge's own range shows it.
    """
    if not found.claims or found.clusters < LEAST_CLUSTERS:
        return None
    if found.basis == "corrected":
        width, floor = found.width or 0.0, (found.judge_high or 0.0) - (found.judge_low or 0.0)
        if width <= WIDE or floor >= WIDE:
            return None
        more = found.labels * ((width**2 - floor**2) / (WIDE**2 - floor**2) - 1)
    else:
        rare = int(min(data.table.told.sum(), (~data.table.told).sum())) if found.labels else 0
        share = max(rare, 1) / max(found.labels, LEAST_CLUSTERS)
        more = max(LEAST_CLUSTERS - found.labelled_clusters, (LEAST_RARE - rare) / share)
    if not 0 < more <= _MOST_TO_LABEL:  # something else is missing: the reasons say what
        return None
    return min(max(10 * math.ceil(more / 10), _FEWEST_TO_LABEL), found.claims)


def format_report(report: WindowReport) -> list[str]:
    """Return the report as lines of text, the answer first."""
    data, found = report.data, report.estimate
    lines = [_describe_window(data), ""]
    if not found.claims and not found.unscored:
        return [
            *lines,
            "No claims in this window. Ingest its traffic, then `claimwise traffic judge`.",
        ]
    lines += [f"  {line}" for line in _describe_rate(report)]
    lines += ["", *(f"  {line}" for line in _describe_basis(report))]
    if found.refusals:
        lines += ["", "  Not corrected, because", *(f"    {one}" for one in found.refusals)]
    step = describe_next_step(report)
    return [*lines, "", f"  Next: {step}"] if step else lines


def _describe_window(data: WindowData) -> str:
    system = f" · {clean(data.system)}" if data.system else ""
    period = data.period
    return (
        f"{period.name[:1].upper()}{period.name[1:]} ({show_window_time(period.start)} to "
        f"{show_window_time(period.until)} UTC){system} · {pluralize(data.answers, 'answer')}, "
        f"{pluralize(len(data.table.scores) + data.unscored, 'claim')}"
    )


def show_window_time(moment: datetime) -> str:
    """Write a moment: a day where it is the beginning of one."""
    return f"{moment:%Y-%m-%d}" if moment.time() == time() else f"{moment:%Y-%m-%d %H:%M}"


def _describe_rate(report: WindowReport) -> Iterator[str]:
    found = report.estimate
    if found.basis == "none":
        yield "No rate: too few human labels to say how far the judge can be believed."
    else:
        labels = pluralize(found.labels, "human label")
        how = {
            "corrected": f"the judge on every claim, corrected by {labels}",
            "labels_only": f"labels only: {labels}, weighted",
        }[found.basis]
        yield (
            f"{show_percent(found.rate)} of claims supported "
            f"({show_percent_range(found.low, found.high)}): {how}."
        )
        yield (
            f"Hallucination rate {show_percent(1 - (found.rate or 0))} "
            f"({show_percent_range(1 - (found.high or 0), 1 - (found.low or 0))}). "
            f"Ranges hold with {show_exact_percent(found.confidence)} confidence."
        )
    if found.judge_only is not None:
        gap = ""
        if found.rate is not None and round(1000 * (found.judge_only - found.rate)):
            gap = f", {show_points(found.judge_only - found.rate)} points from the rate above"
        yield f"Judge only: {show_percent(found.judge_only)}{gap}."


def _describe_basis(report: WindowReport) -> Iterator[str]:
    data, found = report.data, report.estimate
    if data.judge is not None:
        parts = [clean(data.judge.labeler)]
        parts += [f"prompt {clean(data.judge.prompt_ver)}"] if data.judge.prompt_ver else []
        parts += [f"model {clean(data.judge.model)}"] if data.judge.model else []
        agreed = ""
        if report.agreement is not None:
            agreed = f"; agrees with people on {show_percent(report.agreement)} of labelled claims"
        yield f"Judge:    {', '.join(parts)}{agreed}"
    if found.labels:
        given = sorted(one.labeled_at for one in data.labels)
        yield (
            f"Labels:   {show_count(found.labels)} in {show_count(found.labelled_clusters)} of "
            f"{show_count(found.clusters)} {_name_clusters(data.cluster)}, "
            f"given {_show_days(given)}"
        )
    if found.unused_labels:
        yield (
            f"          {pluralize(found.unused_labels, 'label')} left out: nobody knows how "
            "likely those claims were to be chosen"
        )
    if found.unscored:
        yield _describe_unscored(report)


def _name_clusters(cluster: str) -> str:
    return {"document": "documents", "conversation": "conversations", "item": "answers"}.get(
        cluster, f"clusters ({clean(cluster)})"
    )


def _show_days(moments: Sequence[datetime]) -> str:
    first, last = f"{moments[0]:%Y-%m-%d}", f"{moments[-1]:%Y-%m-%d}"
    return f"on {first}" if first == last else f"{first} to {last}"


def _describe_unscored(report: WindowReport) -> str:
    data, found = report.data, report.estimate
    why = [f"{show_count(count)} {clean(reason)}" for reason, count in sorted(data.reasons.items())]
    why += [f"{show_count(data.not_judged)} not judged yet"] if data.not_judged else []
    reach = ""
    if found.unscored_low is not None:
        reach = (
            "; whatever they are, the rate of all claims is "
            f"{show_percent_range(found.unscored_low, found.unscored_high)}"
        )
    reasons = f" ({', '.join(why)})" if why else ""
    return f"Unscored: {show_percent(found.unscored_share)} of claims{reasons}{reach}"


def describe_next_step(report: WindowReport) -> str | None:
    """Say what to do next; None where nothing is missing."""
    found = report.estimate
    if not found.claims:
        return "judge the window's claims: claimwise traffic judge" if found.unscored else None
    if found.clusters < LEAST_CLUSTERS:
        return (
            f"choose a longer --window: a correction needs labels in {LEAST_CLUSTERS} "
            f"{_name_clusters(report.data.cluster)}, and this one has {found.clusters}"
        )
    if report.next_labels is None:
        return None
    purpose = (
        f"to narrow the range to about {100 * WIDE:.0f} points"
        if found.basis == "corrected"
        else "to correct the judge"
    )
    return f"label {report.next_labels} more claims {purpose}: {_write_command(report)}"


def _write_command(report: WindowReport) -> str:
    system, option = report.data.system, report.data.period.option
    parts = [f"claimwise label-next {report.next_labels}"]
    parts += [f"--window {option}"] if option != "7d" else []
    parts += [f"--system {shlex.quote(clean(system))}"] if system else []
    return " ".join(parts)


def to_document(report: WindowReport) -> dict[str, Any]:
    """Return a report as plain values, ready for JSON."""
    data, found = report.data, report.estimate
    given = sorted(one.labeled_at for one in data.labels)
    return {
        "schema": SCHEMA,
        "window": to_period_document(data.period),
        "system": data.system,
        "runs": [run.run_id for run in data.runs],
        "answers": data.answers,
        "headline": {
            "judgement": "grounded",
            "basis": found.basis,
            "rate": found.rate,
            "low": found.low,
            "high": found.high,
            "confidence": found.confidence,
            "claims": found.claims,
            "asked": found.claims + found.unscored,
            "unscored": found.unscored,
            "judge": data.judge.labeler if data.judge else None,
            "people_labels": found.labels,
        },
        "estimate": {**asdict(found), "width": found.width},
        "judge": None if data.judge is None else data.judge._asdict(),
        "agreement": report.agreement,
        "cluster": data.cluster,
        "labelled_from": given[0].isoformat() if given else None,
        "labelled_until": given[-1].isoformat() if given else None,
        "unscored_reasons": {
            **data.reasons,
            **({"not_judged": data.not_judged} if data.not_judged else {}),
        },
        "refusals": list(found.refusals),
        "next_labels": report.next_labels,
        "next": describe_next_step(report),
    }


def to_period_document(period: Period) -> dict[str, str]:
    """Return a window as plain values."""
    return {
        "name": period.name, "start": period.start.isoformat(), "until": period.until.isoformat(),
    }  # fmt: skip
