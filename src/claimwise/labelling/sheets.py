"""Reads labels from anyone's spreadsheet: CSV, JSON or Parquet with one line per label.

Columns and verdicts are recognised by their usual names; ``--map`` and ``--values`` name others.
Nothing here knows a store: a row says what someone typed, and where.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from claimwise.errors import InputError, Problem, describe_unknown
from claimwise.readers.evalfiles.records import read_records
from claimwise.readers.problems import Complaint, holds_nul, make_problem, show
from claimwise.text.formulas import unguard_cell
from claimwise.types.rows import Judgement
from claimwise.types.verdicts import CHOICES

# What a column may be called for each thing that it can hold, in small letters.
COLUMN_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "claim": ("claim", "claim_text", "statement", "sentence"),
    "claim_id": ("claim_id",),
    "label": ("label", "verdict"),
    "who": ("who", "labeler", "labeller", "annotator", "rater", "reviewer"),
    "evidence": ("evidence", "span", "quote", "supporting_span"),
    "source": ("source", "source_id", "document"),
    "covered": ("covered", "covered_text"),
    "reason": ("reason", "comment", "comments", "note", "notes", "rationale"),
    "date": ("date", "labeled_at", "labelled_at", "timestamp"),
    "question": ("question", "query"),
    "item": ("item", "item_id"),
}
# The columns of a list that `claimwise claims` wrote, and those about the label that decides so
# far: who labels in such a list adds columns of their own.
_LISTED: Final = frozenset({"claim_id", "judgement", "label_kind"})
_DECIDED: Final = frozenset(
    {"verdict", "labeler", "labeled_at", "evidence", "source_id", "covered_text", "reason"}
)
_MOST_ROWS: Final = 1_000_000  # they are kept in memory until all are known to be right
_JUDGES: Final = ("verifier:", "judge:")
_LONGEST_NAME: Final = 200
_TIME: Final = "a day or a time such as 2026-11-15 or 2026-11-15T09:30:00Z"


class SheetRow(NamedTuple):
    """One label as someone typed it, and the line where it stands."""

    path: Path
    file_no: int
    line: int
    claim: str
    claim_id: str
    question: str
    item: str
    verdict: str
    judgement: Judgement
    labeler: str
    evidence: str
    source: str
    covered: str
    reason: str
    labeled_at: datetime | None  # UTC without a zone
    whole_day: bool  # only the day is known


class Sheet(NamedTuple):
    """What a file holds: labels, what is wrong, lines without a label, columns that were used."""

    rows: list[SheetRow]
    problems: list[Problem]
    empty: int
    columns: dict[str, str]


class SheetOptions(NamedTuple):
    """What a user says about a file."""

    columns: Mapping[str, str] = {}  # --map, as given: both sides as they were written
    values: Mapping[str, str] = {}  # --values: what the file says to what we say
    labeler: str | None = None  # who labelled, if no column says so


def read_pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    """Return the pairs of an option: ``A=B,C=D``, quoted as in CSV where a comma is meant.

    Raises:
        InputError: a part is no pair.
    """
    pairs: dict[str, str] = {}
    for part in csv.reader(given, skipinitialspace=True):
        for text in part:
            left, sign, right = text.rpartition("=")
            if not sign or not left.strip():
                raise InputError([_refuse_option(option, text, "A=B, with commas between pairs")])
            pairs[left.strip()] = right.strip()
    return pairs


def _refuse_option(option: str, found: str, expected: str) -> Problem:
    return Problem(path=option, line=None, field=None, found=show(found), expected=expected)


def read_sheet(path: Path, file_no: int, options: SheetOptions) -> Sheet:
    """Read a file of labels; a line without a label is counted and left out.

    Raises:
        InputError: the file can't be read, or its columns don't say what is needed.
    """
    values = _read_values(options.values)
    records = list(_read_records(path))
    columns = _choose_columns(path, [record for _, record in records], options)
    sheet = Sheet([], [], 0, columns)
    empty = 0
    for line, record in records:
        cells = {name: _to_text(record.get(column)) for name, column in columns.items()}
        if not cells.get("label"):
            empty += 1
            continue
        try:
            row = _read_row(path, file_no, line, cells, values, options.labeler)
            sheet.rows.append(row)
        except Complaint as complaint:
            sheet.problems.append(make_problem(path, line, complaint))
    return sheet._replace(empty=empty)


def _read_records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the lines of a file with their numbers.

    Raises:
        InputError: a line can't be read, or there are too many.
    """
    for number, (line, record) in enumerate(read_records(path), start=1):
        if isinstance(record, Problem):
            raise InputError([record])
        if number > _MOST_ROWS:
            complaint = Complaint(None, f"over {_MOST_ROWS:,} lines", "fewer: split the file")
            raise InputError([make_problem(path, line, complaint)])
        if holds_nul(record):
            complaint = Complaint(None, "a NUL character", "text without one")
            raise InputError([make_problem(path, line, complaint)])
        yield line, record


