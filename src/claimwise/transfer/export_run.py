"""Writes a run for another tool, with the verdicts on its claims: ``claimwise export --to``."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from claimwise.disk.output import move_into_place, work_folder
from claimwise.errors import ClaimwiseError, describe_unknown
from claimwise.store import Store
from claimwise.text.formulas import guard_cell
from claimwise.transfer.outgoing import (
    OutgoingAnswer,
    OutgoingRun,
    read_outgoing_answers,
    read_outgoing_run,
)
from claimwise.transfer.target import Record, Target

if TYPE_CHECKING:
    from claimwise.calibration.status import CalibrationStatuses

# name -> module; its TARGET says what is written. Hugging Face gets a folder, and is by itself.
_MODULES: Final = {
    "ragas": "ragas",
    "deepeval": "deepeval",
    "promptfoo": "promptfoo",
    "inspect": "inspect",
    "langfuse-scores": "langfuse",
    "phoenix-annotations": "phoenix",
    "opik": "opik",
    "mlflow": "mlflow",
    "otel": "otel",
}
_FOLDER = "huggingface"
TARGETS: Final = (*_MODULES, _FOLDER)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunExport:
    """What was written: files with their numbers of records, and what had to stay behind."""

    files: tuple[tuple[Path, int], ...]
    notes: tuple[str, ...] = ()


def export_run(
    store: Store,
    run_id: str,
    target: str,
    output: Path,
    *,
    form: str | None = None,
    standings: CalibrationStatuses | None = None,
) -> RunExport:
    """Write a run's answers and the verdicts on their claims as another tool reads them.

    Args:
        store: where the run is.
        run_id: the run.
        target: one of ``TARGETS``.
        output: the file to write; for Hugging Face the folder.
        form: jsonl, json, csv or parquet, where the tool reads several; else as the file's name
            says, else the usual one.
        standings: how judges stand by their calibrations; told beside their agreement.

    Raises:
        ClaimwiseError: there is no such run, target or form, or nothing can be written.
    """
    if target not in TARGETS:
        raise ClaimwiseError(describe_unknown("target", target, TARGETS))
    with store.snapshot():
        run = read_outgoing_run(store, run_id, standings)
        answers = read_outgoing_answers(store, run_id)
        try:
            if target == _FOLDER:
                return _write_folder(run, answers, output, form)
            return _write_file(run, answers, target, output, form)
        except OSError as error:
            raise ClaimwiseError(f"{output}: {error.strerror}; nothing was written") from error


def _write_folder(
    run: OutgoingRun, answers: Iterator[OutgoingAnswer], folder: Path, form: str | None
) -> RunExport:
    from claimwise.transfer.targets.huggingface import FORMS, write_dataset

    chosen = _choose_form(_FOLDER, FORMS, form, folder)
    watched = _Watch(run.run.run_id)
    files = write_dataset(run, watched.follow(answers), folder, chosen)
    return RunExport(files=tuple(files), notes=watched.list_notes())


def _write_file(
    run: OutgoingRun,
    answers: Iterator[OutgoingAnswer],
    name: str,
    path: Path,
    form: str | None,
) -> RunExport:
    target: Target = import_module(f"claimwise.transfer.targets.{_MODULES[name]}").TARGET
    chosen = _choose_form(name, target.forms, form, path)
    if path.is_dir():
        raise ClaimwiseError(f"{path}: a folder; name the file to write")
    watched = _Watch(run.run.run_id, target)
    records = (
        record for answer in watched.follow(answers) for record in target.make_records(run, answer)
    )
    with _open_output(path) as file:
        count = _write_records(file, run, target, chosen, records)
        watched.refuse_nothing(name)
    return RunExport(files=((path, count),), notes=watched.list_notes())


@contextmanager
def _open_output(path: Path) -> Iterator[IO[str]]:
    """Open a file for writing: it gets its name when all went well; a pipe is written as it is."""
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8", newline="") as file:
            yield file
        return
    final = path.resolve()
    with work_folder(final.parent) as work:
        with (work / "part").open("w", encoding="utf-8", newline="") as file:
            yield file
        move_into_place(work / "part", final)


def _choose_form(target: str, forms: tuple[str, ...], form: str | None, path: Path) -> str:
    """Return the form that was asked for, or that the file's name says, or the usual one.

    Raises:
        ClaimwiseError: the tool does not read it.
    """
    if form is not None and form not in forms:
        raise ClaimwiseError(
            f"{target} has no format {form}; leave out --format or choose {' or '.join(forms)}"
        )
    named = path.suffix.removeprefix(".").lower()
    return form or (named if named in forms else forms[0])


def _write_records(
    file: IO[str], run: OutgoingRun, target: Target, form: str, records: Iterator[Record]
) -> int:
    """Write all records in a form; return how many there were."""
    if form == "jsonl":
        count = 0
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
            count += 1
        return count
    found = list(records)
    if form == "csv":
        _write_csv(file, found)
        return len(found)
    assert target.wrap is not None, "a JSON file is one document"
    json.dump(target.wrap(run, found), file, ensure_ascii=False, indent=1)
    file.write("\n")
    return len(found)


def _write_csv(file: IO[str], records: list[Record]) -> None:
    """Write a table of all columns that occur; lists are JSON, which Python reads as well."""
    columns = list(dict.fromkeys(name for record in records for name in record))
    writer = csv.writer(file, lineterminator="\r\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(columns)
    for record in records:
        cells: Iterable[object] = (record.get(name) for name in columns)
        writer.writerow([guard_cell(_to_cell(value)) for value in cells])


def _to_cell(value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


class _Watch:
    """Passes on the answers that a tool can take, and counts the others."""

    def __init__(self, run_id: str, target: Target | None = None) -> None:
        self._run_id = run_id
        self._per_trace = target is not None and target.per_trace
        self._numbers_only = target is not None and target.numbers_only
        self._taken = 0
        self._untraced = 0
        self._unrated = 0
        self._judged = 0
        self._unscored = 0

    def follow(self, answers: Iterable[OutgoingAnswer]) -> Iterator[OutgoingAnswer]:
        for answer in answers:
            if self._per_trace and answer.trace_id is None:
                self._untraced += 1
                continue
            self._judged += answer.judged
            if self._numbers_only and answer.rate is None:
                self._unrated += 1
                continue
            self._taken += 1
            self._unscored += answer.unscored
            yield answer

    def refuse_nothing(self, target: str) -> None:
        """Complain when no answer is left: an empty file would look like success.

        Raises:
            ClaimwiseError: the run has no answer that the tool can take.
        """
        if self._taken:
            return
        if self._unrated:
            raise ClaimwiseError(
                f"run {self._run_id}: no answer has a verdict, and {target} takes numbers only; "
                f"judge first with `claimwise verify --run {self._run_id}`"
            )
        if self._untraced:
            raise ClaimwiseError(
                f"run {self._run_id}: no answer has a trace id, and {target} takes scores of its "
                "own traces only; read the answers from that tool's traces with "
                "`claimwise measure`, or give them a trace_id and import them"
            )
        raise ClaimwiseError(f"run {self._run_id}: no answers to export; import them first")

    def list_notes(self) -> tuple[str, ...]:
        """Say what stayed behind and what has no verdict."""
        notes = []
        if self._untraced:
            notes.append(f"left out: {_count(self._untraced, 'answer')} without a trace id")
        if self._unrated:
            notes.append(f"left out: {_count(self._unrated, 'answer')} without a verdict")
        if self._unscored:
            notes.append(f"{_count(self._unscored, 'claim')} without a verdict, marked as unscored")
        if not self._judged:
            notes.append(f"nothing is judged yet: run `claimwise verify --run {self._run_id}`")
        return tuple(notes)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
