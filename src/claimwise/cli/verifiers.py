"""``claimwise verifiers``: the instruments at hand, and how far each may be trusted.

Figures come from the model card that is part of the package; docs/model-card.md is generated from
the same card and the same lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from textwrap import wrap
from typing import Any, NamedTuple

import click
import msgspec
from rich.text import Text

from claimwise.calibration.queries import list_calibrations, name_calibrated_slice
from claimwise.calibration.values import Calibration
from claimwise.command.options import (
    ask_store,
    console,
    format_option,
    print_json,
    print_table,
    store_option,
)
from claimwise.errors import VerifierError, describe_unknown, make_printable
from claimwise.judges.card import Card, load_card
from claimwise.registry import Entry, Listing, describe_entry, list_usable
from claimwise.report.changes import show_ranged_change
from claimwise.report.format import (
    MISSING,
    pluralize,
    show_number,
    show_percent,
    show_ranged_number,
    show_rate,
)
from claimwise.types.accuracy import Accuracy, VerifierAccuracy

POOR = 0.6  # balanced accuracy below which a set is named among the weak points
FAR_OFF = 0.15  # calibration error from which it is
FEW_GROUPS = 30


class TrainingMaterial(NamedTuple):
    """Something that was learned from: its name, what it is, its licence, what it served for."""

    name: str
    what: str
    licence: str
    use: str


TRAINING = (
    TrainingMaterial("gte-small", "33M encoder", "MIT", "base weights of the encoder"),
    TrainingMaterial(
        "Qwen2.5-Coder-1.5B-Instruct", "language model", "Apache-2.0", "wrote claims; the teacher"
    ),
    TrainingMaterial("snli", "pairs of sentences", "CC BY-SA", "teacher and encoder"),
    TrainingMaterial("mnli", "pairs of sentences", "OANC and others", "teacher and encoder"),
    TrainingMaterial("cad_nli", "pairs, minimally revised", "Apache-2.0", "teacher and encoder"),
    TrainingMaterial("fever", "claims, Wikipedia evidence", "CC BY-SA", "teacher and encoder"),
    TrainingMaterial(
        "fool_me_twice (train)",
        "adversarial claims, Wikipedia evidence",
        "Apache-2.0, text CC BY-SA",
        "teacher and encoder",
    ),
    TrainingMaterial(
        "faithdial (train)", "dialogue replies", "MIT", "teacher and encoder; combiner too"
    ),
    TrainingMaterial(
        "boolq", "yes/no questions, Wikipedia", "CC BY-SA", "teacher and encoder; passages"
    ),
    TrainingMaterial(
        "squad_passages, new_wiki_passages",
        "Wikipedia passages, questions, answers",
        "CC BY-SA",
        "passages that claims were written about",
    ),
)

# The sets behind the figures.
SETS = {
    "aggrefact_cliff_goyal": ("summaries against the article", "none stated"),
    "attributionbench": ("sentences of answers against the cited passage", "none stated"),
    "averitec": ("real claims against collected evidence", "CC BY-NC"),
    "bump": ("summaries with one small edit", "MIT"),
    "covidfact": ("covid claims against evidence", "none stated"),
    "factcheck_bench": ("claims of language models against web snippets", "Apache-2.0"),
    "fool_me_twice": ("adversarial claims against Wikipedia, the dev split", "Apache-2.0"),
    "healthver": ("health claims against evidence", "none stated"),
    "summedits": ("summaries with one small edit", "Apache-2.0"),
    "wice": ("Wikipedia sentences against the whole cited page", "ODC-BY"),
    "wikibio_gpt3": ("GPT-3 sentences against the article", "none stated"),
}

LIMITS = (
    "Small edits: one changed word in a summary that is otherwise right often passes.",
    "Other words: a claim that is worded differently, as health claims often are, is often missed.",
    "Who did what: the same words in another order pass as the same statement.",
    "Negation: a plain “not” is found by comparing sentences; a denial in other words can pass.",
    "Base rates: probabilities assume that 38% of claims are supported. For other shares "
    "they are off.",
    "English: the encoder reads only English. Other languages get the lexical judge and a warning.",
    "Several places at once: it reads at most four sentences for each sentence of a claim.",
    "Arithmetic: units are converted, but nothing is added up, counted or compared.",
    "Long claims: the encoder reads at most 160 tokens of a claim's sentence.",
    "The world: it knows only the sources. Supported doesn't mean true.",
)


@click.command("verifiers", short_help="List the built-in judges and how accurate they are.")
@click.argument("name", required=False, metavar="[NAME]")
@store_option
@format_option("text", "json")
def command(name: str | None, store: str | None, form: str) -> None:
    """List the built-in judges: whether each can run here, and how accurate it is.

    Accuracy is measured against human labels; nothing was fitted on the data it was measured on.
    NAME shows one judge in full: its figures for each data set, worst first, next to counting
    words, and what it learned from. Calibrations in the project's store are listed as well,
    including those of language models.
    """
    judges = [describe_entry(entry) for entry in _choose_entries(name)]
    card = load_card()
    found, why = ask_store(list_calibrations, store)
    if why:
        click.echo(f"warning: calibrations can't be listed: {make_printable(why)}", err=True)
    calibrations = _choose(found or [], card, name)
    if form == "json":
        told = [_to_calibration(one, _now()) for one in calibrations]
        print_json({**to_document(card, judges), "calibrations": None if why else told})
        return
    if name is None:
        _print_overview(card, judges)
    else:
        _print_judge(card, *judges)
    if calibrations:
        _print_calibrations(calibrations)
    if name is None or find_figures(card, name) is not None:
        _print_more(card, all_of_it=name is not None)


def _choose_entries(name: str | None) -> list[Entry]:
    entries = list_usable("judges")
    known = [entry.name for entry in entries]
    if name is not None and name not in known:
        raise VerifierError(describe_unknown("judge", name, known))
    card = load_card()
    entries.sort(key=lambda entry: find_figures(card, entry.name) is None)  # measured ones first
    return [entry for entry in entries if name in (None, entry.name)]


def _choose(found: Sequence[Calibration], card: Card, name: str | None) -> list[Calibration]:
    """Return calibrations in order; with a name, those of that judge alone."""
    figures = None if name is None else find_figures(card, name)
    labeler = figures.labeler if figures else None
    chosen = [one for one in found if name is None or one.labeler == labeler]
    return sorted(chosen, key=lambda one: (one.labeler, one.judgement, bool(one.slice)))


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


def _to_calibration(one: Calibration, now: datetime) -> dict[str, Any]:
    fit = one.fit
    return {
        "calibration_id": one.calibration_id,
        "labeler": one.labeler,
        "judgement": one.judgement,
        "slice": dict(one.slice),
        "made_at": one.made_at.isoformat(),
        "expires_at": one.expires_at.isoformat(),
        "standing": one.stand(now),
        "claims": one.claims,
        "ece_before": fit.ece_before if fit else one.ece.value,
        "ece_after": fit.ece_after if fit else None,
        "map": fit.map.kind if fit else None,
    }


def find_figures(card: Card, name: str) -> VerifierAccuracy | None:
    """Return a verifier's figures; None when nobody measured it."""
    if name == card.baseline.verifier:
        return card.baseline
    return card.verifiers.get(name)


