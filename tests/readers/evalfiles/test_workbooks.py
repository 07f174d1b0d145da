"""Excel workbooks: which sheet and rows are read, what cells become, and files that are no good."""

from __future__ import annotations

import io
import random
import sys
import zipfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from claimwise.errors import InputError, MissingExtraError
from claimwise.readers.evalfiles.records import read_records
from claimwise.readers.evalfiles.workbooks import MAX_COLUMNS
from readers.evalfiles.reading import list_texts, read_file, write

HEADER = ["Question", "Answer", "Contexts"]
MOMENT = datetime.fromisoformat("2026-01-02T09:30:00")
ROW = ["How tall is it?", "It is 146 m tall.", "['The tower is 139 m tall.']"]


def write_book(path: Path, sheets: Mapping[str, Sequence[Sequence[Any]]], hidden: str = "") -> Path:
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        sheet.sheet_state = "hidden" if name == hidden else "visible"
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


@pytest.mark.parametrize("name", ["results.xlsx", "results.dat"])
def test_table_is_read_whatever_stands_around_it(name: str, tmp_path: Path) -> None:
    sheets: dict[str, list[list[Any]]] = {
        "Notes": [["Evaluation of November"], ["by", "ana"]],
        "Old": [HEADER, ["Hidden?", "Yes.", ""]],
        "Results": [["Run 7"], [], [*HEADER, None, "when"], [*ROW, "no name", None], [], ROW],
    }
    found = read_file(write_book(tmp_path / name, sheets, hidden="Old"))
    assert found.reader == "table"
    assert found.said == "read as table: question ← Question, answer ← Answer, contexts ← Contexts"
    assert [trace.question for trace in found.traces] == [ROW[0]] * 2
    assert list_texts(found.traces[0]) == ["The tower is 139 m tall."]
    assert found.problems == []


def test_cells_are_what_json_would_hold(tmp_path: Path) -> None:
    rows: list[list[Any]] = [
        ["text", "whole", "part", "truth", "time", "none", "text"],
        [" a\nb ", 3, 1.5, True, MOMENT, None, "again"],
        ["=1+1", " ", None, None, None, None, None],  # never calculated: it shows nothing
    ]
    [(number, record)] = read_records(write_book(tmp_path / "a.xlsx", {"A": rows}))
    assert number == 2
    assert record == {
        "text": "a\nb", "whole": 3, "part": 1.5, "truth": True, "time": "2026-01-02T09:30:00",
        "none": None, "text.1": "again",
    }  # fmt: skip


def test_workbook_without_a_table_says_what_is_missing(tmp_path: Path) -> None:
    path = write_book(tmp_path / "a.xlsx", {"A": [["name", "score"], ["x", 1]], "B": []})
    with pytest.raises(InputError, match=r"a\.xlsx: found .*name.*score.*expected.*question"):
        read_file(path)
    assert list(read_records(write_book(tmp_path / "b.xlsx", {"A": []}))) == []


def test_too_many_columns_are_refused(tmp_path: Path) -> None:
    path = write_book(tmp_path / "a.xlsx", {"A": [HEADER, [*ROW, *[1] * MAX_COLUMNS]]})
    with pytest.raises(InputError, match=r"a\.xlsx:2: found 1,003 columns, expected at most 1,000"):
        list(read_records(path))


def test_sheet_that_lies_about_its_size_is_read_row_by_row(tmp_path: Path) -> None:
    """One cell at the far end: neither memory nor time for all that would lie before it."""
    path = write_book(tmp_path / "a.xlsx", {"A": [HEADER, ROW]})
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet] = parts[sheet].replace(b"A1:C2", b"A1:XFD1048576").replace(
        b"</sheetData>", b'<row r="900000"><c r="B900000"><v>7</v></c></row></sheetData>'
    )  # fmt: skip
    write_parts(path, parts)
    assert [number for number, _ in read_records(path)] == [2, 900_000]


def write_parts(path: Path, parts: Mapping[str, bytes]) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as book:
        for name, data in parts.items():
            book.writestr(name, data)
    path.write_bytes(packed.getvalue())


def test_damaged_workbooks_are_refused_in_one_line(tmp_path: Path) -> None:
    path = write_book(tmp_path / "a.xlsx", {"A": [HEADER, ROW, [*ROW[:2], MOMENT]]})
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    chance = random.Random(7)
    told = []
    for _ in range(150):
        name = chance.choice([*parts])
        data = bytearray(parts[name])
        for _ in range(3):
            data[chance.randrange(len(data))] = chance.choice(b'<>"/09AZ&; \x00\xff')
        write_parts(path, {**parts, name: bytes(data)})
        try:
            list(read_records(path))
        except InputError as error:
            told.append(str(error))
    assert len(told) > 50
    assert all(one.startswith(f"{path}: found ") for one in told)
    assert {len(one.splitlines()) for one in told} == {1}


def test_other_zip_files_are_no_workbooks(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    write_parts(path, {"[Content_Types].xml": b"<Types/>", "xl/none.xml": b"<a/>"})
    with pytest.raises(InputError, match=r"a\.xlsx: found a damaged workbook"):
        list(read_records(path))
    with pytest.raises(InputError, match="found a damaged ZIP file"):
        list(read_records(write(path, b"PK\x03\x04 and then xl/ nothing")))


def test_without_openpyxl_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = write_book(tmp_path / "a.xlsx", {"A": [HEADER, ROW]})
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match=r"an Excel workbook needs the extra “excel”"):
        read_file(path)
