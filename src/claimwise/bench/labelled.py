"""Reads folders of labelled claims: a set per file, a claim per line.

A row has ``document``, ``claim``, ``label`` (1 supported, 0 not) and ``group`` (the answer or item
that the claim belongs to; without it the row's ``id``, or else the row by itself). Anything else
in a row is left alone. docs/bench-verifier.md describes the format.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from claimwise.disk.input import refuse
from claimwise.errors import InputError, Problem
from claimwise.readers.files import MAX_LOADED_BYTES, read_lines
from claimwise.readers.json_keys import find_repeated_key
from claimwise.readers.problems import Complaint, show
from claimwise.types.accuracy import BenchClaim

ENDINGS = (".jsonl", ".jsonl.xz", ".jsonl.gz")
_COLUMNS = ("document", "claim", "label")
_SHOWN_PROBLEMS = 20
_SHOWN_LINES = 5


class LabelledSet(NamedTuple):
    """The claims of a file, and what was left out of it and why; without claims it is no set."""

    claims: list[BenchClaim]
    left_out: str | None


def find_sets(folder: Path, chosen: Collection[str] = ()) -> dict[str, Path]:
    """Return the files of a folder by the names of their sets; only those chosen, if any are.

    Raises:
        InputError: there is no such folder, no such set, nothing to read, or one name twice.
    """
    if not folder.is_dir():
        found = "a file, not a folder" if folder.exists() else "no such folder"
        raise refuse(folder, f"{found}; name a folder of labelled sets (*{', *'.join(ENDINGS)})")
    sets: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        name = _name_set(path)
        if name is None:
            continue
        if name in sets:
            raise refuse(path, f"a second file of the set {name}", "one file for each set")
        sets[name] = path
    if not sets:
        raise refuse(folder, "no labelled sets", f"files that end in {', '.join(ENDINGS)}")
    for name in chosen:
        if name not in sets:
            raise refuse(folder, f"no set {show(name)}", f"one of {', '.join(sets)}")
    return {name: path for name, path in sets.items() if not chosen or name in chosen}


def _name_set(path: Path) -> str | None:
    """Return what a file's set is called, or None for files of another kind."""
    ending = next((ending for ending in ENDINGS if path.name.endswith(ending)), None)
    if ending is None or path.name.startswith(".") or not path.is_file():
        return None
    return path.name.removesuffix(ending)


def read_set(path: Path) -> LabelledSet:
    """Read the labelled claims of a file.

    A file where no row has one of the columns, or any document, is no labelled set. In a set a
    document may be empty; a row whose claim is empty, null or missing has nothing to judge and is
    left out. Anything else that is amiss is an error.

    Raises:
        InputError: rows of a set are broken; lists the first of them.
    """
    records, problems = _read_records(path)
    reason = _find_reason([record for _, record in records])
    # A file without one readable line is broken rather than of another kind.
    if reason is not None and (records or not problems):
        return LabelledSet([], reason)
    claims: list[BenchClaim] = []
    without_claim: list[int] = []
    for number, record in records:
        try:
            claim = _read_claim(record, number)
        except Complaint as complaint:
            problems.append(_place(path, number, complaint))
            continue
        if claim.claim.strip():
            claims.append(claim)
        else:
            without_claim.append(number)
    if problems:
        problems.sort(key=lambda problem: problem.line or 0)
        raise InputError(problems[:_SHOWN_PROBLEMS], more=len(problems) > _SHOWN_PROBLEMS)
    return LabelledSet(claims, _count_rows(without_claim))


def _read_records(path: Path) -> tuple[list[tuple[int, dict[str, Any]]], list[Problem]]:
    records: list[tuple[int, dict[str, Any]]] = []
    problems: list[Problem] = []
    for number, data in read_lines(path, most=MAX_LOADED_BYTES):
        try:
            records.append((number, _decode(data)))
        except Complaint as complaint:
            problems.append(_place(path, number, complaint))
    return records, problems


def _find_reason(records: list[dict[str, Any]]) -> str | None:
    """Return why records are no labelled set, or None if they are one."""
    if not records:
        return "holds no rows"
    columns = {name: None for record in records for name in record}
    missing = [name for name in _COLUMNS if name not in columns]
    if missing:
        return f"rows lack {' and '.join(missing)}; they hold {', '.join(columns) or 'nothing'}"
    if not any(record.get("document") for record in records):
        return "all documents are empty: there is nothing to check claims against"
    if not any(record.get("claim") for record in records):
        return "all claims are empty"
    return None


def _count_rows(without_claim: list[int]) -> str | None:
    if not without_claim:
        return None
    lines = ", ".join(map(str, without_claim[:_SHOWN_LINES]))
    more = ", …" if len(without_claim) > _SHOWN_LINES else ""
    return f"left out {len(without_claim)} of its rows, which have no claim (line {lines}{more})"


def _decode(data: bytes) -> dict[str, Any]:
    try:
        record = msgspec.json.decode(data)
        repeated = find_repeated_key(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Complaint(None, f"{show(data.strip())} ({error})", "a JSON object") from error
    if not isinstance(record, dict):
        raise Complaint(None, show(record), "a JSON object")
    if repeated is not None:
        raise Complaint(None, f"the key {show(repeated.name)} twice", "each key once")
    return record


def _read_claim(record: dict[str, Any], number: int) -> BenchClaim:
    label = record.get("label")
    # True == 1 == 1.0: files write it in all three ways.
    if not isinstance(label, bool | int | float) or label not in (0, 1):
        raise Complaint("label", show(label), "1 (supported) or 0 (not)")
    return BenchClaim(
        document=_read_text(record, "document"),
        claim=_read_text(record, "claim"),
        supported=bool(label),
        group=_read_group(record, number),
    )


def _read_text(record: dict[str, Any], name: str) -> str:
    text = record.get(name)
    if text is None:
        return ""
    if not isinstance(text, str):
        raise Complaint(name, show(text), "text")
    return text


def _read_group(record: dict[str, Any], number: int) -> str:
    for name in ("group", "id"):
        value = record.get(name)
        if isinstance(value, str | int):
            return str(value)
        if value is not None:
            raise Complaint(name, show(value), "text or a whole number")
    return f"row {number}"


def _place(path: Path, number: int, complaint: Complaint) -> Problem:
    return Problem(
        path=str(path),
        line=number,
        field=complaint.field,
        found=complaint.found,
        expected=f"{complaint.expected}; fix or delete the line",
    )