def find_judge_figures(card: Card, judge: Listing) -> VerifierAccuracy | None:
    """Return a listed judge's figures: the card speaks of built-in ones alone."""
    return find_figures(card, judge.entry.name) if judge.entry.built_in else None


def _describe_what(judge: Listing) -> str:
    if judge.entry.built_in:
        return judge.description
    return f"{judge.description} ({judge.entry.origin})".strip()


def sort_sets(figures: VerifierAccuracy) -> list[str]:
    """Return the sets by rising balanced accuracy: the worst first."""

    def place(name: str) -> tuple[bool, float, str]:
        figure = figures.sets[name].balanced_accuracy
        return figure is None, figure or 0.0, name

    return sorted(figures.sets, key=place)


def find_weak_points(figures: VerifierAccuracy) -> list[str]:
    """Say where the figures are poor: sets near guessing, no lead over words, odd probabilities."""
    names = sort_sets(figures)
    poor = [
        f"{name} {show_percent(found)}"
        for name in names
        if (found := figures.sets[name].balanced_accuracy) is not None and found < POOR
    ]
    level = [name for name in names if _is_level(figures.sets[name])]
    off = sorted(
        (name for name in names if (figures.sets[name].ece or 0.0) >= FAR_OFF),
        key=lambda name: -(figures.sets[name].ece or 0.0),
    )
    told = [
        f"{name} {show_number(figures.sets[name].ece)} (supported: "
        f"{figures.sets[name].prevalence or 0.0:.0%})"
        for name in off
    ]
    few = [f"{name} {count}" for name in names if (count := figures.sets[name].groups) < FEW_GROUPS]
    sentences = (
        ("Little better than guessing (50%)", poor),
        ("Not shown to beat counting words", level),
        ("Probabilities far off (ECE)", told),
        ("Few groups, so ranges are rough", few),
    )
    return [f"{what}: {', '.join(found)}." for what, found in sentences if found]


