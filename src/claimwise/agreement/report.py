"""Shows how far people agree: on a terminal, as Markdown and JSON.

`list_tables` makes the tables of every format, and of the app's page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from rich.console import Console

from claimwise.agreement.coefficients import NO_OVERLAP, ONE_VERDICT
from claimwise.agreement.people import USABLE, advise_on, is_prevalence_trap
from claimwise.agreement.values import Agreement, DisputedClaim, Figure, VerdictPair
from claimwise.report.changes import name_slice
from claimwise.report.columns import Column, Writer
from claimwise.report.format import (
    MISSING,
    clean,
    name_in_words,
    pluralize,
    show_count,
    show_exact_percent,
    show_number,
    show_percent,
    show_percent_range,
)
from claimwise.report.markdown import escape, write_bullets, write_table
from claimwise.types.verdicts import CHOICES

FORMAT: Final = 1  # of the JSON; a field that changes its meaning raises it
READING: Final = (
    "Raw agreement: how often two people give the same verdict. Kappa and alpha subtract what "
    "chance alone would give, from how often each verdict is given; AC1 does so in a way that one "
    "frequent verdict doesn't distort. Same: if one person gives this verdict, the chance that "
    "another does too."
)
MATRIX_TITLE: Final = "Pairs of labels by verdict"
DISPUTES_TITLE: Final = "Where people differ, most frequent pair first"
_RANGE: Final = "range"
_MOST_CLAIMS: Final = 5
_MOST_SLICES: Final = 15


class TitledTable(NamedTuple):
    """A table with its title; ``text`` are the columns of words, ``notes`` what stands below."""

    title: str
    headers: tuple[str, ...]
    rows: list[list[str]]
    text: tuple[int, ...] = (0,)
    notes: tuple[str, ...] = ()


def describe_subject(agreement: Agreement) -> str:
    """Say in one line what was measured."""
    how = "against sources" if agreement.judgement == "grounded" else "without sources"
    part = f", round {clean(agreement.round_id)}" if agreement.round_id else ""
    return f"Labeler agreement on the claims of {clean(agreement.run_id)}{part}, judged {how}"


def describe_pair_basis(agreement: Agreement) -> Iterator[str]:
    """Say whose labels there are, and how many claims have several."""
    figures = agreement.overall
    several = pluralize(agreement.several_labels, "claim")
    people = ", ".join(f"{clean(name)}: {count:,}" for name, count in agreement.labelers.items())
    guides = ", ".join(clean(name) for name in agreement.guides)
    more = agreement.one_label
    single = f"; {show_count(more)} more {'has' if more == 1 else 'have'} only one" if more else ""
    yield (
        f"Measured on {several} with two labels or more "
        f"({pluralize(figures.items, 'item')}){single}."
    )
    if people:
        yield f"Labels by {people}. Guide: {guides}."
    if len(agreement.runs) > 1:
        yield "Claims count separately in each run; an item is one cluster across the runs."
    yield (
        f"{show_exact_percent(agreement.confidence)} ranges over items. Adjudications and "
        "retracted labels don't count."
    )


def describe_advice(agreement: Agreement) -> Iterator[str]:
    """Say what the figures are good for, and where to start."""
    kappa = agreement.overall.fleiss
    advice = advise_on(agreement.overall)
    if advice == "unknown":
        yield _describe_unknown(kappa)
    elif advice == "too few shared claims":
        shared = pluralize(agreement.overall.claims, "claim")
        yield (
            f"Too few shared claims: on {shared}, kappa could be anything from "
            f"{_show_range(kappa)}. Have several people label more of the same claims."
        )
        yield from _describe_start(agreement.disagreements)
    elif advice == "fix the guide":
        yield (
            f"Fix the guide first: kappa is at most {show_number(kappa.high)}. Below {USABLE}, "
            "people read the guide too differently to measure with their labels."
        )
        yield from _describe_start(agreement.disagreements)
    elif advice == "usable":
        yield (
            f"Good enough to measure with: kappa is at least {show_number(kappa.low)}. Adjudicate "
            "what people differ on."
        )
        yield from _describe_start(agreement.disagreements)
    else:
        least = show_number(kappa.low)
        yield f"Strong agreement: kappa is at least {least}. Little is left to clarify."
    if is_prevalence_trap(agreement.overall):
        yield _describe_prevalence(agreement)


def _describe_unknown(kappa: Figure) -> str:
    if kappa.why == NO_OVERLAP:
        return (
            "Agreement is unknown: no claim has two labels. Draw a round in which several people "
            "label the same claims."
        )
    if kappa.why == ONE_VERDICT:
        return (
            "Kappa is undefined: all labels are the same verdict. People agree, but nothing here "
            "shows if they would tell other verdicts apart. Draw a round that has some."
        )
    return "The range of kappa is unknown: all claims belong to one item. Label other items too."


def _describe_start(disagreements: Sequence[VerdictPair]) -> Iterator[str]:
    if not disagreements:
        return
    first = disagreements[0]
    disputed = {
        (one.run_id, one.item_id, one.claim_id) for pair in disagreements for one in pair.claims
    }
    rules = f" Guidelines: {', '.join(clean(rule) for rule in first.rules)}." if first.rules else ""
    yield (
        f"Start with {name_pair(first)}: {len(first.claims):,} of the "
        f"{pluralize(len(disputed), 'claim')} on which people differ.{rules}"
    )


def _describe_prevalence(agreement: Agreement) -> str:
    top = max(agreement.verdicts, key=lambda verdict: verdict.labels)
    figures = agreement.overall
    return (
        f"Most labels ({show_percent(top.prevalence)}) are {name_in_words(top.verdict)}, so two "
        "people often agree by chance, and kappa is low although they agree on "
        f"{show_percent(figures.raw.value)} (AC1 {show_number(figures.ac1.value)}). Look at the "
        "rarer verdicts one by one, and draw more claims of them."
    )


def name_pair(pair: VerdictPair) -> str:
    """Write two verdicts: ``unlinked or overreach``."""
    return f"{name_in_words(pair.one)} or {name_in_words(pair.other)}"


def list_tables(agreement: Agreement) -> list[TitledTable]:
    """Return everything but the disputed claims as tables, what matters most first."""
    sheets = [_list_figures(agreement), _list_verdicts(agreement)]
    if agreement.overall.claims:
        sheets += [_list_people(agreement), _list_matrix(agreement)]
    if agreement.slices:
        sheets.append(_list_slices(agreement))
    return sheets


def _list_figures(agreement: Agreement) -> TitledTable:
    figures = agreement.overall
    coefficients = {
        "Fleiss' kappa": figures.fleiss,
        "Krippendorff's alpha": figures.alpha,
        "Cohen's kappa (mean)": agreement.cohen,
        "Gwet's AC1": figures.ac1,
    }
    return TitledTable(
        "Figures",
        ("figure", "value", _RANGE),
        [
            ["raw agreement", *_show_share(figures.raw)],
            *([name, *_show(figure)] for name, figure in coefficients.items()),
        ],
        notes=_collect_notes([figures.raw, *coefficients.values()]),
    )


def _list_verdicts(agreement: Agreement) -> TitledTable:
    return TitledTable(
        "By verdict",
        ("verdict", "labels", "share", "kappa", _RANGE, "same", _RANGE),
        [
            [
                name_in_words(one.verdict),
                show_count(one.labels),
                show_percent(one.prevalence),
                *_show(one.kappa),
                *_show_share(one.same),
            ]
            for one in agreement.verdicts
        ],
        notes=_collect_notes(one.kappa for one in agreement.verdicts),
    )


def _list_people(agreement: Agreement) -> TitledTable:
    return TitledTable(
        "Pairs of labelers, lowest kappa first",
        ("labelers", "claims", "raw", _RANGE, "Cohen's kappa", _RANGE),
        [
            [
                f"{clean(pair.one)}, {clean(pair.other)}",
                show_count(pair.claims),
                *_show_share(pair.raw),
                *_show(pair.kappa),
            ]
            for pair in agreement.pairs
        ],
        notes=_collect_notes(pair.kappa for pair in agreement.pairs),
    )


def _list_matrix(agreement: Agreement) -> TitledTable:
    names = [name_in_words(verdict) for verdict in CHOICES[agreement.judgement]]
    size = range(len(names))
    return TitledTable(
        MATRIX_TITLE,
        ("", *names),
        [
            # Each pair is counted once; both halves are shown, so that a row can be read alone.
            [names[one], *(show_count(agreement.matrix[min(one, n)][max(one, n)]) for n in size)]
            for one in size
        ],
    )


def _list_slices(agreement: Agreement) -> TitledTable:
    shown = agreement.slices[:_MOST_SLICES]
    left = len(agreement.slices) - len(shown)
    notes = [*_collect_notes(one.figures.fleiss for one in shown)]
    if any(one.stands_out for one in shown):
        notes.append("! clearly below overall, adjusted for the number of groups")
    if left:
        notes.append(f"{left:,} more: claimwise agreement --format json")
    return TitledTable(
        "Groups, lowest kappa first",
        ("group", "", "claims", "items", "raw", "Fleiss' kappa", _RANGE, "AC1"),
        [
            [
                name_slice(one.slice),
                "!" if one.stands_out else "",
                show_count(one.figures.claims),
                show_count(one.figures.items),
                show_percent(one.figures.raw.value),
                *_show(one.figures.fleiss),
                show_number(one.figures.ac1.value),
            ]
            for one in shown
        ],
        text=(0, 1),
        notes=tuple(notes),
    )


def _show(figure: Figure) -> tuple[str, str]:
    return show_number(figure.value), _show_range(figure)


def _show_share(figure: Figure) -> tuple[str, str]:
    return show_percent(figure.value), show_percent_range(figure.low, figure.high)


def _show_range(figure: Figure) -> str:
    """Write the range of a coefficient, which may be negative: ``−0.17 to 0.77``."""
    if figure.low is None or figure.high is None:
        return MISSING
    return f"{show_number(figure.low)} to {show_number(figure.high)}"


def _collect_notes(figures: Iterable[Figure]) -> tuple[str, ...]:
    return tuple(f"— {why}" for why in dict.fromkeys(f.why for f in figures if f.why))


def describe_disputed_claim(claim: DisputedClaim) -> str:
    """Say in one line how people labelled a claim."""
    said = ", ".join(f"{clean(name)}: {name_in_words(verdict)}" for name, verdict in claim.labels)
    decided = f"; decided: {name_in_words(claim.decided)}" if claim.decided else "; not decided"
    return f"{clean(claim.item_id)}: “{clean(claim.claim_text)}” ({said}{decided})"


def describe_pair(pair: VerdictPair) -> str:
    """Say how many claims got both verdicts, and which guidelines tell them apart."""
    rules = f" (guidelines: {', '.join(clean(rule) for rule in pair.rules)})" if pair.rules else ""
    return f"{name_pair(pair)}: {pluralize(len(pair.claims), 'claim')}{rules}"


def print_agreement(agreement: Agreement, console: Console) -> None:
    """Print how far people agree."""
    writer = Writer(console)
    writer.say(describe_subject(agreement), "bold")
    for line in describe_advice(agreement):
        writer.say(line)
    for warning in agreement.warnings:
        writer.say(f"! {clean(warning)}", "yellow")
    writer.skip()
    if not agreement.overall.claims:
        writer.say("Next: claimwise rounds create --overlap 0.5")
        return
    for line in describe_pair_basis(agreement):
        writer.say(line, "dim")
    for sheet in list_tables(agreement):
        _print_sheet(writer, sheet)
    if agreement.disagreements:
        writer.skip()
        writer.say(DISPUTES_TITLE, "bold")
    for pair in agreement.disagreements:
        writer.say(describe_pair(pair), indent=2)
        for claim in pair.claims[:_MOST_CLAIMS]:
            writer.say(describe_disputed_claim(claim), "dim", indent=4)
        if len(pair.claims) > _MOST_CLAIMS:
            writer.say(f"and {len(pair.claims) - _MOST_CLAIMS:,} more", "dim", indent=4)
    writer.skip()
    writer.say(READING, "dim")


def _print_sheet(writer: Writer, sheet: TitledTable) -> None:
    writer.skip()
    writer.say(sheet.title, "bold")
    columns = [
        Column(
            header=header,
            cells=[row[number] for row in sheet.rows],
            right=number not in sheet.text and header != _RANGE,
            least=8 if number == 0 else None,
        )
        for number, header in enumerate(sheet.headers)
    ]
    for part in _fit_parts(columns, writer.width - 2):
        writer.put_columns(part)
    for note in sheet.notes:
        writer.say(note, "dim", indent=2)


def _fit_parts(columns: Sequence[Column], width: int) -> Iterator[list[Column]]:
    """Cut a table that is too wide into several; a figure and its interval stay together."""
    name, *others = columns
    groups: list[list[Column]] = []
    for column in others:
        if column.header == _RANGE:
            groups[-1].append(column)
        else:
            groups.append([column])
    part: list[Column] = [name]
    for group in groups:
        needed = sum(column.natural_width() + 1 for column in [*part[1:], *group])
        if len(part) > 1 and needed + name.natural_width() > width:
            yield part
            part = [name]
        part += group
    yield part


def render_agreement_markdown(agreement: Agreement) -> str:
    """Write how far people agree as GitHub-flavoured Markdown."""
    parts = [
        f"# {escape(describe_subject(agreement))}",
        "\n\n".join(escape(line) for line in describe_advice(agreement)),
        write_bullets(f"**Warning:** {escape(line)}" for line in agreement.warnings),
        write_bullets(escape(line) for line in describe_pair_basis(agreement)),
        *(_write_sheet(sheet) for sheet in list_tables(agreement)),
        f"## {DISPUTES_TITLE}" if agreement.disagreements else "",
    ]
    for pair in agreement.disagreements:
        parts += [
            f"### {escape(describe_pair(pair))}",
            write_bullets(escape(describe_disputed_claim(claim)) for claim in pair.claims),
        ]
    return "\n\n".join(part for part in [*parts, READING] if part) + "\n"


def _write_sheet(sheet: TitledTable) -> str:
    notes = "\n\n".join(escape(note) for note in sheet.notes)
    table = write_table(sheet.headers, sheet.rows, text=sheet.text)
    return f"## {sheet.title}\n\n{table}" + (f"\n\n{notes}" if notes else "")


def to_agreement_document(agreement: Agreement) -> dict[str, Any]:
    """Return an agreement as plain values for JSON: docs/agreement.md lists the fields."""
    return {
        "format": FORMAT,
        "advice": advise_on(agreement.overall),
        "prevalence_trap": is_prevalence_trap(agreement.overall),
        "reading": list(describe_advice(agreement)),
        **msgspec.to_builtins(agreement),
    }
