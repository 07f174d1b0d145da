"""What the first screen about a run says in words, whatever its format; and as plain text."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

from claimwise.calibration.headline import Headline
from claimwise.calibration.headline_change import HeadlineChange
from claimwise.claims.values import ClaimRow
from claimwise.gates.report import describe_gate
from claimwise.report.format import (
    clean,
    clean_value,
    name_in_words,
    pluralize,
    show_count,
    show_exact_percent,
    show_percent,
    show_percent_range,
    show_points,
)
from claimwise.report.judges import describe_judge
from claimwise.report.screen import MARGIN, MOST_LINES, cut_line, wrap_lines, write_row
from claimwise.run_report.sentences import describe_group_basis, name_reason
from claimwise.run_report.values import Group, Summary
from claimwise.types.results import JudgeNote, MetricTable

WORST_CLAIMS: Final = 5
LEAST_ITEMS: Final = 5
"""Groups with fewer items are not ranked: their rates are mostly luck."""
SAMPLE: Final = 40  # claims that change a judge's rate into a corrected one
_MINUTES: Final = 15  # to label a sample
_WIDE: Final = 0.1  # a range from which on more labels are worth their time


def describe_run(summary: Summary) -> str:
    """Name the run, its system and its day."""
    run = summary.run
    parts = [run.get("system"), run.get("model"), run.get("prompt_ver")]
    day = (run.get("started_at") or "")[:10]
    known = [clean(part) for part in (*parts, day) if part]
    return " · ".join([clean(run.get("run_id")), *known])


def describe_rate(headline: Headline) -> str:
    """Say the rate, its range, and the hallucination rate that goes with it."""
    if headline.rate is None:
        return f"not measured: {clean(headline.why)}"
    rate = show_percent(headline.rate)
    band = (
        "no range"
        if headline.low is None
        else f"range {show_percent_range(headline.low, headline.high)}"
    )
    wrong = show_percent(1 - headline.rate)
    if headline.judgement == "closed_book":
        return f"{rate} of claims ({band}); {wrong} are false"
    return f"{rate} of claims ({band}), so the hallucination rate is {wrong}"


def describe_basis(headline: Headline) -> str:
    """Say whose labels the rate rests on, and what its range allows for."""
    told = name_basis(headline)
    if headline.basis == "people" and headline.unscored and headline.sampling_low is not None:
        return f"{told}; the range allows for the rest"
    if headline.basis == "judge_only" and headline.low is None:
        weighted = f"; {clean(str(headline.weighting))}" if headline.weighting else ""
        return f"judge only{weighted}; no range: {clean(headline.why)}"
    if headline.basis == "judge_only":
        return f"{told}; the range includes its error"
    return told


def name_basis(headline: Headline) -> str:
    """Say whose labels the rate rests on, and by what it is weighted."""
    told = _name_labels(headline)
    return f"{told}; {clean(str(headline.weighting))}" if headline.weighting else told


def _name_labels(headline: Headline) -> str:
    claims = pluralize(headline.asked, "claim")
    labelled = show_count(headline.people_labels)
    judge = clean(headline.judge) if headline.judge else "several judges"
    if headline.basis == "people":
        if not headline.unscored:
            return f"people labelled all {claims}"
        sampled = headline.sampling_low is None
        return f"people labelled {labelled} {'claims of a sample' if sampled else f'of {claims}'}"
    if headline.basis == "corrected":
        return (
            f"{judge} on {pluralize(headline.claims, 'claim')}, corrected by "
            f"{pluralize(headline.people_labels, 'label')} from people"
        )
    if headline.basis == "judge_only":
        return f"judge only ({judge})"
    return "no labels yet"


def describe_method(headline: Headline) -> str:
    """Say how the headline's range came about."""
    sure = show_exact_percent(headline.confidence)
    if headline.basis == "people":
        return (
            f"The range holds the rate that people would find in other answers of this kind, with "
            f"{sure} confidence; claims of one item count as one sample. Claims that nobody "
            "labelled could all be right or all be wrong: the range allows for both."
        )
    if headline.basis == "corrected":
        return (
            "The judge labelled every claim and people a random sample of them. The rate is the "
            f"judge's, corrected by what people said of the sample; the range has {sure} "
            "confidence and allows for both samples."
        )
    if headline.basis == "judge_only" and headline.low is not None:
        return (
            "The rate rests on a judge alone, so the range allows for its own error: how far "
            "its rate lay from people's on the labelled sets of its card (logit difference, "
            f"Student's t, {sure} confidence), widened by the sampling of items. Sampling alone "
            f"would say {show_percent_range(headline.sampling_low, headline.sampling_high)}."
        )
    if headline.basis == "judge_only":
        return (
            "A range needs to know how far the judge is from people, and nobody has measured "
            "that. Label some claims, and the rate is corrected and gets a range."
        )
    return "There is no rate without labels."