def _to_text(value: object) -> str:
    """Return what a cell says; times and truth values as they would be typed.

    Our own CSV files guard cells that a spreadsheet would take for formulas.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, date) else unguard_cell(str(value)).strip()


def _choose_columns(
    path: Path, records: Sequence[Mapping[str, Any]], options: SheetOptions
) -> dict[str, str]:
    """Return which column holds what: as the user says, then by the usual names."""
    known = list(dict.fromkeys(name for record in records for name in record))
    chosen = dict(_read_map(known, options.columns))
    taken = set(chosen.values()) | (_DECIDED if _LISTED.issubset(known) else set())
    for field, names in COLUMN_NAMES.items():
        if field in chosen:
            continue
        found = [name for name in known if _fold_name(name) in names and name not in taken]
        if len(found) > 1:
            listed = " and ".join(f"“{name}”" for name in found)
            complaint = Complaint(None, f"the columns {listed}", f"one: --map {field}=COLUMN")
            raise InputError([make_problem(path, 1, complaint)])
        if found:
            chosen[field] = found[0]
    chosen = {field: column for field, column in chosen.items() if column}
    _check_columns(path, known, chosen, options.labeler)
    return chosen


def _read_map(known: Sequence[str], given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what the user says of columns: ``who=COLUMN``, or ``COLUMN=who``; ``who=`` for none."""
    fields = {name: field for field, names in COLUMN_NAMES.items() for name in (field, *names)}
    for left, right in given.items():
        if left in fields and (right in known or not right):
            yield fields[left], right
        elif left in known and right in fields:
            yield fields[right], left
        elif left in fields:
            raise InputError(
                [_refuse_map(f"{left}={right}", describe_unknown("column", right, known))]
            )
        else:
            unknown = describe_unknown("field", left, COLUMN_NAMES)
            raise InputError([_refuse_map(f"{left}={right}", unknown)])


def _refuse_map(given: str, message: str) -> Problem:
    return Problem(path=f"--map {given}", line=None, field=None, found=message, expected="")


def _check_columns(
    path: Path, known: Sequence[str], chosen: Mapping[str, str], labeler: str | None
) -> None:
    """Refuse a file that does not say which claim, which label, or who."""
    if not known:  # an empty file
        return
    needed = {
        "the claim (--map claim=COLUMN)": "claim" in chosen or "claim_id" in chosen,
        "the label (--map label=COLUMN)": "label" in chosen,
        "who labelled (--map who=COLUMN, or --labeler NAME)": "who" in chosen or bool(labeler),
    }
    missing = [what for what, there in needed.items() if not there]
    if missing:
        found = f"the columns {', '.join(known)}"
        complaint = Complaint(None, found, f"one that says {' and one that says '.join(missing)}")
        raise InputError([make_problem(path, 1, complaint)])


def _fold_name(name: str) -> str:
    return "_".join(name.casefold().replace("-", " ").replace("_", " ").split())


def _read_values(given: Mapping[str, str]) -> dict[str, str]:
    """Return verdicts by what a file may say: our own names, and those that the user gives."""
    own = {name: name for names in CHOICES.values() for name in names}
    values = {_fold_name(name): name for name in own}
    for said, verdict in given.items():
        if _fold_name(verdict) not in values or verdict not in own:
            message = describe_unknown("verdict", verdict, own)
            place = f"--values {said}={verdict}"
            raise InputError(
                [Problem(path=place, line=None, field=None, found=message, expected="")]
            )
    return values | {_fold_name(said): verdict for said, verdict in given.items()}


def _read_row(
    path: Path,
    file_no: int,
    line: int,
    cells: Mapping[str, str],
    values: Mapping[str, str],
    labeler: str | None,
) -> SheetRow:
    verdict = values.get(_fold_name(cells["label"]))
    if verdict is None:
        expected = f"{', '.join(dict.fromkeys(values.values()))}, or a name given with --values"
        raise Complaint("label", show(cells["label"]), expected)
    labeled_at, whole_day = _read_time(cells.get("date", ""))
    judgement: Judgement = "closed_book" if verdict in CHOICES["closed_book"] else "grounded"
    return SheetRow(
        path=path,
        file_no=file_no,
        line=line,
        claim=cells.get("claim", ""),
        claim_id=cells.get("claim_id", ""),
        question=cells.get("question", ""),
        item=cells.get("item", ""),
        verdict=verdict,
        judgement=judgement,
        labeler=_read_labeler(cells.get("who") or labeler or ""),
        evidence=cells.get("evidence", ""),
        source=cells.get("source", ""),
        covered=cells.get("covered", ""),
        reason=cells.get("reason", ""),
        labeled_at=labeled_at,
        whole_day=whole_day,
    )


def _read_labeler(name: str) -> str:
    if not 0 < len(name) <= _LONGEST_NAME or name.startswith(_JUDGES):
        raise Complaint("who", show(name) if name else "nothing", "the name of a person")
    return name


def _read_time(text: str) -> tuple[datetime | None, bool]:
    """Return a time in UTC without a zone, and whether only the day is known."""
    if not text:
        return None, False
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError) as error:
        raise Complaint("date", show(text), _TIME) from error
    return moment, len(text) <= len("2026-11-15")