def _is_level(accuracy: Accuracy) -> bool:
    """Tell whether the lead over the baseline may be none: its range includes 0."""
    lead = accuracy.difference
    return lead is not None and (lead.interval is None or lead.interval[0] <= 0)


def to_document(card: Card, judges: Sequence[Listing]) -> dict[str, Any]:
    """Return the card as plain values for JSON, sets the worst first."""
    return {
        "verifiers": [_to_entry(card, judge) for judge in judges],
        "baseline": _to_figures(card.baseline),
        "card": {
            "version": card.version,
            "measured_on": card.measured_on,
            "fitted": list(card.fitted),
            "verdicts": msgspec.to_builtins(card.verdicts),
        },
        "limits": list(LIMITS),
        "training": [material._asdict() for material in TRAINING],
        "sets": {
            name: {"what": what, "licence": licence, "fitted": name in card.fitted}
            for name, (what, licence) in SETS.items()
        },
    }


def _to_entry(card: Card, judge: Listing) -> dict[str, Any]:
    figures = find_judge_figures(card, judge)
    return {
        "name": judge.entry.name,
        "what": _describe_what(judge),
        "runs_here": judge.missing is None,
        "install": judge.missing,
        "labeler": figures.labeler if figures else None,
        "threshold": figures.threshold if figures else None,
        "bytes": judge.size,
        "figures": _to_figures(figures) if figures else None,
        "weak_points": find_weak_points(figures) if figures else [],
    }


def _to_figures(figures: VerifierAccuracy) -> dict[str, Any]:
    sets = {name: msgspec.to_builtins(figures.sets[name]) for name in sort_sets(figures)}
    return {"sets": sets, "macro": msgspec.to_builtins(figures.macro)}


def _print_overview(card: Card, judges: Sequence[Listing]) -> None:
    """Print each judge on a line, with its accuracy where the card has it."""
    rows = []
    for judge in judges:
        figures = find_judge_figures(card, judge)
        rows.append([
            judge.entry.name,
            "yes" if judge.missing is None else "no",
            show_percent(figures.macro.balanced_accuracy if figures else None),
            show_bytes(judge.size),
            _describe_what(judge),
        ])  # fmt: skip
    right = ("accuracy", "size")
    print_table(("judge", "runs here", *right, "what it is"), rows, right=right)
    _print_missing(judges)
    click.echo(
        f"\nAccuracy: balanced, against people's labels, mean of {card.baseline.macro.sets} sets; "
        "guessing gives 50%.\nRanges, data sets and weak points of one judge: claimwise verifiers "
        "NAME"
    )


def _print_judge(card: Card, judge: Listing) -> None:
    """Print all that the card says of one judge."""
    figures = find_judge_figures(card, judge)
    labeler = f" ({figures.labeler})" if figures else ""
    click.echo(f"{judge.entry.name}{labeler}: {make_printable(_describe_what(judge))}")
    facts = (
        [f"threshold {figures.threshold:g}"]
        if figures
        else ["not measured on labelled sets: claimwise bench-verifier"]
    )
    facts += [show_bytes(judge.size)] if judge.size else []
    click.echo("; ".join(facts))
    _print_missing([judge])
    if figures is not None:
        _print_figures(card, judge.entry.name, figures)
    if judge.entry.name == "embedded":
        _print_verdicts(card)


def _print_missing(judges: Sequence[Listing]) -> None:
    for judge in judges:
        if judge.missing is not None:
            click.echo(f"\n{judge.entry.name} can't run here: {make_printable(judge.missing)}")


def _print_more(card: Card, *, all_of_it: bool) -> None:
    """Print what the built-in judges are bad at; with all of it, how that is known."""
    _print_list("What the built-in judges are bad at", LIMITS)
    if all_of_it:
        _print_list("What they learned from", [_describe_material(one) for one in TRAINING])
        _print_list("How it was measured", list(_describe_method(card)))
    click.echo("\nMore: docs/model-card.md. On your own data: claimwise bench-verifier FOLDER")