def describe_scale(
    rate: float, low: float | None, high: float | None, reference: float | None = None
) -> str:
    """Say in words what a plot of a rate shows."""
    parts = [show_percent(rate)]
    if low is not None and high is not None:
        parts.append(f"range {show_percent_range(low, high)}")
    if reference is not None:
        parts.append(f"overall {show_percent(reference)}")
    return ", ".join(parts)


def describe_change(change: HeadlineChange, *, names_since: bool = True) -> str:
    """Say how the rate moved since an earlier run, and whether that could be chance."""
    if change.change is None or change.low is None or change.high is None:
        return f"not comparable with run {clean(change.since)}, {clean(change.why)}"
    if change.low <= 0 <= change.high:
        verdict = "could be chance"
    else:
        verdict = "better" if change.change > 0 else "worse"
    by = f" by {clean(change.judge)} in both runs" if change.switched else ""
    since = f" since run {clean(change.since)}" if names_since else ""
    return (
        f"{show_points(change.change)} points ({show_points(change.low)} to "
        f"{show_points(change.high)}){by}{since}: {verdict}"
    )


def describe_gates(summary: Summary) -> str | None:
    """Say what became of the gates, the first that stops a build by name; None without gates."""
    if summary.gate_problem:
        return f"not applied: {clean(summary.gate_problem)}"
    if summary.gates is None:
        return None
    decisions = summary.gates.gates
    for outcome, word in (("fail", "failed"), ("inconclusive", "inconclusive")):
        found = [one for one in decisions if one.outcome == outcome]
        if found:
            return f"{len(found)} of {len(decisions)} {word}: {describe_gate(found[0])}"
    return f"all {len(decisions)} passed" if len(decisions) > 1 else "passed"


def name_group(group: Group) -> str:
    """Write a group: ``query_type = aggregation``."""
    return ", ".join(f"{clean(name)} = {clean_value(value)}" for name, value in group.slice.items())


def describe_group(group: Group) -> str:
    """Say a group's rate, its range and its size in one line."""
    mark = "; clearly worse" if group.clearly_worse else ""
    judged = " by judge" if group.judged else ""
    return (
        f"{show_percent(group.rate)}{judged} ({show_percent_range(group.low, group.high)}) "
        f"{name_group(group)}, {pluralize(group.items, 'item')}{mark}"
    )


def find_group_basis(summary: Summary) -> str | None:
    """Say by whose labels the worst groups are measured; None where the headline tells."""
    overall = summary.groups[0].overall if summary.groups else None
    return describe_group_basis(summary.headline, overall)


def describe_group_ranges(groups: Sequence[Group]) -> str:
    """Say what the ranges of groups allow for."""
    told = "Ranges are adjusted for all groups compared."
    if any(group.judged for group in groups):
        told += " They are by the judge alone, and its own error is not in them."
    return told


def describe_no_groups(summary: Summary) -> str:
    """Say why no group is listed."""
    if summary.headline.basis is None:
        return "not measured: needs labels"
    if summary.compared < 2:
        return f"not enough groups of {LEAST_ITEMS} items or more to compare"
    return "none: every group is as good as the whole run"


def describe_evidence(claim: ClaimRow) -> str:
    """Say what a verdict rests on: the reason, and the words of the source."""
    quote = f"“{clean(claim.evidence)}”" if claim.evidence else ""
    if quote and claim.source_name:
        quote = f"{clean(claim.source_name)}: {quote}"
    reason = clean(claim.reason) if claim.reason else ""
    return " — ".join(part for part in (reason, quote) if part) or "no evidence was recorded"


def describe_unscored(summary: Summary) -> str | None:
    """Say what has no verdict, and why; None where nothing is missing."""
    parts = []
    if summary.unscored:
        reasons = ", ".join(
            f"{show_count(count)} {name_reason(reason)}" for reason, count in summary.unscored
        )
        total = pluralize(sum(count for _, count in summary.unscored), "claim")
        parts.append(f"{total} ({reasons})")
    if summary.failed_answers:
        parts.append(pluralize(summary.failed_answers, "failed answer"))
    if summary.answers_without_claims:
        parts.append(f"{pluralize(summary.answers_without_claims, 'answer')} not split into claims")
    return "; ".join(parts) or None


def suggest_next(headline: Headline, run_id: str | None) -> tuple[str, str] | None:
    """Return what would make the rate more certain, and its command; None when little would."""
    run = shlex.quote(run_id or "RUN")
    closed = " --closed-book" if headline.judgement == "closed_book" else ""
    annotate = f"claimwise annotate --run {run}{closed}"
    if headline.basis is None:
        return "Judge the claims", f"claimwise verify --run {run}"
    if headline.basis == "judge_only":
        if headline.asked <= SAMPLE:
            return f"Label the {pluralize(headline.asked, 'claim')}", annotate
        told = f"Label {SAMPLE} claims, about {_MINUTES} minutes"
        return told, f"{annotate} --size {SAMPLE}"
    if headline.basis == "people" and headline.unscored:
        return f"Label the other {pluralize(headline.unscored, 'claim')}", annotate
    if headline.width > _WIDE and headline.basis == "corrected":
        return f"Label {SAMPLE} more claims, about {_MINUTES} minutes", annotate
    return None


