"""``claimwise import``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from claimwise.command.options import (
    current_project,
    find_login_name,
    format_option,
    open_project_store,
    print_json,
    resolve_run,
    store_option,
)
from claimwise.command.processes import count_processors
from claimwise.errors import make_printable
from claimwise.readers import KINDS
from claimwise.report.format import pluralize
from claimwise.store import LoadCount
from claimwise.transfer.files import (
    ImportResult,
    import_corrections,
    import_documents,
    import_files,
)

if TYPE_CHECKING:
    from claimwise.labelling.sheet_import import SheetImport

_MOST_PROCESSES = 4  # one writes: more would wait for it


@click.command("import", short_help="Import items, sources, runs, answers, labels and more.")
@click.argument("paths", metavar="FILE…", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--kind",
    type=click.Choice(list(KINDS)),
    help="What the files contain, if their names don't tell.",
)
@click.option(
    "--reader", metavar="NAME", help="Reader for the files (default: recognised by their content)."
)
@click.option(
    "--corpus",
    "corpus_ver",
    metavar="VERSION",
    help="The paths are documents: store them as this corpus version.",
)
@click.option("--update", is_flag=True, help="Update stored sources, items and runs that differ.")
@click.option(
    "--correct",
    is_flag=True,
    help="Replace the gold spans of the items in the files; the old ones are kept.",
)
@click.option("--reason", metavar="TEXT", help="Corrected gold spans: why.")
@click.option("--who", metavar="NAME", help="Corrected gold spans: who (default: your login name).")
@click.option(
    "--run", "run_id", metavar="RUN", help="Labels from a spreadsheet: the run that was labelled."
)
@click.option(
    "--map",
    "columns",
    metavar="FIELD=COLUMN,…",
    multiple=True,
    help="Labels from a spreadsheet: which column is the claim, label, who, evidence, source, "
    "reason, date, question or item.",
)
@click.option(
    "--values",
    metavar="WORD=VERDICT,…",
    multiple=True,
    help="Labels from a spreadsheet: what its words mean, such as OK=supported.",
)
@click.option(
    "--labeler",
    metavar="NAME",
    help="Labels from a spreadsheet: who labelled, if no column says so.",
)
@click.option(
    "--skip-unmatched",
    is_flag=True,
    help="Labels from a spreadsheet: leave out rows that match no claim, or several.",
)
@click.option(
    "--lenient", is_flag=True, help="Accept labels that break the labelling guide, and count them."
)
@click.option(
    "--fill-in",
    "fill",
    is_flag=True,
    help="Make the documents (from quoted spans), runs, answers and claims that the files imply.",
)
@click.option("--dry-run", is_flag=True, help="Check everything without writing anything.")
@store_option
@format_option("text", "json")
def command(
    paths: tuple[Path, ...],
    kind: str | None,
    reader: str | None,
    corpus_ver: str | None,
    update: bool,
    correct: bool,
    reason: str | None,
    who: str | None,
    run_id: str | None,
    columns: tuple[str, ...],
    values: tuple[str, ...],
    labeler: str | None,
    skip_unmatched: bool,
    lenient: bool,
    fill: bool,
    dry_run: bool,
    store: str | None,
    form: str,
) -> None:
    """Import JSON Lines, CSV, Parquet or Arrow files, or a folder of them.

    All or nothing: if a file has errors, the store stays as it was. Rows that are already stored
    are skipped, so you can repeat an import. docs/data-format.md describes the records.
    Plug-ins can read other formats, but files named after what they hold (labels.jsonl) are never
    passed to them.

    With --corpus, the paths are documents and folders of them: text, Markdown, HTML and PDF. A
    document is named by its path within the folder.

    With --correct, the gold spans in the files replace those of the same items. If they refer to
    documents of a new corpus version, name it with --corpus.

    With --run, --map, --values, --labeler or --skip-unmatched, the files are spreadsheets of
    labels: one row per label, matched to the claims of a run by their text (docs/label-import.md).

    \b
    claimwise import labels.csv --run candidate --map claim=statement,who=annotator \\
      --values OK=supported,"not in docs"=unlinked
    claimwise import docs/ --corpus 2026-11
    claimwise import gold_spans.jsonl --correct --reason "cut off in mid-sentence"
    """
    project = current_project()
    if run_id or columns or values or labeler or skip_unmatched:
        if kind or reader or update or corpus_ver or correct or fill:
            raise click.UsageError(
                "--kind, --reader, --corpus, --update, --correct and --fill-in are not for "
                "spreadsheets."
            )
        _import_sheets(
            paths,
            run_id,
            (columns, values, labeler),
            skip_unmatched=skip_unmatched,
            lenient=lenient,
            dry_run=dry_run,
            store=store,
            form=form,
        )
        return
    if fill and (correct or corpus_ver):
        raise click.UsageError("--fill-in does not go with --corpus or --correct.")
    if (reason or who) and not correct:
        raise click.UsageError("--reason and --who go with --correct.")
    with open_project_store(project, store) as opened:
        if correct:
            result = import_corrections(
                opened,
                paths,
                who=who or find_login_name(),
                reason=_ask_reason(reason),
                corpus_ver=corpus_ver,
                kind=kind,
                query_types=project.query_types,
                update=update,
                dry_run=dry_run,
                reader=reader,
            )
        elif corpus_ver is not None:
            if kind or reader or lenient:
                raise click.UsageError("--kind, --reader and --lenient are not for documents.")
            result = import_documents(opened, paths, corpus_ver, update=update, dry_run=dry_run)
        else:
            result = import_files(
                opened,
                paths,
                kind=kind,
                query_types=project.query_types,
                update=update,
                dry_run=dry_run,
                reader=reader,
                lenient=lenient,
                fill=fill,
                processes=min(count_processors(), _MOST_PROCESSES),
            )
    _print_result(result, dry_run=dry_run, form=form)


def _ask_reason(reason: str | None) -> str:
    if not (reason or "").strip():
        raise click.UsageError("--correct needs --reason TEXT, which is stored with the old spans.")
    return str(reason)


def _print_result(result: ImportResult, *, dry_run: bool, form: str) -> None:
    if form == "json":
        document: dict[str, object] = {
            "dry_run": dry_run,
            "kinds": [asdict(c) for c in result.counts],
            "warnings": list(result.warnings),
        }
        if result.corrected is not None:
            document["corrected"] = {
                "items": list(result.corrected),
                "earlier_spans_kept": result.kept,
            }
        print_json(document)
        return
    _print_counts(result.counts, dry_run=dry_run)
    if result.corrected is not None:
        verb = "would replace" if dry_run else "replaced"
        click.echo(
            f"{verb} the gold spans of {pluralize(len(result.corrected), 'item')}; "
            f"{pluralize(result.kept, 'earlier span')} kept (claimwise corpus history)"
            if result.corrected
            else "no gold span differs from the stored ones"
        )
    _print_warnings(result.warnings)
    if not result.counts:
        click.echo("the files are empty: nothing to import")


def _import_sheets(
    paths: Sequence[Path],
    run_id: str | None,
    said: tuple[Sequence[str], Sequence[str], str | None],
    *,
    skip_unmatched: bool,
    lenient: bool,
    dry_run: bool,
    store: str | None,
    form: str,
) -> None:
    """Import labels from spreadsheets, and say what became of them."""
    # Loaded when needed: finding quotes takes more than other imports should wait for.
    from claimwise.labelling.sheet_import import import_sheets
    from claimwise.labelling.sheets import SheetOptions, read_pairs

    columns, values, labeler = said
    options = SheetOptions(
        columns=read_pairs("--map", columns),
        values=read_pairs("--values", values),
        labeler=labeler,
    )
    with open_project_store(current_project(), store) as opened:
        done = import_sheets(
            opened,
            paths,
            resolve_run(opened, run_id),
            options,
            datetime.now(UTC).replace(tzinfo=None),
            skip_unmatched=skip_unmatched,
            lenient=lenient,
            dry_run=dry_run,
        )
    if form == "json":
        print_json(
            {
                "dry_run": dry_run,
                "columns": done.columns,
                "rows": done.rows,
                "known": done.known,
                "unmatched": [str(problem) for problem in done.unmatched],
                "slots_filled": done.filled,
                "kinds": [asdict(c) for c in done.counts],
                "warnings": list(done.warnings),
            }
        )
        return
    _print_sheets(done, dry_run=dry_run)


def _print_sheets(done: SheetImport, *, dry_run: bool) -> None:
    used = ", ".join(f"{field}={column}" for field, column in done.columns.items())
    if used:
        click.echo(make_printable(f"Columns used: {used}"))
    _print_counts(done.counts, dry_run=dry_run)
    if done.known:
        click.echo(f"There already: {pluralize(done.known, 'label')}")
    if done.filled:
        click.echo(f"Places of open rounds filled: {done.filled:,}")
    _print_warnings(done.warnings)
    if not done.rows:
        click.echo("no labels in the files: nothing to import")


def _print_counts(counts: Sequence[LoadCount], *, dry_run: bool) -> None:
    verb = "would add" if dry_run else "added"
    for count in counts:
        parts = [f"{verb} {count.added:,}"] if count.added else []
        if count.updated:
            parts.append(f"changed {count.updated:,}")
        if count.unchanged:
            parts.append(f"{count.unchanged:,} there already")
        click.echo(f"{count.kind:<20} {', '.join(parts) or f'{verb} nothing'}")


def _print_warnings(warnings: Sequence[str]) -> None:
    for warning in warnings:
        click.echo(f"warning: {make_printable(warning)}", err=True)
