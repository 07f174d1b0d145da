"""Files to store, store to files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from claimwise.calibration.values import Probability
from claimwise.corpus.changes import correct_spans
from claimwise.corpus.values import DOUBTS
from claimwise.errors import ClaimwiseError, InputError, Problem, StoreError, describe_unknown
from claimwise.readers import (
    KINDS,
    is_data_file,
    make_arrow_reader,
    read_rows,
    read_table_rows,
    write_files,
)
from claimwise.readers.documents import CorpusDocuments
from claimwise.store import LoadCount, Store
from claimwise.store.corpora import read_texts
from claimwise.transfer.fill_in import fill_in
from claimwise.transfer.label_parts import import_label_parts
from claimwise.types.label_rules import describe_breaches
from claimwise.types.rows import QUERY_TYPES, ROW_TYPES, Item, Placed, Row, Source

_SHOWN = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportResult:
    """What an import read and what it added."""

    counts: tuple[LoadCount, ...]
    warnings: tuple[str, ...]
    corrected: tuple[str, ...] | None = None  # items whose gold spans were replaced
    kept: int = 0  # earlier gold spans


def import_files(
    store: Store,
    paths: Sequence[Path],
    *,
    kind: str | None = None,
    query_types: Collection[str] = QUERY_TYPES,
    update: bool = False,
    dry_run: bool = False,
    reader: str | None = None,
    lenient: bool = False,
    fill: bool = False,
    processes: int = 1,
) -> ImportResult:
    """Read files into the store, all or nothing.

    Args:
        store: where to.
        paths: files, or folders of files named after what they hold (``labels.jsonl``).
        kind: what the files hold, when neither names nor records say it.
        query_types: the query types that items may have.
        update: change curated rows that differ from the stored ones.
        dry_run: check everything and write nothing.
        reader: the name of the reader for all paths, which may then be folders of its format;
            else each file's format is recognised.
        lenient: take labels that break the labelling guide; the warnings say how many.
        fill: make the documents, runs, answers and claims that the files take for granted.
        processes: how many may read a large file of labels; a script that asks for more than one
            must guard its own code by ``if __name__ == "__main__"``, as Python asks of all that
            start processes.

    Raises:
        ClaimwiseError: something is wrong with a file, or the reader can't be used; nothing was
            written.
    """
    files = list(paths if reader else _list_files(paths))
    doubts: Counter[str] = Counter()
    notes: list[str] = []
    if not (reader or update or dry_run or fill):
        done = import_label_parts(store, files, kind, lenient=lenient, processes=processes)
        if done is not None:
            return ImportResult(counts=(done,), warnings=tuple(_warn_of_guide([done])))
    found: Iterable[Placed] = read_rows(
        files, kind=kind, query_types=query_types, reader=reader, notes=notes
    )
    if fill:
        found, made = fill_in(store, list(found))
        notes += [made] if made else []
    counts = store.load(
        _watch(found, doubts),
        [str(path) for path in files],
        update=update,
        dry_run=dry_run,
        lenient=lenient,
    )
    warnings = [*notes, *(DOUBTS[name].describe(count) for name, count in doubts.items() if count)]
    return ImportResult(counts=tuple(counts), warnings=(*warnings, *_warn_of_guide(counts)))


def import_arrow(
    store: Store,
    table: object,
    *,
    kind: str | None = None,
    query_types: Collection[str] = QUERY_TYPES,
    update: bool = False,
    dry_run: bool = False,
    lenient: bool = False,
) -> ImportResult:
    """Read an Arrow table into the store, all or nothing, one record batch at a time.

    Args:
        store: where to.
        table: a table or a RecordBatchReader of pyarrow, or whatever else has
            ``__arrow_c_stream__``; columns are named like the fields.
        kind: what it holds, such as labels, when it has no column ``type``.
        query_types: the query types that items may have.
        update: change curated rows that differ from the stored ones.
        dry_run: check everything and write nothing.
        lenient: take labels that break the labelling guide; the warnings say how many.

    Raises:
        ClaimwiseError: something is wrong with a row, or pyarrow is not installed; nothing was
            written.
    """
    doubts: Counter[str] = Counter()
    counts = store.load(
        _watch(read_table_rows(table, kind=kind, query_types=query_types), doubts),
        ["Arrow table"],
        update=update,
        dry_run=dry_run,
        lenient=lenient,
    )
    warnings = [DOUBTS[name].describe(count) for name, count in doubts.items() if count]
    return ImportResult(counts=tuple(counts), warnings=(*warnings, *_warn_of_guide(counts)))


@contextmanager
def export_arrow(store: Store, kind: str) -> Iterator[Any]:
    """Give one kind of rows, such as labels, as a pyarrow RecordBatchReader, within ``with``.

    Rows come in the order of their keys and are read as they are asked for, a batch at a time, all
    from one state of the store.

    Raises:
        ClaimwiseError: there is no such kind, or pyarrow is not installed.
    """
    if kind not in KINDS:
        raise ClaimwiseError(describe_unknown("kind", kind, KINDS))
    with store.snapshot(), make_arrow_reader(KINDS[kind], store.read_rows(KINDS[kind])) as reader:
        yield reader


def _warn_of_guide(counts: Iterable[LoadCount]) -> Iterator[str]:
    against_guide = sum(count.against_guide for count in counts)
    if against_guide:
        yield f"{describe_breaches(against_guide)}: reports say so beside their figures"


def import_documents(
    store: Store,
    paths: Sequence[Path],
    corpus_ver: str,
    *,
    update: bool = False,
    dry_run: bool = False,
) -> ImportResult:
    """Read folders and files of documents into a corpus version, all or nothing.

    Documents that are there already are skipped. A corpus version is a snapshot: one that has
    changed since is refused, unless ``update`` says that the stored text was wrong.

    Raises:
        ClaimwiseError: a document can't be read or has changed; nothing was written.
    """
    documents = CorpusDocuments(paths, corpus_ver)
    rows = list(documents)
    if not update:
        _refuse_changed(store, paths, corpus_ver, [row for row, _, _ in rows])
    places = [str(file) for file in documents.files]
    counts = store.load(rows, places, update=update, dry_run=dry_run)
    return ImportResult(counts=tuple(counts), warnings=tuple(documents.notes))


def import_corrections(
    store: Store,
    paths: Sequence[Path],
    *,
    who: str,
    reason: str,
    corpus_ver: str | None = None,
    kind: str | None = None,
    query_types: Collection[str] = QUERY_TYPES,
    update: bool = False,
    dry_run: bool = False,
    reader: str | None = None,
) -> ImportResult:
    """Read files whose gold spans replace those of the same items; see ``correct_spans``.

    Raises:
        ClaimwiseError: something is wrong with a file; nothing was written.
    """
    files = list(paths if reader else _list_files(paths))
    notes: list[str] = []
    done = correct_spans(
        store,
        read_rows(files, kind=kind, query_types=query_types, reader=reader, notes=notes),
        [str(path) for path in files],
        who=who,
        reason=reason,
        corpus_ver=corpus_ver,
        update=update,
        dry_run=dry_run,
    )
    return ImportResult(
        counts=tuple(done.counts),
        warnings=tuple(notes),
        corrected=tuple(done.items),
        kept=done.kept,
    )


def _refuse_changed(
    store: Store, paths: Sequence[Path], corpus_ver: str, rows: Sequence[Row]
) -> None:
    texts = {row.source_id: row.source_text for row in rows if isinstance(row, Source)}
    stored = read_texts(store, corpus_ver, texts)
    changed = [name for name in stored if stored[name] != texts[name]]
    if changed:
        shown = ", ".join(changed[:_SHOWN]) + (", …" if len(changed) > _SHOWN else "")
        count = "1 document differs" if len(changed) == 1 else f"{len(changed):,} documents differ"
        raise StoreError(
            f"{paths[0]}: {count} from corpus {corpus_ver} as stored ({shown}); import the folder "
            "as a new version (--corpus NAME), or replace the stored text with --update"
        )


def export_store(
    store: Store, folder: Path, form: str, *, calibrated: bool = True
) -> list[tuple[Path, int]]:
    """Write everything in the store to one file per kind of row; return files and row counts.

    Where an instrument has a calibration with a map, one more file holds the probabilities of its
    labels, as given and calibrated. It is not imported again: the map is applied, never stored. One
    that an earlier export left there is replaced, by an empty one if need be: maps expire.

    Args:
        store: what to write.
        folder: where to; made when missing.
        form: jsonl, csv, parquet or arrow.
        calibrated: whether to apply calibrations; without, none is read.

    Raises:
        StoreError: a calibration can't be read, or the store can't be used.
    """
    # Loaded when needed: an import should not wait for it.
    from claimwise.calibration.probabilities import list_probabilities
    from claimwise.calibration.status import read_calibration_statuses

    with store.snapshot():
        standings = read_calibration_statuses(store) if calibrated else None
        tables = [(t, store.read_rows(t)) for t in ROW_TYPES]
        old = folder / f"{Probability.kind}.{form}"
        if old.exists() or (standings and standings.list_mapped()):
            found = list_probabilities(store, standings) if standings else iter(())
            tables.append((Probability, map(asdict, found)))
        return write_files(folder, form, tables)


def _list_files(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield files, and the files of folders that are named after a kind of row."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        found = sorted(file for file in path.iterdir() if file.is_file() and is_data_file(file))
        if not found:
            expected = (
                f"files named after what they hold, as {', '.join(KINDS)}; or, for a folder of "
                "documents, --corpus VERSION"
            )
            problem = Problem(
                path=str(path),
                line=None,
                field=None,
                found="a folder without data",
                expected=expected,
            )
            raise InputError([problem])
        yield from found


def _watch(rows: Iterable[Placed], doubts: Counter[str]) -> Iterator[Placed]:
    """Count what is allowed but looks like a mistake."""
    for placed in rows:
        row = placed.row
        if isinstance(row, Item):
            doubts["marked_answerable"] += bool(row.answerable and row.query_type == "unanswerable")
            doubts["gold_answer"] += bool(row.answerable is False and row.gold_answer)
        yield placed
