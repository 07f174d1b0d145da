"""Turns a file that is nested too deeply into one line."""

from __future__ import annotations

from pathlib import Path

from claimwise.disk.input import refuse
from claimwise.readers.outside import Records


def guard_depth(path: Path, records: Records) -> Records:
    """Yield records.

    Raises:
        InputError: something in them is nested too deeply to be looked through.
    """
    try:
        yield from records
    except RecursionError as error:
        found = "brackets nested too deeply"
        raise refuse(path, found, "records of question, answer and contexts") from error
