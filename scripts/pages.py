"""Writes the generated parts of the pages: cog calls these functions from docs/*.md."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import get_type_hints

import click
import cog
import msgspec

from claimwise.cli import verifiers
from claimwise.cli.commands import COMMANDS
from claimwise.cli.main import LazyGroup, cli, run
from claimwise.judges.card import Card, load_card
from claimwise.metrics import load_metrics
from claimwise.metrics.catalogue import list_metrics
from claimwise.readers.problems import describe_type
from claimwise.readers.records import NESTED
from claimwise.report.changes import show_change, show_ranged_change
from claimwise.report.format import join_words
from claimwise.store.files import SqlFolder, list_views
from claimwise.types.accuracy import Accuracy, VerifierAccuracy
from claimwise.types.rows import ROW_TYPES, Row

EXAMPLES = Path(__file__).parent.parent / "docs" / "examples"
_PAGE_WIDTH = "96"  # of the examples' output
_AGREEMENT = re.compile(r"(judged by verifier:\w+-\w+), .*")
_PROBABILITY = re.compile(r"^( *\d+ [✓○△✗◷] \w+) \(confidence [\d.]+%\)(?=  )", re.MULTILINE)


def write_cli() -> None:
    """Write the help of every command."""
    for name in ("", *COMMANDS):
        command = cli if not name else LazyGroup.get_command(cli, click.Context(cli), name)
        assert command is not None
        title = f"claimwise {name}".strip()
        _write_help(f"## {title}", title, command)
        if name and isinstance(command, click.Group):
            for part, inner in command.commands.items():
                _write_help(f"### {title} {part}", f"{title} {part}", inner)


def _write_help(heading: str, title: str, command: click.Command) -> None:
    context = click.Context(command, info_name=title, max_content_width=90, terminal_width=90)
    cog.outl(f"\n{heading}\n\n```text\n{command.get_help(context)}\n```")


def write_kinds() -> None:
    """Write the fields of every kind of record."""
    for row_type in ROW_TYPES:
        doc = (row_type.__doc__ or "").strip()
        key = ", ".join(f"`{name}`" for name in row_type.key)
        cog.outl(f"\n### {row_type.kind}\n\n{doc} Key: {key}.")
        if row_type in NESTED:
            inside = ", ".join(f"`{name}`" for name in NESTED[row_type])
            cog.outl(f"In JSON Lines, it can contain {inside}.")
        cog.outl("\n| field | | takes | meaning |\n|---|---|---|---|")
        for line in _field_lines(row_type):
            cog.outl(line)


def _field_lines(row_type: type[Row]) -> list[str]:
    hints = get_type_hints(row_type, include_extras=True)
    lines = []
    for field in msgspec.structs.fields(row_type):
        hint = hints[field.name]
        meaning = next(note.description for note in hint.__metadata__ if note.description)
        need = "required" if field.required else ""
        lines.append(f"| `{field.name}` | {need} | {describe_type(hint)} | {meaning} |")
    return lines


def write_schema() -> None:
    """Write the migrations and the views."""
    for name, sql in SqlFolder("claimwise.store", "sql/schema").items():
        cog.outl(f"\n## {name}.sql\n\n```sql\n{sql}\n```")
    cog.outl("\n## Views\n\nRewritten with every migration.")
    for name, sql in list_views():
        cog.outl(f"\n### {name}\n\n```sql\n{sql}\n```")


def write_metrics() -> None:
    """Write the catalogue of metrics."""
    metrics = load_metrics()
    for metric in list_metrics(metrics, "main", "detail", "measurement"):
        better = metric.better_for(None)
        facts = [f"Role: {metric.role}.", f"Grain: {metric.grain}.", f"Unit: {metric.unit}."]
        if better:
            facts.append(f"{better.capitalize()} is better.")
        if metric.series:
            facts.append(f"Series: `{metric.series}`.")
        if metric.labels:
            facts.append(f"Labels: {', '.join(f'`{view}`' for view in metric.labels)}.")
        if metric.needs:
            facts.append(f"Needs {join_words(metric.needs)}.")
        meaning = metric.meaning[0].upper() + metric.meaning[1:]
        cog.outl(f"\n### {metric.name}\n\n**{metric.title}.** {meaning}. {' '.join(facts)}")
        if metric.notes:
            cog.outl("")
        for member, note in metric.notes.items():
            direction = metric.better.get(member)
            more = f" ({direction} is better)" if direction else ""
            cog.outl(f"- `{member}`: {note}{more}")


def write_card_targets() -> None:
    """Write the targets of the full tier beside what was measured."""
    card = load_card()
    judged = card.verifiers["embedded"]
    macro, lead = judged.macro, judged.macro.difference
    assert lead is not None
    assert lead.interval is not None
    assert lead.balanced_accuracy is not None
    gaps = {n: a.difference.balanced_accuracy for n, a in judged.sets.items() if a.difference}
    worst = min(gaps, key=lambda name: gaps[name] or 0.0)
    accuracy, auc, ece = macro.balanced_accuracy or 0.0, macro.auc or 0.0, macro.ece or 1.0
    words = card.baseline.macro
    rows = [
        (
            "macro balanced accuracy on unseen sets",
            "at least 66%",
            f"{100 * accuracy:.1f}% (counting words: {100 * (words.balanced_accuracy or 0):.1f}%)",
            accuracy >= 0.66,
        ),
        (
            "macro AUC on unseen sets",
            "at least 0.725",
            f"{auc:.3f} (counting words: {words.auc:.3f})",
            auc >= 0.725,
        ),
        (
            "lead over counting words, points",
            "at least 4, and the range excludes 0",
            show_ranged_change(lead.balanced_accuracy, lead.interval),
            lead.balanced_accuracy >= 0.04 and lead.interval[0] > 0,
        ),
        (
            "lead on the set where it is smallest, points",
            "at least −1",
            f"{show_change(gaps[worst])} ({worst})",
            (gaps[worst] or 0.0) >= -0.01,
        ),
        ("macro calibration error (ECE)", "at most 0.08", f"{ece:.3f}", ece <= 0.08),
    ]
    _write_table(
        ("", "target", "measured", "met"),
        [(what, asked, found, "yes" if ok else "**no**") for what, asked, found, ok in rows],
    )
    missed = [what.split(",")[0] for what, _, _, ok in rows if not ok]
    told = f"Missed: {' and '.join(missed)}." if missed else "All are met."
    cog.outl(f"\n**{len(rows) - len(missed)} of {len(rows)} targets are met.** {told}")


def write_card_figures(name: str) -> None:
    """Write one verifier's figures, worst set first, beside the baseline's."""
    card = load_card()
    figures = verifiers.find_figures(card, name)
    assert figures is not None
    rows = _list_accuracies(card, figures)
    _write_table(
        ("set", "claims", "groups", "supported", "balanced accuracy", "words", "difference"),
        [
            (n, f"{a.n:,}", f"{a.groups:,}", f"{a.prevalence or 0.0:.0%}",
             *verifiers.compare_words(a, b))
            for n, a, b in rows
        ],
    )  # fmt: skip
    _write_table(
        ("set", "AUC", "words' AUC", "sensitivity", "specificity", "ECE"),
        [
            (n, *_put_second(verifiers.show_rest(a), "—" if b is None else f"{b.auc:.2f}"))
            for n, a, b in rows
        ],
    )
    cog.outl("")
    for line in verifiers.find_weak_points(figures):
        cog.outl(f"- {line}")


def _list_accuracies(
    card: Card, figures: VerifierAccuracy
) -> list[tuple[str, Accuracy, Accuracy | None]]:
    rows: list[tuple[str, Accuracy, Accuracy | None]] = [
        (name, figures.sets[name], card.baseline.sets.get(name))
        for name in verifiers.sort_sets(figures)
    ]
    return [*rows, ("**macro**", figures.macro, card.baseline.macro)]


def _put_second(cells: Sequence[str], cell: str) -> list[str]:
    return [cells[0], cell, *cells[1:]]


def write_card_limits() -> None:
    """Write what the verifiers are bad at."""
    for limit in verifiers.LIMITS:
        what, _, why = limit.partition(": ")
        cog.outl(f"- **{what}.** {why[0].upper()}{why[1:]}")


def write_card_training() -> None:
    """Write what was learned from, with licences."""
    _write_table(("name", "what it is", "licence", "used for"), verifiers.TRAINING)


def write_card_sets() -> None:
    """Write the sets behind the figures."""
    fitted = load_card().fitted
    _write_table(
        ("set", "what was labelled", "licence", "in the shipped combiner"),
        [
            (name, what, licence, "yes" if name in fitted else "no: only measured")
            for name, (what, licence) in verifiers.SETS.items()
        ],
    )


def _write_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    cog.outl(f"\n| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for row in rows:
        cog.outl(f"| {' | '.join(row)} |")


def write_example(name: str) -> None:
    """Write the files of a worked example and what ``claimwise check`` really prints."""
    folder = EXAMPLES / name
    for path in sorted(folder.iterdir(), key=lambda p: (p.name != "answer.txt", p.name)):
        text = path.read_text(encoding="utf-8").rstrip()
        if len(text.split()) > 300:
            words = f"{len(text.split()):,}"
            cog.outl(f"\n[`{path.name}`](examples/{name}/{path.name}): {words} words")
        else:
            cog.outl(f"\n`{path.name}`\n\n```{_language_of(path)}\n{text}\n```")
    command = f"claimwise {shlex.join(list_arguments(folder))}"
    cog.outl(f"\n```console\n$ {command}\n{run_example(folder)}\n```")


def _language_of(path: Path) -> str:
    return "json" if path.suffix == ".jsonl" else "text"


def list_arguments(folder: Path) -> list[str]:
    """Return the arguments that check an example, as typed in its folder."""
    names = sorted(path.name for path in folder.iterdir())
    arguments = ["check", "--answer", "answer.txt"]
    for name in names:
        if name not in ("answer.txt", "actions.txt"):
            arguments += ["--source", name]
    if "actions.txt" in names:
        arguments += ["--actions", "actions.txt"]
    return arguments


def run_example(folder: Path, verifier: str = "embedded") -> str:
    """Return what the command prints, without colours, in the examples' width.

    Probabilities are left out: the last digit may differ from processor to processor, and a page
    must not depend on who built it. The judge's accuracy, the same every time, is cut short.
    """
    out, before = io.StringIO(), Path.cwd()
    kept = {name: os.environ.get(name) for name in ("COLUMNS", "NO_COLOR")}
    os.environ |= {"COLUMNS": _PAGE_WIDTH, "NO_COLOR": "1"}
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = run([*list_arguments(folder), "--verifier", verifier])
    finally:
        os.chdir(before)
        for name, value in kept.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    assert code == 0, out.getvalue()
    text = _AGREEMENT.sub(r"\1, …", _PROBABILITY.sub(r"\1", out.getvalue()))
    return "\n".join(line.rstrip() for line in text.rstrip().splitlines())
