"""What every report says in words, whatever its format."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from claimwise.calibration.correction_text import describe_correction
from claimwise.calibration.headline import METRIC_OF, Headline
from claimwise.calibration.probability_text import describe_probabilities
from claimwise.report.format import (
    MISSING,
    clean,
    count_compared,
    is_measured,
    join_words,
    member_of,
    name_in_words,
    overall_of,
    pluralize,
    show_count,
    show_difference,
    show_exact_percent,
    show_number,
    show_percent,
    show_percent_range,
    show_rate,
    slice_name,
)
from claimwise.run_report.values import Report, Worst
from claimwise.types.results import Estimate, JudgeSummary, MetricTable, Settings

_RUN_FIELDS: Final = {
    "system": "system",
    "model": "model",
    "prompt_ver": "prompt",
    "retriever_ver": "retriever",
    "corpus_ver": "corpus",
    "started_at": "started",
}

_KINDS: Final = {"human": "person", "verifier": "judge"}
_REASONS: Final = {"no_label": "not judged", "": "no verdict"}
_LABEL_POLICIES: Final = {
    "default": "Each rate counts people's labels or a judge's, never both.",
    "human": "Labels: people only.",
    "verifier": "Labels: judges only.",
}

READING: Final = (
    "A rate counts every claim once (micro); macro is the mean of the items' own rates. Bounds say "
    "where the rate would lie if everything unscored counted against it, or for it. Groups come "
    "worst first, and their ranges are adjusted for all groups of the table: they hold together. "
    "The worst group of a metric is the one most clearly worse than average."
)
READING_PLOTS: Final = (
    "Plots run from 0% to 100%. Thin line: adjusted range; thick line: plain range; vertical "
    "line: overall rate."
)


def describe_report_run(report: Report) -> list[tuple[str, str]]:
    """List what is known of the run, by name."""
    run = dict(report.run)
    if started := run.get("started_at"):
        run["started_at"] = f"{started[:19]} UTC"  # stores keep all times in UTC
    known = [(name, clean(run[key])) for key, name in _RUN_FIELDS.items() if run.get(key)]
    others = [
        (clean(key), clean(value))
        for key, value in report.run.items()
        if key not in _RUN_FIELDS and key != "run_id" and value
    ]
    return known + others


def describe_settings(settings: Settings) -> str:
    """Say in one line how the figures were made."""
    method = settings.method
    if method.startswith("bootstrap"):
        method += f", {pluralize(settings.resamples, 'resample')}, seed {settings.seed}"
    confidence = show_exact_percent(settings.confidence)
    return f"{confidence} ranges over items ({method}). {describe_policy(settings)}"


def describe_policy(settings: Settings) -> str:
    """Say in a sentence whose labels rates count."""
    kind, _, name = settings.labels.partition(":")
    return _LABEL_POLICIES.get(kind) or f"Labels: {clean(name)} only."


@dataclass(frozen=True, kw_only=True, slots=True)
class WorstText:
    """The worst slice of a metric in words, in parts that a format may set apart."""

    row: Estimate
    stands_out: bool
    metric: str
    rate: str
    interval: str
    where: str
    basis: str
    overall: str
    reference: float | None
    judgement: str
    explanation: str

    def __str__(self) -> str:
        return (
            f"{self.metric} {self.rate} ({self.interval}) in {self.where}; overall {self.overall}"
        )


def describe_worst(report: Report) -> list[WorstText]:
    """Put the worst slice of each metric in words, the one to lead with first."""
    tables = {table.metric: table for table in report.tables}
    return [
        _describe_one(worst, tables[worst.estimate.metric], report.headline)
        for worst in report.worst
        if worst.estimate.metric in tables
    ]


def _describe_one(worst: Worst, table: MetricTable, headline: Headline) -> WorstText:
    row = worst.estimate
    member = member_of(row, table.series)
    compared = pluralize(count_compared(table), "comparison")
    basis = (
        f"{pluralize(row.items, 'item')}, {pluralize(row.claims, table.unit)}; adjusted for "
        f"{compared}"
    )
    told = [_explain(worst, table), *_explain_basis(worst, headline)]
    return WorstText(
        row=row,
        stands_out=worst.stands_out,
        metric=name_in_words(member or table.title),
        rate=show_percent(row.micro),
        interval=show_percent_range(row.simultaneous_low, row.simultaneous_high),
        where=slice_name(row, table.series),
        basis=basis,
        overall=show_percent(worst.overall),
        reference=worst.overall,
        judgement="clear" if worst.stands_out else "possibly chance",
        explanation=" ".join([*told, f"Measured on {basis}."]),
    )


def _explain(worst: Worst, table: MetricTable) -> str:
    """Say whether a worst slice differs from the whole by more than chance."""
    if worst.stands_out:
        return "Clearly worse than overall: the range excludes the overall rate."
    start = "Possibly chance: the range includes the overall rate"
    clear = _find_standouts(table, worst)
    if not clear:
        return f"{start}, and no other group is clearly worse."
    names = "; ".join(
        f"{slice_name(row, table.series)} "
        f"{show_rate(row.micro, row.simultaneous_low, row.simultaneous_high)}"
        for row in clear
    )
    return f"{start}. Clearly worse: {names}."


def _explain_basis(worst: Worst, headline: Headline) -> list[str]:
    """Say by whose labels a worst slice is measured where its whole is not the run's headline."""
    if worst.estimate.metric != METRIC_OF[headline.judgement]:
        return []
    told = describe_group_basis(headline, worst.overall)
    return [f"{told[:1].upper()}{told[1:]}."] if told else []


