"""Shows how far people's labels let a judge be trusted: on a terminal, as Markdown and JSON."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec
from rich.console import Console

from claimwise.calibration.correction_text import (
    describe_correction,
    show_coefficient,
    show_share,
)
from claimwise.calibration.values import Calibrated, Calibration, MapFit, Status, Threshold
from claimwise.report.changes import name_slice
from claimwise.report.columns import Column, Writer
from claimwise.report.format import (
    clean,
    name_in_words,
    pluralize,
    show_count,
    show_exact_percent,
    show_number,
    show_percent,
    show_precisely,
)
from claimwise.report.markdown import escape, write_bullets, write_table

SCHEMA: Final = "claimwise.calibration/1"
_STYLES: Final[dict[Status, str]] = {
    "trusted": "bold green", "not trusted": "bold red", "unknown": "bold yellow"
}  # fmt: skip
READING: Final = (
    "Balanced accuracy is the mean of sensitivity (the share of supported claims that it calls "
    "supported) and specificity (the share of other claims that it doesn't): guessing gives 50%, "
    "whatever the claims. A score is the confidence of “supported”, or one minus the confidence of "
    "another verdict."
)


class FigureTable(NamedTuple):
    """A table in words: what it shows, its headers and its rows; the first columns are text."""

    title: str
    headers: tuple[str, ...]
    rows: list[list[str]]
    text: int = 1


def describe_status(one: Calibration) -> str:
    """Say in one line how far a judge is trusted, until when, and why."""
    until = one.expires_at.date().isoformat()
    return f"{one.status.capitalize()} until {until}: {clean(one.reason)}."


def describe_calibration_basis(one: Calibration) -> list[str]:
    """Say what a calibration rests on, and what is missing from it."""
    runs = ", ".join(map(clean, one.runs))
    lines = [
        f"{pluralize(one.claims, 'claim')} of {pluralize(one.items, 'item')} that people labelled "
        f"and it judged, in {runs or 'no run'}{_describe_left_out(one)}."
    ]
    if one.labelled_from and one.labelled_until:
        start, end = one.labelled_from.date(), one.labelled_until.date()
        lines.append(f"Labelled from {start} to {end}.")
    if one.weighted:
        lines.append(
            "Weighted: claims were drawn with unequal probabilities, so each counts for as many as "
            f"it was drawn from. Together they count as {show_count(one.effective_claims)} claims."
        )
    if one.unweighted_labels:
        lines.append(
            f"{pluralize(one.unweighted_labels, 'label')} without an inclusion probability: each "
            "counts once."
        )
    if one.waiting:
        lines.append(
            f"{pluralize(one.waiting, 'claim')} of rounds in which whole strata have no label yet: "
            "they wait, as another round is further."
        )
    if one.contested:
        lines.append(
            f"{pluralize(one.contested, 'claim')} on which people differ and nobody has "
            "adjudicated: the latest label counts."
        )
    return lines


def _describe_left_out(one: Calibration) -> str:
    counts = {"it could not judge": one.unscored, "it was never asked about": one.unjudged}
    told = [f"{words} {show_count(count)} more" for words, count in counts.items() if count]
    return f"; {' and '.join(told)}" if told else ""


def describe_people(one: Calibration) -> str:
    """Say how far people agree, and how the judge compares with them."""
    people = one.people
    if not people.claims:
        return "Agreement among people is unknown: no claim has labels of two people."
    return (
        f"On {pluralize(people.claims, 'claim')} that several people labelled: kappa among people "
        f"{show_coefficient(people.kappa)}, of the judge with each of them "
        f"{show_coefficient(people.instrument_kappa)}; difference {show_coefficient(people.gap)}."
    )


def describe_baseline(one: Calibration) -> str:
    """Say how counting words does on the same claims, which any judge should beat."""
    found = one.baseline
    if one.judgement != "grounded" or one.labeler.startswith("verifier:overlap"):
        return ""
    if found is None:
        return (
            "The word-overlap baseline judged none of these claims: claimwise verify --verifier "
            "overlap lets you compare."
        )
    return (
        f"Counting words ({clean(found.labeler)}) on {pluralize(found.claims, 'claim')} that both "
        f"judged: balanced accuracy {show_share(found.balanced_accuracy)}, the judge "
        f"{show_share(found.instrument)}."
    )


def describe_map(fit: MapFit | None) -> str:
    """Say which map was fitted, and what it does for claims that it has not seen."""
    if fit is None:
        return "No probability map: too few claims with a confidence, or of one kind only."
    kind = {
        "platt": f"Platt's (slope {show_number(fit.map.slope)}, offset "
        f"{show_number(fit.map.offset)})",
        "isotonic": f"isotonic ({pluralize(len(fit.map.points), 'level')})",
        "identity": "none: no map does better than the scores as they are",
    }[fit.map.kind]
    if fit.map.drop:
        kind += f", with {show_number(fit.map.drop)} off for verdicts other than supported"
    losses = ", ".join(f"{name} {show_precisely(value)}" for name, value in fit.log_loss.items())
    return (
        f"Probability map: {kind}. On held-out items the calibration error goes from "
        f"{show_precisely(fit.ece_before)} to {show_precisely(fit.ece_after)} (log loss: {losses})."
    )


def describe_threshold(one: Threshold) -> str:
    """Say from which score on to call a claim supported."""
    aim = one.aim if one.target is None else f"a precision of {show_percent(one.target)}"
    return (
        f"Best threshold for {aim}: score {show_precisely(one.value)}; on held-out items it gives "
        f"{show_percent(one.held_out)}."
    )


def describe_rule(one: Calibration) -> str:
    """Say by which rule the status was decided."""
    rule = one.rule
    return (
        f"Trusted: the {show_exact_percent(rule.confidence)} range of the balanced accuracy is "
        f"above {show_exact_percent(rule.level)}, the judge's kappa is at most {rule.margin:g} "
        f"below people's over its whole range, and people's could reach {rule.people_floor:g}. "
        f"Not trusted: the range is below {show_exact_percent(rule.level)}, or kappa is clearly "
        "further behind. "
        f"Otherwise, and with fewer than {rule.min_claims:,} claims: unknown."
    )


def tabulate(found: Calibrated) -> list[FigureTable]:
    """Return all tables of a calibration, in the order of the page."""
    one = found.overall
    tables = [tabulate_slices(found), tabulate_figures(one), tabulate_verdicts(one)]
    tables += [tabulate_matrix(one), tabulate_bins(one)]
    return [table for table in tables if table.rows]


def tabulate_slices(found: Calibrated) -> FigureTable:
    """Return the groups, worst first."""
    return FigureTable(
        "Groups, worst first",
        ("group", "status", "balanced accuracy", "kappa", "people's kappa", "claims", "not scored"),
        [
            [
                name_slice(one.slice),
                one.status,
                show_share(one.balanced_accuracy),
                show_number(one.kappa.value),
                show_number(one.people.kappa.value),
                show_count(one.claims),
                show_count(one.unscored),
            ]
            for one in found.slices
        ],
        text=3,
    )


def tabulate_figures(one: Calibration) -> FigureTable:
    """Return the figures of all claims."""
    rows = [
        ["balanced accuracy", show_share(one.balanced_accuracy)],
        ["sensitivity", show_share(one.sensitivity)],
        ["specificity", show_share(one.specificity)],
        ["same verdict as people", show_share(one.agreement)],
        ["kappa", show_coefficient(one.kappa)],
        ["calibration error of scores", show_coefficient(one.ece)],
        ["share people call supported", show_share(one.prevalence)],
    ]
    return FigureTable("Overall", ("figure", "value (range)"), rows, text=2)


def tabulate_verdicts(one: Calibration) -> FigureTable:
    """Return precision and recall of every verdict."""
    rows = [
        [
            name_in_words(row.verdict),
            show_count(row.said),
            show_count(row.told),
            show_share(row.precision),
            show_share(row.recall),
        ]
        for row in one.verdicts
    ]
    headers = ("verdict", "it said", "people said", "precision", "recall")
    return FigureTable("Verdict by verdict", headers, rows)


def tabulate_matrix(one: Calibration) -> FigureTable:
    """Return the confusion matrix: rows are the judge's verdicts, columns the people's."""
    rows = [
        [name_in_words(said), *(show_count(count) for count in given.values())]
        for said, given in one.matrix.items()
    ]
    headers = ("it said \\ people said", *map(name_in_words, one.matrix))
    return FigureTable("Claims by both verdicts", headers, rows if one.claims else [])


def tabulate_bins(one: Calibration) -> FigureTable:
    """Return the reliability table."""
    rows = [
        [
            f"{bin_.low:.1f} to {bin_.high:.1f}",
            show_count(bin_.claims),
            show_precisely(bin_.mean_score),
            show_share(bin_.observed),
        ]
        for bin_ in one.bins
    ]
    title = "Reliability: scores and the share that people call supported"
    if one.without_confidence:
        title += f" ({pluralize(one.without_confidence, 'claim')} without a confidence left out)"
    return FigureTable(title, ("score", "claims", "mean score", "supported"), rows)


def print_calibrated(found: Calibrated, console: Console) -> None:
    """Print a calibration."""
    writer, one = Writer(console), found.overall
    how = "against sources" if one.judgement == "grounded" else "without sources"
    writer.say(f"{clean(one.labeler)} (verdicts {how}) compared with people's labels", "bold")
    writer.say(describe_status(one), _STYLES[one.status])
    for line in _describe_whole(one):
        writer.say(line)
    for table in tabulate(found):
        writer.skip()
        writer.say(table.title, "bold")
        _put(writer, table)
    reasons = [f"{name_slice(row.slice)}: {clean(row.reason)}" for row in found.slices]
    if reasons:
        writer.skip()
    for reason in reasons:
        writer.say(reason, "dim", indent=2)
    writer.skip()
    for line in _describe_rest(found):
        writer.say(line)
    writer.skip()
    for line in (READING, describe_rule(one), describe_keeping(found)):
        writer.say(line, "dim")


def _describe_whole(one: Calibration) -> list[str]:
    lines = [*describe_calibration_basis(one), describe_people(one), describe_baseline(one)]
    return [line for line in lines if line]


def _put(writer: Writer, table: FigureTable) -> None:
    writer.put_columns([
        Column(header=header, cells=[row[number] for row in table.rows],
               right=number >= table.text, least=None if number else 10)
        for number, header in enumerate(table.headers)
    ])  # fmt: skip


def _describe_rest(found: Calibrated) -> list[str]:
    lines = [describe_map(found.overall.fit)]
    lines += [describe_threshold(one) for one in found.overall.thresholds]
    for corrected in found.corrected:
        lines.append(f"{describe_correction(corrected)}.")
        lines += [f"! {clean(note)}." for note in corrected.notes]
    return lines


def describe_keeping(found: Calibrated) -> str:
    """Say whether gates and reports will use it."""
    if not found.kept:
        return "Not kept (--dry-run)."
    until = found.overall.expires_at.date().isoformat()
    return (
        f"Kept: gates and reports use it until {until}, or until you calibrate again. It says "
        "nothing about other domains, another prompt or another model."
    )


def render_calibrated_markdown(found: Calibrated) -> str:
    """Write a calibration as GitHub-flavoured Markdown."""
    one = found.overall
    parts = [
        f"# Calibration of {escape(one.labeler)}",
        f"**{escape(describe_status(one))}**",
        write_bullets([escape(line) for line in _describe_whole(one)]),
    ]
    for table in tabulate(found):
        rows = [[escape(cell) for cell in row] for row in table.rows]
        parts += [
            f"## {escape(table.title)}",
            write_table(
                [escape(header) for header in table.headers], rows, text=tuple(range(table.text))
            ),
        ]
    reasons = [f"{name_slice(row.slice)}: {clean(row.reason)}" for row in found.slices]
    parts.append(write_bullets([escape(line) for line in (*reasons, *_describe_rest(found))]))
    parts += [READING, escape(describe_rule(one)), escape(describe_keeping(found))]
    return "\n\n".join(part for part in parts if part) + "\n"


def to_calibration_document(found: Calibrated) -> dict[str, Any]:
    """Return a calibration as plain values for JSON: docs/calibration.md names the fields."""
    return {"schema": SCHEMA, **msgspec.to_builtins(found)}
