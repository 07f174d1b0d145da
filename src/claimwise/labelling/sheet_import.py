"""Adds the labels of spreadsheets to a run: finds the claims they mean, and fills open rounds.

A row names its claim by id or by text; the text is compared as it stands, then without case,
spacing, typographic variants and the full stop. Labels keep the rules that all labels keep. A row
without a time gets the time of the import, and one that repeats what its labeler has said of the
claim before adds nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from claimwise.errors import InputError, Problem
from claimwise.judges.quotes import QuoteFinder
from claimwise.labelling.rounds import list_rounds, query_of
from claimwise.labelling.sheets import Sheet, SheetOptions, SheetRow, read_sheet
from claimwise.labelling.tasks import (
    StoredClaim,
    StoredTask,
    list_asked_claims,
    list_tasks,
    read_log,
    read_task_sources,
)
from claimwise.readers.problems import Complaint, make_problem, show
from claimwise.report.format import pluralize
from claimwise.store import LoadCount, Store
from claimwise.store.lookup import find_run, select_rows
from claimwise.types.label_rules import describe_breaches
from claimwise.types.rows import ClosedBookLabel, Judgement, Label, Placed, Source

_SHOWN: Final = 20
_QUOTES: Final = str.maketrans("“”„‟«»‘’‚‛`´", "\"\"\"\"\"\"''''''")
_EDGES: Final = " \"'.!?;:,…。！？"
_SPACE: Final = re.compile(r"\s+")


class SheetImport(NamedTuple):
    """What became of the rows of spreadsheets."""

    counts: tuple[LoadCount, ...]
    rows: int  # with a label
    known: int  # repeat what their labelers had said before
    unmatched: tuple[Problem, ...]  # left out
    filled: int  # slots of open rounds
    columns: dict[str, str]
    warnings: tuple[str, ...]


class _Said(NamedTuple):
    """What a label says, whenever it was given."""

    verdict: str
    supporting_span: str | None
    source_id: str | None
    covered_text: str | None
    reason: str | None


class _Evidence(NamedTuple):
    source_id: str | None = None
    supporting_span: str | None = None


class _Match(NamedTuple):
    """A row, the claim that it means, the task of an open round, and when it was said."""

    row: SheetRow
    claim: StoredClaim
    task: StoredTask | None
    labeled_at: datetime
    said: _Said


def normalise_claim(text: str) -> str:
    """Return a claim without case, spacing, typographic variants and the marks at its ends."""
    plain = unicodedata.normalize("NFKC", text.translate(_QUOTES)).translate(_QUOTES)
    return _SPACE.sub(" ", plain).strip(_EDGES).casefold()


def import_sheets(
    store: Store,
    paths: Sequence[Path],
    run_id: str,
    options: SheetOptions,
    now: datetime,
    *,
    skip_unmatched: bool = False,
    lenient: bool = False,
    dry_run: bool = False,
) -> SheetImport:
    """Add the labels of spreadsheets to a run, all or none.

    Labels of a claim that an open round asks for carry the round's guide and the claim's chance
    of being drawn, and take a slot of its task, so that rates can be corrected by them.

    Args:
        store: where the run is.
        paths: CSV, JSON or Parquet files with one line per label.
        run_id: the run that was labelled.
        options: which column and which word means what.
        now: the time of labels without one (UTC without a zone).
        skip_unmatched: leave out rows that mean no claim, or more than one.
        lenient: take labels that break the labelling guide, and count them.
        dry_run: check everything and write nothing.

    Raises:
        InputError: a row is wrong, or means no claim or several; nothing was written.
        StoreError: there is no such run.
    """
    find_run(store, run_id)
    sheets = [read_sheet(path, number, options) for number, path in enumerate(paths)]
    rows = [row for sheet in sheets for row in sheet.rows]
    _refuse([problem for sheet in sheets for problem in sheet.problems])
    finder = _ClaimFinder(store, run_id, {row.judgement for row in rows})
    found, unmatched = finder.find_all(rows)
    if not skip_unmatched:
        _refuse(unmatched, "nothing was imported; --skip-unmatched leaves such rows out")
    matches, doubts = _Reader(store, run_id, now, lenient=lenient).read_all(found)
    new, known = _leave_out_known(store, run_id, matches)
    filled = 0

    def finish() -> None:
        nonlocal filled
        filled = sum(_fill_slot(store, match, now) for match in (*new, *known))
        for match in new:
            if match.row.judgement == "grounded":
                store.execute(query_of("queue_done"), {**match.claim.params, "now": now})

    counts = store.load(
        [Placed(_make_label(match), match.row.file_no, match.row.line) for match in new],
        [str(path) for path in paths],
        lenient=lenient,
        dry_run=dry_run,
        then=finish,
    )
    return SheetImport(
        counts=tuple(counts),
        rows=len(rows),
        known=len(matches) - len(new),
        unmatched=tuple(unmatched),
        filled=filled,
        columns={field: name for sheet in sheets for field, name in sheet.columns.items()},
        warnings=tuple(_list_warnings(sheets, counts, unmatched, doubts)),
    )


def _list_warnings(
    sheets: Sequence[Sheet],
    counts: Sequence[LoadCount],
    unmatched: Sequence[Problem],
    doubts: Sequence[Problem],
) -> Iterator[str]:
    empty = sum(sheet.empty for sheet in sheets)
    if empty:
        yield f"left out {pluralize(empty, 'row')} without a label"
    for problems, what in (
        (unmatched, "left out {}: no claim matches, or several do"),
        (doubts, "took {} without the quote, which is in no document of the answer"),
    ):
        if problems:
            yield what.format(pluralize(len(problems), "row"))
            yield from (str(problem) for problem in problems[:_SHOWN])
            if len(problems) > _SHOWN:
                yield f"… and {len(problems) - _SHOWN:,} more like these"
    against_guide = sum(count.against_guide for count in counts)
    if against_guide:
        yield f"{describe_breaches(against_guide)}: reports say so beside their figures"


def _refuse(problems: Sequence[Problem], hint: str = "") -> None:
    if problems:
        raise InputError(problems[:_SHOWN], more=len(problems) > _SHOWN, hint=hint)


class _ClaimFinder:
    """The claims of a run, by id and by text."""

    def __init__(self, store: Store, run_id: str, judgements: Iterable[Judgement]) -> None:
        self._run_id = run_id
        self._claims: dict[tuple[Judgement, str], list[StoredClaim]] = defaultdict(list)
        for judgement in judgements:
            for claim in list_asked_claims(store, run_id, judgement):
                keys = (claim.claim_id, claim.claim_text, normalise_claim(claim.claim_text))
                for key in {f"{n} {key}" for n, key in enumerate(keys)}:
                    self._claims[judgement, key].append(claim)

    def find_all(
        self, rows: Iterable[SheetRow]
    ) -> tuple[list[tuple[SheetRow, StoredClaim]], list[Problem]]:
        """Return the rows with their claims, and those that mean no claim or several."""
        found, problems = [], []
        for row in rows:
            try:
                found.append((row, self._find(row)))
            except Complaint as complaint:
                problems.append(make_problem(row.path, row.line, complaint))
        return found, problems

    def _find(self, row: SheetRow) -> StoredClaim:
        keys = (row.claim_id, row.claim, normalise_claim(row.claim))
        several: list[StoredClaim] = []
        for number, key in enumerate(keys):
            named = self._claims.get((row.judgement, f"{number} {key}"), []) if key else []
            left = [claim for claim in named if _is_meant(row, claim)]
            if len(left) == 1:
                return left[0]
            several = several or left
        field = "claim" if row.claim else "claim_id"
        said = show(row.claim or row.claim_id)
        if several:
            items = ", ".join(sorted({claim.item_id for claim in several})[:5])
            raise Complaint(
                field,
                f"{said}, which {len(several):,} claims say ({items})",
                "one: add a column with the question, the item or the claim_id",
            )
        raise Complaint(field, said, f"a claim of run {self._run_id}: is --run right?")


def _is_meant(row: SheetRow, claim: StoredClaim) -> bool:
    """Tell whether item and question, as far as a row gives them, are the claim's."""
    if row.item and row.item != claim.item_id:
        return False
    return not row.question or normalise_claim(row.question) == normalise_claim(claim.query)


