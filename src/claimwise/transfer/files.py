"""Files to store, store to files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import asdict

from claimwise.calibration.values import Probability
from claimwise.errors import InputError, Problem
from claimwise.readers import KINDS, is_data_file, read_rows, write_files
from claimwise.store import LoadCount, Store
from claimwise.types.label_rules import describe_breaches
from claimwise.types.rows import QUERY_TYPES, ROW_TYPES, Item, Placed


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportResult:
    """What an import read and what it added."""

    counts: tuple[LoadCount, ...]
    warnings: tuple[str, ...]


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

    Raises:
        ClaimwiseError: something is wrong with a file, or the reader can't be used; nothing was
            written.
    """
    files = list(paths if reader else _list_files(paths))
    doubts: Counter[str] = Counter()
    notes: list[str] = []
    found = read_rows(files, kind=kind, query_types=query_types, reader=reader, notes=notes)
    counts = store.load(
        _watch(found, doubts),
        [str(path) for path in files],
        update=update,
        dry_run=dry_run,
        lenient=lenient,
    )
    warnings = [*notes, *(f"{count:,} {what}" for what, count in doubts.items())]
    against_guide = sum(count.against_guide for count in counts)
    if against_guide:
        warnings.append(f"{describe_breaches(against_guide)}: reports say so beside their figures")
    return ImportResult(counts=tuple(counts), warnings=tuple(warnings))


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
        form: jsonl, csv or parquet.
        calibrated: whether to apply calibrations; without, none is read.

    Raises:
        StoreError: a calibration can't be read, or the store can't be used.
    """
    # Loaded when needed: an import should not wait for it.
    from claimwise.calibration.probabilities import list_probabilities
    from claimwise.calibration.status import read_standings

    with store.snapshot():
        standings = read_standings(store) if calibrated else None
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
            expected = f"files named after what they hold, as {', '.join(KINDS)}"
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
        if isinstance(row, Item) and row.answerable and row.query_type == "unanswerable":
            doubts["items of type unanswerable are marked answerable: metrics go by the mark"] += 1
        yield placed
