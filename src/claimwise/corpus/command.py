"""``claimwise corpus``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from claimwise.command.options import (
    current_project,
    find_login_name,
    format_option,
    open_project_store,
    print_json,
    print_table,
    store_option,
)
from claimwise.corpus.changes import carry_over
from claimwise.corpus.diff import compare_corpora
from claimwise.corpus.queries import list_history, list_versions
from claimwise.corpus.report import (
    describe_diff,
    to_diff_document,
    warn_of_recall,
    write_suggestions,
)
from claimwise.corpus.values import CorpusDiff
from claimwise.disk.output import replace_file
from claimwise.errors import make_printable
from claimwise.report.format import pluralize


@click.group("corpus", short_help="Carry a golden set over to a new corpus version.")
def command() -> None:
    """Compare corpus versions, and carry gold spans over from one to the next.

    \b
    claimwise import docs/ --corpus 2026-12
    claimwise corpus diff 2026-11 2026-12
    claimwise corpus diff 2026-11 2026-12 --apply
    """


@command.command("diff", short_help="Show what a new corpus version does to gold spans.")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option(
    "--apply", "apply_it", is_flag=True, help="Make the changes that are certain, all or none."
)
@click.option(
    "--suggest",
    "suggestions",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write gold spans for the items that you have to decide on, to edit and import.",
)
@click.option("--who", metavar="NAME", help="Who makes the changes (default: your login name).")
@click.option("--reason", metavar="TEXT", help="Why (default: carried over from OLD to NEW).")
@click.option("--all", "show_all", is_flag=True, help="List every span and item.")
@store_option
@format_option("text", "json")
def diff_command(
    old: str,
    new: str,
    apply_it: bool,
    suggestions: Path | None,
    who: str | None,
    reason: str | None,
    show_all: bool,
    store: str | None,
    form: str,
) -> None:
    """List gold spans that are unchanged, moved, changed or gone in a new corpus version.

    Nothing is written without --apply. With it, items move to NEW if each of their required spans
    was found at exactly one place; spaces and line breaks don't matter. Items that lost a
    required span are retired: they stay in the store and no longer count. Earlier spans are kept
    (`claimwise corpus history`), and runs on OLD are still measured with them.
    """
    with open_project_store(current_project(), store) as opened:
        diff = compare_corpora(opened, old, new)
        if apply_it:
            why = reason or f"carried over from {old} to {new}"
            carry_over(opened, diff, who=who or find_login_name(), reason=why)
    data, suggested = write_suggestions(diff)
    if suggestions is not None:
        replace_file(suggestions, data)
    if form == "json":
        print_json(to_diff_document(diff, applied=apply_it))
    else:
        for line in describe_diff(diff, applied=apply_it, show_all=show_all):
            click.echo(line)
        for step in _list_next_steps(diff, suggestions, suggested, applied=apply_it):
            click.echo(make_printable(step))
    warning = None if apply_it else warn_of_recall(diff)
    if warning:
        click.echo(f"warning: {make_printable(warning)}", err=True)


def _list_next_steps(
    diff: CorpusDiff, suggestions: Path | None, suggested: int, *, applied: bool
) -> Iterator[str]:
    if not applied and (diff.list_items("carried") or diff.list_items("retired")):
        yield "Nothing was changed yet: --apply makes the changes that are certain."
    if suggested and suggestions is not None:
        yield (
            f"{suggestions}: {pluralize(suggested, 'gold span')} suggested. Check each of them and "
            f"its item's gold answer; then run: claimwise import {suggestions} --correct "
            f"--corpus {diff.new} --reason '…'"
        )
    elif suggested:
        yield "To decide on the open items, --suggest FILE writes spans to check, edit and import."


@command.command("list", short_help="List the corpus versions.")
@store_option
@format_option("text", "json")
def list_command(store: str | None, form: str) -> None:
    """List corpus versions with their documents, items and runs."""
    with open_project_store(current_project(), store) as opened:
        found, place = list_versions(opened), opened.place
    if form == "json":
        print_json({"corpora": [msgspec.to_builtins(one) for one in found]})
    elif not found:
        click.echo(f"{place}: no documents yet; `claimwise import FOLDER --corpus NAME` adds some")
    else:
        columns = ("corpus", "documents", "characters", "items", "gold spans", "retired", "runs")
        rows = [[f"{v:,}" if isinstance(v, int) else v for v in msgspec.structs.astuple(one)]
                for one in found]  # fmt: skip
        print_table(columns, rows, right=columns[1:])


@command.command("history", short_help="List replaced gold spans and retired items.")
@click.option("--item", "item_id", metavar="ITEM", help="Changes of this item only.")
@store_option
@format_option("text", "json")
def history_command(item_id: str | None, store: str | None, form: str) -> None:
    """List what was changed in the golden set, latest first: who, when and why."""
    with open_project_store(current_project(), store) as opened:
        found = list_history(opened, item_id)
    if form == "json":
        print_json({"changes": [msgspec.to_builtins(one) for one in found]})
    elif not found:
        click.echo("no changes: no gold span was replaced and no item retired")
    else:
        print_table(
            ("when", "item", "change", "corpus", "was", "who", "why"),
            [
                (
                    f"{one.changed_at:%Y-%m-%d %H:%M}",
                    one.item_id,
                    "restored since" if one.restored_at else one.change,
                    one.corpus_ver,
                    one.span_text and f"{one.source_id}: “{' '.join(one.span_text.split())}”",
                    one.who,
                    one.reason,
                )
                for one in found
            ],
        )