class _Reader:
    """Reads what rows say against what is stored: their quotes, their times, their rounds."""

    def __init__(self, store: Store, run_id: str, now: datetime, *, lenient: bool) -> None:
        self._store = store
        self._run_id = run_id
        self._now = now
        self._lenient = lenient
        self._tasks: dict[Judgement, dict[tuple[str, str], StoredTask]] = {}
        self._finders: dict[tuple[str, int], QuoteFinder] = {}
        self._doubts: list[Problem] = []

    def read_all(
        self, found: Iterable[tuple[SheetRow, StoredClaim]]
    ) -> tuple[list[_Match], list[Problem]]:
        """Return what rows say, and quotes that are in no document where labels may go without.

        Raises:
            InputError: a row can't be taken.
        """
        matches, problems = [], []
        for row, claim in found:
            try:
                matches.append(self._read(row, claim))
            except Complaint as complaint:
                problems.append(make_problem(row.path, row.line, complaint))
        _refuse(problems)
        return matches, self._doubts

    def _read(self, row: SheetRow, claim: StoredClaim) -> _Match:
        evidence = self._read_evidence(row, claim)
        said = _Said(
            verdict=row.verdict,
            supporting_span=evidence.supporting_span,
            source_id=evidence.source_id,
            covered_text=_read_covered(row, claim),
            reason=row.reason or None,
        )
        labeled_at = row.labeled_at or self._now
        return _Match(row, claim, self._find_task(row, claim, labeled_at), labeled_at, said)

    def _find_task(self, row: SheetRow, claim: StoredClaim, said_at: datetime) -> StoredTask | None:
        """Return the claim's task in the latest open round that was there when it was labelled."""
        if row.judgement not in self._tasks:
            self._tasks[row.judgement] = dict(self._list_tasks(row.judgement))
        task = self._tasks[row.judgement].get((claim.item_id, claim.claim_id))
        if task is None:
            return None
        begun = task.round_created_at
        same_day = row.whole_day and said_at.date() == begun.date()
        return task if said_at >= begun or same_day else None

    def _list_tasks(self, judgement: Judgement) -> Iterator[tuple[tuple[str, str], StoredTask]]:
        """Yield the tasks of the run's open rounds by claim, those of the latest round last."""
        for one in reversed(list_rounds(self._store, open_only=True)):
            if one.judgement == judgement:
                for task in list_tasks(self._store, one.round_id):
                    if task.run_id == self._run_id:  # a window's round draws from several runs
                        yield (task.item_id, task.claim_id), task

    def _read_evidence(self, row: SheetRow, claim: StoredClaim) -> _Evidence:
        if not row.evidence and not row.source:
            return _Evidence()
        if row.judgement == "closed_book":
            expected = f"none with {row.verdict}: a closed-book label rests on no source"
            raise Complaint("evidence", show(row.evidence or row.source), expected)
        if claim.claim_type == "action":
            return _Evidence(supporting_span=self._find_entry(row, claim))
        if not row.evidence:
            return _Evidence(source_id=self._find_source(row, claim).source_id)
        return self._find_quote(row, claim)

    def _find_entry(self, row: SheetRow, claim: StoredClaim) -> str:
        """Return the text of the log entry that an action claim rests on, by its text or its id."""
        for entry in read_log(self._store, claim):
            if row.evidence in (entry.entry_text, entry.entry_id):
                return entry.entry_text
        raise Complaint("evidence", show(row.evidence), "an entry of the answer's action log")

    def _find_quote(self, row: SheetRow, claim: StoredClaim) -> _Evidence:
        """Return where a quote stands: in the document that the row names, or the answer's."""
        if row.source:
            named = self._find_source(row, claim)
            finder, where = QuoteFinder([named]), f"in {named.source_id}"
        else:
            finder, where = self._find_documents(claim), "in the answer's documents"
        located = finder.locate(row.evidence)
        if located is not None and not located.approximate:
            return _Evidence(located.span.source_id, located.span.text)
        complaint = Complaint("evidence", show(row.evidence), f"text that stands {where}")
        if not self._lenient:
            raise complaint
        self._doubts.append(make_problem(row.path, row.line, complaint))
        return _Evidence()

    def _find_documents(self, claim: StoredClaim) -> QuoteFinder:
        key = claim.item_id, claim.sample
        if key not in self._finders:
            sources = [
                Source(
                    source_id=one.source_id,
                    corpus_ver=claim.corpus_ver,
                    source_text=one.source_text,
                )
                for one in read_task_sources(self._store, claim)
            ]
            self._finders[key] = QuoteFinder(sources)
        return self._finders[key]

    def _find_source(self, row: SheetRow, claim: StoredClaim) -> Source:
        """Return the document that a row names by id, title or address."""
        where = "where corpus_ver = :ver and (source_id = :name or title = :name or url = :name)"
        found = select_rows(self._store, Source, where, ver=claim.corpus_ver, name=row.source)
        by_id = [one for one in found if one.source_id == row.source]
        found = by_id or found
        if len(found) == 1:
            return found[0]
        number = "no" if not found else f"{len(found):,}"
        raise Complaint(
            "source",
            f"{show(row.source)}, which {number} documents are called",
            f"the id of a document of corpus version {claim.corpus_ver}",
        )


