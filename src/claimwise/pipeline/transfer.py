"""Files to store, store to files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from claimwise.errors import InputError, Problem
from claimwise.ingest import KINDS, is_data_file, read_rows, write_files
from claimwise.store import LoadCount, Store
from claimwise.types.rows import QUERY_TYPES, ROW_TYPES, Item, Label, Placed


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
) -> ImportResult:
    """Read files into the store, all or nothing.

    Args:
        store: where to.
        paths: files, or folders of files named after what they hold (``labels.jsonl``).
        kind: what the files hold, when neither names nor records say it.
        query_types: the query types that items may have.
        update: change curated rows that differ from the stored ones.
        dry_run: check everything and write nothing.

    Raises:
        InputError: something is wrong with a file; nothing was written.
    """
    files = list(_list_files(paths))
    doubts: Counter[str] = Counter()
    rows = _watch(read_rows(files, kind=kind, query_types=query_types), doubts)
    counts = store.load(rows, [str(path) for path in files], update=update, dry_run=dry_run)
    warnings = tuple(f"{count:,} {what}" for what, count in doubts.items())
    return ImportResult(counts=tuple(counts), warnings=warnings)


def export_store(store: Store, folder: Path, form: str) -> list[tuple[Path, int]]:
    """Write everything in the store to one file per kind of row; return files and row counts."""
    with store.snapshot():
        return write_files(folder, form, ((t, store.read_rows(t)) for t in ROW_TYPES))


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
        if isinstance(row, Label):
            if row.verdict == "supported" and row.supporting_span is None:
                doubts["labels say supported without a span: the guide asks for one"] += 1
        elif isinstance(row, Item) and row.answerable and row.query_type == "unanswerable":
            doubts["items of type unanswerable are marked answerable: metrics go by the mark"] += 1
        yield placed