def _find_standouts(table: MetricTable, worst: Worst) -> list[Estimate]:
    """Return the slices whose simultaneous interval lies wholly on the bad side of the whole."""
    member = member_of(worst.estimate, table.series)
    return [
        row
        for row in table.slices
        if member_of(row, table.series) == member and is_clearly_worse(row, worst.overall)
    ]


def is_clearly_worse(row: Estimate, overall: float | None) -> bool:
    """Return whether a slice is worse than the whole by more than chance."""
    low, high = row.simultaneous_low, row.simultaneous_high
    if overall is None or low is None or high is None or row.better is None:
        return False
    return high < overall if row.better == "higher" else low > overall


def describe_group_basis(headline: Headline, overall: float | None) -> str | None:
    """Say by whose labels groups are measured, and what those say of the whole run.

    None where that is the run's own rate, which stands beside: then nothing needs explaining.

    Args:
        headline: the run's rate.
        overall: the whole run's rate by the labels that the groups count.
    """
    if overall is None or headline.rate is None:
        return None
    rate = show_percent(overall)
    if rate == show_percent(headline.rate):
        return None
    word = "true" if headline.judgement == "closed_book" else "supported"
    if headline.basis == "corrected":
        return (
            f"by {clean(headline.judge)} alone, which calls {rate} of all claims {word}: people's "
            "labels correct only the rate of the whole run"
        )
    return (
        f"by the labels as people gave them, {rate} of which are {word}: only the rate of the "
        "whole run allows for how claims were drawn"
    )


def no_worst(report: Report) -> str:
    """Say why there is no worst slice."""
    if not report.by:
        return "none: the run was not grouped (--by names columns)."
    return f"not enough groups to compare by {', '.join(map(clean, report.by))}."


@dataclass(frozen=True, kw_only=True, slots=True)
class Gap:
    """What of one metric went unscored, and what that could change."""

    title: str
    row: Estimate


def find_gaps(report: Report) -> list[Gap]:
    """List the overall rates that leave something unscored."""
    gaps = []
    for table in report.tables:
        for row in table.overall:
            if row.unscored and (table.series is None or row.better is not None):
                title = member_of(row, table.series) or table.title
                gaps.append(Gap(title=name_in_words(title), row=row))
    return gaps


def describe_unscored_claims(report: Report) -> str:
    """Say how many claims have no verdict, and why."""
    if not report.unscored:
        return "All claims judged."
    count = sum(row.numerator for row in report.unscored)
    asked = max(row.asked for row in report.unscored)
    reasons = ", ".join(
        f"{show_count(row.numerator)} {slice_reason(row)}" for row in report.unscored
    )
    return f"{show_count(count)} of {pluralize(asked, 'claim')} without a verdict ({reasons})."


def slice_reason(row: Estimate) -> str:
    """Return why the claims of a row went unscored."""
    return ", ".join(name_reason(value or "") for value in row.slice.values()) or "unknown reason"


def name_reason(reason: str) -> str:
    """Return a reason for which claims were not scored, as people say it."""
    return _REASONS.get(reason) or clean(reason).replace("_", " ")


def describe_answers(report: Report) -> str:
    """Say how many answers are missing or unsplit; nothing where none is."""
    parts = []
    if report.failed_answers:
        parts.append(pluralize(report.failed_answers, "failed answer"))
    if report.answers_without_claims:
        parts.append(f"{pluralize(report.answers_without_claims, 'answer')} not split into claims")
    return f"{'; '.join(parts)}." if parts else ""


def describe_unmeasured(tables: Sequence[MetricTable]) -> str:
    """List the metrics that have no rate, and what they need for one; empty when all have one."""
    return ", ".join(
        f"{name_in_words(table.title)}{_explain_unmeasured(table)}"
        for table in tables
        if not is_measured(table)
    )


def _explain_unmeasured(table: MetricTable) -> str:
    asked = max((row.asked for row in table.overall), default=0)
    told = [f"{pluralize(asked, table.unit)} asked, none scored"] if asked else []
    if table.needs:
        told.append(f"needs {join_words(table.needs)}")
    return f" ({'; '.join(told)})" if told else ""