def _read_covered(row: SheetRow, claim: StoredClaim) -> str | None:
    if not row.covered:
        return None
    if row.covered not in claim.claim_text or row.covered == claim.claim_text:
        raise Complaint("covered", show(row.covered), "a part of the claim, letter by letter")
    return row.covered


def _leave_out_known(
    store: Store, run_id: str, matches: Sequence[_Match]
) -> tuple[list[_Match], list[_Match]]:
    """Return what is new, and what people have said before with the time when they did.

    Who says twice in one file what a claim is, without a time, contradicts themselves.

    Raises:
        InputError: someone does.
    """
    given = _read_given(store, run_id, {match.row.judgement for match in matches})
    new: dict[tuple[Any, ...], _Match] = {}
    known, problems = [], []
    for match in matches:
        row, claim = match.row, match.claim
        key = (row.judgement, claim.item_id, claim.claim_id, row.labeler)
        times = given.get((*key, match.said), [])
        if row.labeled_at in times or (times and row.labeled_at is None):
            known.append(match._replace(labeled_at=row.labeled_at or times[-1]))
            continue
        first = new.setdefault((*key, match.labeled_at), match)
        if first is not match and first.said != match.said:
            found = f"another label of this claim by {row.labeler} at the same time"
            expected = f"one (the first is in line {first.row.line}), or a column with the date"
            complaint = Complaint("label", found, expected)
            problems.append(make_problem(row.path, row.line, complaint))
    _refuse(problems)
    return list(new.values()), known


