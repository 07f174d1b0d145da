"""Reads Excel workbooks (.xlsx): one sheet's rows, row by row. Extra: excel (openpyxl).

Read is the first visible sheet with a row that names the columns that are looked for, else the
first that is not empty. Formulas are what they showed when the workbook was saved.
"""

from __future__ import annotations

import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from datetime import date, time
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias
from xml.etree.ElementTree import ParseError

from claimwise.disk.input import open_input, refuse
from claimwise.errors import MissingExtraError
from claimwise.readers.evalfiles.archives import read_members

MAX_COLUMNS = 1_000
_ADVICE = "a workbook that Excel saved, or its sheet as CSV"
_PAGE = 1_000
_HIGHEST_HEADER = 20  # rows that may stand above it: a title, a date
# What openpyxl does not expect of a damaged file comes as these.
_DAMAGED = (
    zipfile.BadZipFile, zlib.error, ParseError, ValueError, KeyError, TypeError, IndexError,
    AttributeError, OverflowError, OSError, AssertionError,
)  # fmt: skip

SheetRows: TypeAlias = Iterator[tuple[int, list[Any]]]


def is_workbook(head: bytes) -> bool:
    """Tell a workbook by the first bytes of its file: a ZIP file with a sheet among its members."""
    return head.startswith(b"PK\x03\x04") and b"xl/" in head


def read_workbook(path: Path, is_wanted: Callable[[list[str]], bool]) -> SheetRows:
    """Yield the rows of a workbook's sheet with their numbers, without empty ones.

    Args:
        path: the workbook.
        is_wanted: whether a row names the columns that are looked for.

    Raises:
        InputError: it is damaged, encrypted or too large.
        MissingExtraError: openpyxl is not installed.
    """
    if find_spec("openpyxl") is None:
        raise MissingExtraError("an Excel workbook", "excel")
    import openpyxl

    for _ in read_members(path, lambda _: True):
        pass  # what unpacks to more than the limits is refused before anything is kept
    try:
        with open_input(path) as file:
            book = _quietly(lambda: openpyxl.load_workbook(file, read_only=True, data_only=True))
            with closing(book):
                visible = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
                yield from _choose_sheet([_read_sheet(path, sheet) for sheet in visible], is_wanted)
    except _DAMAGED as error:
        found = f"a damaged workbook ({type(error).__name__}: {error})"
        raise refuse(path, found, _ADVICE) from error


def _quietly(work: Callable[[], Any]) -> Any:
    """Do work without openpyxl's warnings of styles and checks, which nobody reads here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return work()


def _choose_sheet(sheets: Iterable[SheetRows], is_wanted: Callable[[list[str]], bool]) -> SheetRows:
    """Return the rows of the sheet that is read; what stands above its header is left out."""
    first: SheetRows | None = None
    for rows in sheets:
        begun = list(islice(rows, _HIGHEST_HEADER))
        for place, (_, row) in enumerate(begun):
            if is_wanted([str(name) for name in row]):
                return chain(begun[place:], rows)
        if first is None and begun:
            first = chain(begun, rows)
    return first or iter(())


def _read_sheet(path: Path, sheet: Any) -> SheetRows:
    sheet.reset_dimensions()  # what a file says of its own size may be wrong
    numbered = enumerate(sheet.iter_rows(values_only=True), start=1)
    while page := _quietly(lambda: list(islice(numbered, _PAGE))):
        for number, row in page:
            if len(row) > MAX_COLUMNS:
                found, most = f"{len(row):,} columns", f"at most {MAX_COLUMNS:,}: delete empty ones"
                raise refuse(path, found, most, line=number)
            values = [_to_plain(value) for value in row]
            if any(value is not None for value in values):
                yield number, values


def _to_plain(value: Any) -> Any:
    """Return a cell as JSON would have it; a text is stripped, and an empty one is None."""
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, str):
        return value.strip() or None
    return value
