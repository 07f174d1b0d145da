"""``claimwise labelstudio``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from claimwise.command.options import (
    current_project,
    open_project_store,
    store_option,
    write_output,
)
from claimwise.errors import make_printable
from claimwise.labelling.labelstudio import export_round, export_run_tasks, import_annotations
from claimwise.labelling.rounds import find_round
from claimwise.report.format import pluralize
from claimwise.types.rows import Judgement


@click.group("labelstudio", short_help="Label in Label Studio: export claims, import labels.")
def command() -> None:
    """Export claims as Label Studio tasks, and import the annotations."""


@command.command("export")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--round", "round_id", metavar="ROUND", help="Export the claims of this round.")
@click.option("--run", "run_id", metavar="RUN", help="Export all claims of this run.")
@click.option(
    "--closed-book", is_flag=True, help="With --run: labelers judge truth without sources."
)
@click.option(
    "--predictions",
    is_flag=True,
    help="Show judges' verdicts to labelers, who then no longer label blind.",
)
@click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the labelling configuration (XML) to this file.",
)
@store_option
def export_command(
    file: Path,
    round_id: str | None,
    run_id: str | None,
    closed_book: bool,
    predictions: bool,
    config: Path | None,
    store: str | None,
) -> None:
    """Write Label Studio tasks as JSON, including the labels given so far."""
    if (round_id is None) == (run_id is None):
        raise click.UsageError("Give either --round or --run.")
    judgement: Judgement = "closed_book" if closed_book else "grounded"
    with open_project_store(current_project(), store) as opened, opened.snapshot():
        if round_id is not None:
            chosen = find_round(opened, round_id).round_id
            made = export_round(opened, chosen, predictions=predictions)
        else:
            assert run_id is not None
            made = export_run_tasks(opened, run_id, judgement, predictions=predictions)
    write_output(json.dumps(made.tasks, ensure_ascii=False, indent=1), file)
    if config is not None:
        write_output(made.config, config)
    click.echo(f"{len(made.tasks):,} tasks")


@command.command("import")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--run", "run_id", metavar="RUN", required=True, help="The run that was labelled.")
@click.option(
    "--labeler",
    "labelers",
    metavar="ID=NAME",
    multiple=True,
    help="Name of a Label Studio user, given by id or e-mail; may be repeated.",
)
@store_option
def import_command(file: Path, run_id: str, labelers: tuple[str, ...], store: str | None) -> None:
    """Import a Label Studio export (format “JSON”) into a run, all of it or nothing.

    Cancelled annotations are counted but left out. Importing the same file again adds
    nothing. Users keep the labeler name of their first import, so nobody counts as two people.
    """
    names = _read_names(labelers)
    with open_project_store(current_project(), store) as opened:
        done = import_annotations(opened, file, run_id, names)
    counts = {"added": done.added, "there already": done.read - done.added}
    told = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    click.echo(f"{pluralize(done.read, 'label')} read{f': {told}' if told else ''}")
    if done.cancelled:
        click.echo(f"{pluralize(done.cancelled, 'cancelled annotation')} left out")
    for given, kept in done.renamed.items():
        told = f"{given} was imported as {kept} before, and stays {kept}"
        click.echo(f"warning: {make_printable(told)}", err=True)


def _read_names(given: Sequence[str]) -> dict[str, str]:
    names = {}
    for one in given:
        key, mark, name = one.partition("=")
        if not (key and mark and name):
            raise click.UsageError(f"--labeler {one!r}: write it as ID=NAME")
        names[key] = name
    return names