def _read_given(
    store: Store, run_id: str, judgements: Iterable[Judgement]
) -> dict[tuple[Any, ...], list[datetime]]:
    """Return when people said what of a run's claims, taken back or not."""
    given: dict[tuple[Any, ...], list[datetime]] = defaultdict(list)
    for judgement in judgements:
        for item_id, claim_id, labeler, told, *said in store.query(
            query_of(f"given_{judgement}"), {"run_id": run_id}
        ):
            key = (judgement, item_id, claim_id, labeler, _Said._make(said))
            given[key].append(msgspec.convert(told, datetime))
    return given


def _make_label(match: _Match) -> Label | ClosedBookLabel:
    task = match.task
    shared: dict[str, Any] = {
        "run_id": match.claim.run_id,
        "item_id": match.claim.item_id,
        "claim_id": match.claim.claim_id,
        "labeler": match.row.labeler,
        "labeled_at": match.labeled_at,
        "label_kind": "human",
        "guide_version": task.guide_version if task else None,
        "inclusion_probability": task.inclusion_probability if task else None,
    }
    said: dict[str, Any] = match.said._asdict()
    if match.row.judgement == "closed_book":
        return ClosedBookLabel(**shared, label=said["verdict"], decision_basis=said["reason"])
    return Label(**shared, **said)


def _fill_slot(store: Store, match: _Match, now: datetime) -> int:
    """Mark what an open round no longer has to ask; return how many slots that filled."""
    if match.task is None:
        return 0
    params = {
        "task_id": match.task.task_id,
        "labeler": match.row.labeler,
        "labeled_at": match.labeled_at,
        "now": now,
    }
    return store.execute(query_of("fill_slot", match.task.judgement), params)
