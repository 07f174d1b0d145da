"""``claimwise export``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from claimwise.calibration.status import CalibrationStatuses, read_calibration_statuses
from claimwise.command.options import current_project, open_project_store, resolve_run, store_option
from claimwise.errors import ClaimwiseError, StoreError, make_printable
from claimwise.readers import FORMATS
from claimwise.report.format import pluralize
from claimwise.store import Store
from claimwise.transfer import export_run, export_store
from claimwise.transfer.export_run import TARGETS


@click.command("export", short_help="Export the store, or a run for another tool.")
@click.argument("output", type=click.Path(path_type=Path))
@click.option(
    "--to",
    "target",
    type=click.Choice(TARGETS),
    metavar="TOOL",
    help=f"Write one run with its verdicts for another tool: {', '.join(TARGETS)}.",
)
@click.option("--run", "run_id", metavar="RUN", help="Run to write with --to (default: latest).")
@click.option(
    "--format",
    "form",
    type=click.Choice([*FORMATS, "json"]),
    help="Output format (default: jsonl; with --to, what the tool usually reads).",
)
@store_option
def command(
    output: Path, target: str | None, run_id: str | None, form: str | None, store: str | None
) -> None:
    """Write everything in the store to the folder OUTPUT, ready to be imported again.

    One file per kind of record. A folder of Parquet files is itself a store: `claimwise metrics
    --store FOLDER` runs the same SQL on it with DuckDB.

    With --to, write one run to the file OUTPUT instead: questions, answers and contexts, the
    verdict on each claim with evidence and reason, and each answer's share of supported claims.
    Every figure names its judge and how often it agrees with people; claims without a verdict are
    marked as unscored. Nothing is sent anywhere. For huggingface, OUTPUT is a folder.
    """
    if target is None and run_id is not None:
        raise click.UsageError("--run goes with --to; without --to the whole store is exported")
    if target is None and form == "json":
        raise click.UsageError("--format json goes with --to; choose jsonl, csv, parquet or arrow")
    with open_project_store(current_project(), store) as opened:
        standings = _read_standings(opened)
        if target is None:
            written = _export_all(opened, output, form or "jsonl", calibrated=standings is not None)
        else:
            chosen = resolve_run(opened, run_id)
            result = export_run(opened, chosen, target, output, form=form, standings=standings)
            written = result.files
            for note in result.notes:
                click.echo(f"note: {make_printable(note)}", err=True)
    empty = 0
    for path, count in written:
        empty += not count
        if count:
            click.echo(f"{path}  {count:,}")
    if empty:
        click.echo(f"{pluralize(empty, 'file')} without rows")


def _export_all(
    store: Store, folder: Path, form: str, *, calibrated: bool
) -> Iterable[tuple[Path, int]]:
    if folder.exists() and not folder.is_dir():
        raise ClaimwiseError(f"{folder}: a file; name the folder to write to")
    try:
        return export_store(store, folder, form, calibrated=calibrated)
    except OSError as error:
        raise ClaimwiseError(f"{folder}: {error.strerror}; nothing was written") from error


def _read_standings(store: Store) -> CalibrationStatuses | None:
    """Return how judges stand; calibrations that can't be read keep no data back."""
    try:
        return read_calibration_statuses(store)
    except StoreError as error:
        told = make_printable(str(error))
        click.echo(f"warning: probabilities are not calibrated: {told}", err=True)
        return None