def _print_figures(card: Card, name: str, figures: VerifierAccuracy) -> None:
    click.echo(f"\n{name}: agreement with people, {_describe_sets(figures)}, worst first\n")
    words = card.baseline
    lead = ("claims", "balanced accuracy", "words", "difference")
    rows = [(n, figures.sets[n], words.sets.get(n)) for n in sort_sets(figures)]
    rows.append(("macro", figures.macro, words.macro))
    print_table(
        ("set", *lead),
        [[n, f"{a.n:,}", *compare_words(a, b)] for n, a, b in rows],
        right=lead,
    )
    click.echo()
    more = ("AUC", "sensitivity", "specificity", "ECE")
    print_table(("set", *more), [[n, *show_rest(a)] for n, a, _ in rows], right=more)
    weak = find_weak_points(figures)
    if weak:
        _print_list(None, weak)


def _print_verdicts(card: Card) -> None:
    click.echo(
        "\nembedded: how often each verdict is right, on sets whose labels name the verdict\n"
    )
    right = ("given", "by its name", "supported or not", "at random")
    print_table(("verdict", *right), list_verdicts(card), right=right)


def list_verdicts(card: Card) -> list[list[str]]:
    """Return a row for each verdict: how often it was given, and how often it is right."""
    return [
        [
            name,
            f"{one.given:,}",
            *(f"{share:.0%}" for share in (one.same, one.right, one.at_random)),
        ]
        for name, one in card.verdicts.items()
    ]


def _print_calibrations(calibrations: Sequence[Calibration]) -> None:
    click.echo(
        "\nCalibrated in this project's store, by people's labels; calibration errors on held-out "
        "items,\nas given and through the fitted map\n"
    )
    right = ("claims", "as given", "calibrated")
    rows = []
    for one in calibrations:
        told = _to_calibration(one, _now())
        labeler = one.labeler + (" (closed-book)" if one.judgement == "closed_book" else "")
        rows.append([
            labeler, name_calibrated_slice(one.slice), one.made_at.date().isoformat(),
            f"{one.claims:,}", show_number(told["ece_before"]), show_number(told["ece_after"]),
            told["standing"],
        ])  # fmt: skip
    print_table(("labeler", "group", "made on", *right, "status"), rows, right=right)


def _describe_sets(figures: VerifierAccuracy) -> str:
    macro = figures.macro
    return f"{pluralize(macro.n, 'claim')} of {pluralize(macro.sets, 'set')}"


def compare_words(accuracy: Accuracy, words: Accuracy | None) -> list[str]:
    """Return balanced accuracy, the baseline's, and the difference in points, as they are shown."""
    lead = accuracy.difference
    points, bounds = (None, None) if lead is None else (lead.balanced_accuracy, lead.interval)
    return [
        _show(show_rate, accuracy, "balanced_accuracy"),
        show_percent(words.balanced_accuracy if words else None),
        show_ranged_change(points, bounds),
    ]


def show_rest(accuracy: Accuracy) -> list[str]:
    """Return AUC, sensitivity, specificity and calibration error, as they are shown."""
    shown = {"sensitivity": show_rate, "specificity": show_rate}
    names = ("auc", "sensitivity", "specificity", "ece")
    return [_show(shown.get(name, show_ranged_number), accuracy, name) for name in names]


def _show(show: Callable[..., str], accuracy: Accuracy, name: str) -> str:
    return show(getattr(accuracy, name), *(accuracy.intervals.get(name) or (None, None)))


def show_bytes(size: int) -> str:
    """Return a size in bytes as people read it; nothing is a dash."""
    if not size:
        return MISSING
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} kB"


def _describe_material(material: TrainingMaterial) -> str:
    return f"{material.name}: {material.what}; {material.licence}; {material.use}."


def _describe_method(card: Card) -> Iterator[str]:
    yield (
        f"Measured on {card.measured_on}. A set's figures come from a combiner, calibration and "
        "threshold that were fitted without that set."
    )
    yield f"The shipped combiner is fitted on {', '.join(card.fitted)}."
    yield "The encoder knows other claims of fool_me_twice: that set is not wholly new to it."
    yield "95% ranges over whole groups (items); difference: points over counting words."


def _print_list(title: str | None, lines: list[str] | tuple[str, ...]) -> None:
    page = console()
    page.print(Text(f"\n{title}" if title else ""))
    for line in lines:
        folded = wrap(line, page.width - 2, initial_indent="- ", subsequent_indent="  ")
        page.print(Text("\n".join(folded)))