def describe_next(headline: Headline, run_id: str | None) -> str | None:
    """Say in one line what would make the rate more certain; None when little would."""
    step = suggest_next(headline, run_id)
    return f"{step[0]}: {step[1]}" if step else None


def describe_headline(
    headline: Headline,
    judges: Sequence[JudgeNote],
    tables: Sequence[MetricTable],
    run_id: str | None,
) -> list[tuple[str, str]]:
    """List what stands wherever a run's rate does: basis, judges, and what would help most.

    The judges are those of the tables; each says for which of them, unless it is the rate's own.
    """
    told = []
    for judge in judges:
        titles = [name_in_words(table.title) for table in tables if judge.labeler in table.judges]
        if titles:
            told.append(describe_judge(judge, () if judge.labeler == headline.judge else titles))
    found: list[tuple[str, str | None]] = [
        (name_headline(headline), describe_rate(headline)),
        ("Basis", None if headline.rate is None else describe_basis(headline)),
        *(("Judge", text) for text in told),
        ("Next", describe_next(headline, run_id)),
    ]
    return [(name, text) for name, text in found if text]


def name_headline(headline: Headline) -> str:
    """Return what the headline is the rate of."""
    return "True" if headline.judgement == "closed_book" else "Supported"


def name_commands(summary: Summary) -> list[str]:
    """List the commands that show the rest."""
    run = "" if summary.latest else f" --run {shlex.quote(summary.run.get('run_id') or 'RUN')}"
    options = f"{run}{_name_store(summary)}"
    return [f"claimwise claims{options}", f"claimwise report{options} --full"]


def _name_store(summary: Summary) -> str:
    return f" --store {shlex.quote(summary.store)}" if summary.store else ""


def describe_facts(summary: Summary) -> list[tuple[str, str]]:
    """List what the screen says before groups and claims, each with its name."""
    found: list[tuple[str, str | None]] = [
        (name_headline(summary.headline), describe_rate(summary.headline)),
        ("Basis", None if summary.headline.rate is None else describe_basis(summary.headline)),
        ("Change", describe_change(summary.change) if summary.change else None),
        ("Gates", describe_gates(summary)),
    ]
    return [(name, text) for name, text in found if text]


def describe_rest(summary: Summary) -> list[tuple[str, str]]:
    """List what the screen says after the claims: what is missing, who judged, what would help."""
    found: list[tuple[str, str | None]] = [("Not scored", describe_unscored(summary))]
    found += [("Warning", clean(warning)) for warning in summary.warnings]
    if summary.judges:
        found.append(("Judge", describe_judge(summary.judges[0])))
    step = describe_next(summary.headline, summary.run.get("run_id"))
    if step and summary.writable:
        found.append(("Next", f"{step}{_name_store(summary)}"))
    return [(name, text) for name, text in found if text]


def format_summary(summary: Summary, width: int = 80) -> str:
    """Write one screen about a run as plain text: at most 25 lines, however much there is to say.

    Where the other lines take more room than usual, fewer of the worst claims are listed.
    """
    room = max(20, width - MARGIN)
    head = write_row("Run", [cut_line(describe_run(summary), room)])
    for name, text in describe_facts(summary):
        head += write_row(name, wrap_lines(text, room))
    groups = [cut_line(describe_group(group), room) for group in summary.groups]
    groups += wrap_lines(find_group_basis(summary) or "", room) if groups else []
    head += write_row("Worst groups", groups or [cut_line(describe_no_groups(summary), room)])
    tail: list[str] = []
    for name, text in describe_rest(summary):
        tail += write_row(name, wrap_lines(text, room))
    tail += write_row("More", wrap_lines(" · ".join(name_commands(summary)), room))
    fit = min(WORST_CLAIMS, max(0, (MOST_LINES - 1 - len(head) - len(tail)) // 2))
    return "\n".join([*head, *_write_claims(summary, fit, width), *tail])


def _write_claims(summary: Summary, most: int, width: int) -> list[str]:
    """Write the worst claims, two lines each, across the whole width."""
    claims = summary.claims[:most]
    if not claims:
        none = summary.headline.basis is not None and not summary.unsupported
        return write_row("Worst claims", ["none: every judged claim is supported"]) if none else []
    lines = [f"Worst claims  {len(claims)} of {show_count(summary.unsupported)} not supported"]
    for claim in claims:
        lines.append(cut_line(f"  {claim.word}: “{clean(claim.claim_text)}”", width))
        lines.append(cut_line(f"    {describe_evidence(claim)}", width))
    return lines