def describe_counts(row: Estimate, unit: str, *, bounds: bool = True) -> str:
    """Say what a rate rests on, and what is missing from it; what adds nothing is left out."""
    text = f"{pluralize(row.items, 'item')}, {pluralize(row.claims, unit)}"
    if row.scored != row.claims:  # such as claims that are neither true nor false
        text += f" of {show_count(row.scored)} scored"
    if not row.unscored:
        return text
    text += f"; {show_count(row.unscored)} unscored"
    shown = show_percent_range(row.bound_low, row.bound_high)
    return f"{text}, bounds {shown}" if bounds else text


def describe_precision(row: Estimate) -> str:
    """Say the mean of items, how far claims cluster, and how small a difference could be seen."""
    parts = [f"macro {show_rate(row.macro, row.macro_low, row.macro_high)}"]
    if row.design_effect is not None:
        parts.append(f"design effect {show_number(row.design_effect)}")
    if row.icc is not None:
        parts.append(f"ICC {show_number(row.icc)}")
    if row.detectable_difference is not None:
        seen = show_difference(row.detectable_difference)
        parts.append(f"smallest detectable difference {seen} points")
    return ", ".join(parts)


def name_kind(instrument: JudgeSummary) -> str:
    """Say whether a labeler is a person or a judge."""
    return _KINDS.get(instrument.kind, clean(instrument.kind))


def describe_judge_summary(instrument: JudgeSummary) -> str:
    """Say what a judge is made of; people are made of nothing that we keep."""
    parts = [
        instrument.model and clean(instrument.model),
        instrument.prompt_ver and f"prompt {clean(instrument.prompt_ver)}",
        instrument.version and f"version {clean(instrument.version)}",
    ]
    return ", ".join(part for part in parts if part) or MISSING


def describe_slices(table: MetricTable) -> str:
    """Say how many groups follow, and in which order where there is a better and a worse."""
    count = count_compared(table)
    ranked = count > 1 and any(row.better for row in table.slices)
    return f"{pluralize(count, 'group')}{', worst first' if ranked else ''}"


def describe_slice_bounds(rows: Sequence[Estimate]) -> str:
    """Say what the unscored could make of slices that have some; nothing where none has."""
    parts = [
        f"{slice_name(row)} {show_percent_range(row.bound_low, row.bound_high)}"
        for row in rows
        if row.unscored
    ]
    return f"Bounds of groups with unscored claims: {'; '.join(parts)}" if parts else ""


def describe_meaning(table: MetricTable) -> str:
    """Return what a metric means, as a sentence."""
    text = clean(table.meaning).rstrip(".")
    return f"{text[:1].upper()}{text[1:]}."


def describe_labels(table: MetricTable, headline: Headline | None = None) -> str:
    """Say whose labels a metric counts; nothing where it counts none.

    A judge's own rate is not the run's where people's labels correct it: that one stands beside.
    """
    if table.basis is None:
        return ""
    if table.basis == "people":
        return "By people."
    judges = [clean(judge) for judge in table.judges]
    who = join_words(["people", *judges]) if table.people else f"{join_words(judges)} alone"
    told = f"By {who}; ranges leave out the judge's own error."
    corrects = headline and headline.basis == "corrected"
    if not headline or not corrects or METRIC_OF[headline.judgement] != table.metric:
        return told
    rate = show_rate(headline.rate, headline.low, headline.high)
    return f"{told} Corrected by people's labels it is {rate}."


def find_reference(table: MetricTable, row: Estimate) -> float | None:
    """Return the overall rate that a slice is compared with."""
    whole = overall_of(table, member_of(row, table.series))
    return whole.micro if whole else None


def reproduce(report: Report) -> list[tuple[str, str]]:
    """List commands that give the report's figures again, each with what it does."""
    run = shlex.quote(report.run.get("run_id") or "RUN")
    store = f"--store {shlex.quote(report.store)}"
    options = _settings_options(report.settings)
    by = shlex.quote(",".join(report.by))
    return [
        (f"claimwise metrics --run {run} --by {by}{options} {store}", "the figures"),
        ("claimwise sql faithfulness", "the SQL behind one of them"),
        (f"claimwise sql faithfulness --run {run} {store}", "its counts, item by item"),
    ]


def _settings_options(settings: Settings) -> str:
    base = Settings()
    given = {
        "--interval": (settings.method, base.method),
        "--confidence": (settings.confidence, base.confidence),
        "--labels": (settings.labels, base.labels),
    }
    if settings.method.startswith("bootstrap"):
        given["--resamples"] = (settings.resamples, base.resamples)
        given["--seed"] = (settings.seed, base.seed)
    return "".join(
        f" {name} {shlex.quote(str(value))}"
        for name, (value, usual) in given.items()
        if value != usual
    )


def describe_trust(report: Report) -> list[str]:
    """Say how far each judge of a report can be trusted, and what its corrected rates are."""
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
