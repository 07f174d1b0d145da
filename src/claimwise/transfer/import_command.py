"""``claimwise import``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from claimwise.command.options import (
    current_project,
    format_option,
    open_project_store,
    print_json,
    store_option,
)
from claimwise.errors import make_printable
from claimwise.readers import KINDS
from claimwise.transfer import ImportResult, import_files


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
@click.option("--update", is_flag=True, help="Update stored sources, items and runs that differ.")
@click.option(
    "--lenient", is_flag=True, help="Accept labels that break the labelling guide, and count them."
)
@click.option("--dry-run", is_flag=True, help="Check everything without writing anything.")
@store_option
@format_option("text", "json")
def command(
    paths: tuple[Path, ...],
    kind: str | None,
    reader: str | None,
    update: bool,
    lenient: bool,
    dry_run: bool,
    store: str | None,
    form: str,
) -> None:
    """Import JSON Lines, CSV or Parquet files, or a folder of them.

    All or nothing: if a file has errors, the store stays as it was. Rows that are already stored
    are skipped, so you can repeat an import. docs/data-format.md describes the records.
    Plug-ins can read other formats; a file named after what it holds (labels.jsonl) is not given
    to them.
    """
    project = current_project()
    with open_project_store(project, store) as opened:
        result = import_files(
            opened,
            paths,
            kind=kind,
            query_types=project.query_types,
            update=update,
            dry_run=dry_run,
            reader=reader,
            lenient=lenient,
        )
    if form == "json":
        print_json(
            {
                "dry_run": dry_run,
                "kinds": [asdict(c) for c in result.counts],
                "warnings": list(result.warnings),
            }
        )
    else:
        _print_counts(result, dry_run=dry_run)


def _print_counts(result: ImportResult, *, dry_run: bool) -> None:
    verb = "would add" if dry_run else "added"
    for count in result.counts:
        parts = [f"{verb} {count.added:,}"]
        if count.updated:
            parts.append(f"changed {count.updated:,}")
        if count.unchanged:
            parts.append(f"{count.unchanged:,} there already")
        click.echo(f"{count.kind:<20} {', '.join(parts)}")
    for warning in result.warnings:
        click.echo(f"warning: {make_printable(warning)}", err=True)
    if not result.counts:
        click.echo("the files are empty: nothing to import")
