"""``claimwise export``."""

from __future__ import annotations

from pathlib import Path

import click

from claimwise.calibration.queries import list_calibrations
from claimwise.command.options import (
    current_project,
    format_option,
    open_project_store,
    store_option,
)
from claimwise.errors import ClaimwiseError, StoreError, make_printable
from claimwise.readers import FORMATS
from claimwise.store import Store
from claimwise.transfer import export_store


@click.command("export", short_help="Export everything in the store to files.")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@format_option(*FORMATS)
@store_option
def command(folder: Path, form: str, store: str | None) -> None:
    """Write one file per kind of record to FOLDER, ready to be imported again.

    A folder of Parquet files is itself a store: `claimwise metrics --store FOLDER` runs the same
    SQL on it with DuckDB.
    """
    with open_project_store(current_project(), store) as opened:
        try:
            written = export_store(opened, folder, form, calibrated=_can_calibrate(opened))
        except OSError as error:
            raise ClaimwiseError(f"{folder}: {error.strerror}; nothing was written") from error
    for path, count in written:
        click.echo(f"{path}  {count:,}")


def _can_calibrate(store: Store) -> bool:
    """Tell whether the store's calibrations can be read; one that can't keeps no data back."""
    try:
        list_calibrations(store)
    except StoreError as error:
        told = make_printable(str(error))
        click.echo(f"warning: probabilities are not calibrated: {told}", err=True)
        return False
    return True
