"""Reads folders of Hugging Face data sets: what ``save_to_disk`` writes, or a downloaded one.

Parquet, Arrow, JSON Lines and CSV are read as tables. Loading scripts are not run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from claimwise.disk.input import refuse
from claimwise.readers.arrow import read_arrow
from claimwise.readers.evalfiles.records import Numbered, read_records
from claimwise.readers.evalfiles.rows import TableFormat, read_table
from claimwise.readers.outside import RecordKind, Records

_MARKS = ("dataset_info.json", "dataset_dict.json", "dataset_infos.json", "state.json")
_NOT_DATA = frozenset({*_MARKS, "config.json"})
_ENDINGS = (".parquet", ".arrow", ".jsonl", ".csv")
_MOST_FILES = 1000
_FORMAT = TableFormat("huggingface")


class FolderReader:
    """Reads the rows of all files of a data set; the split that a file is of is kept."""

    yields: RecordKind = "traces"

    def recognise(self, path: Path, head: bytes) -> float | None:
        """Go by the files of a folder."""
        if head or not path.is_dir():
            return None
        if any((path / name).is_file() for name in _MARKS):
            return 0.9
        return 0.6 if any(_list_files(path)) else None

    def read(self, path: Path, options: Mapping[str, str]) -> Records:
        """Yield answers row by row, file by file."""
        files = list(_list_files(path))
        if not files:
            raise refuse(
                path, "a folder without data", f"files, not links, ending in {', '.join(_ENDINGS)}"
            )
        return read_table(path, options, _FORMAT, _read_files(path, files))


def _list_files(path: Path) -> Iterator[Path]:
    """Yield the data of a folder and of those in it, hidden and linked ones aside."""
    found = sorted([*path.glob("*"), *path.glob("*/*"), *path.glob("*/*/*")])
    files = [
        one
        for one in found
        if one.suffix in _ENDINGS
        and one.name not in _NOT_DATA
        and one.is_file()
        and not one.is_symlink()
        and not any(part.startswith(".") for part in one.relative_to(path).parts)
    ]
    if len(files) > _MOST_FILES:
        raise refuse(path, f"{len(files):,} files", f"at most {_MOST_FILES:,}")
    yield from files


def _read_files(folder: Path, files: list[Path]) -> Numbered:
    number = 0
    splits = {_find_split(folder, file) for file in files}
    for file in files:
        rows: Numbered = (
            read_arrow(file, nested=True) if file.suffix == ".arrow" else read_records(file)
        )
        for _, record in rows:
            number += 1
            if isinstance(record, dict) and len(splits) > 1:
                record = {"split": _find_split(folder, file), **record}
            yield number, record


def _find_split(folder: Path, file: Path) -> str:
    """Return the split of a file: ``test-00000-of-00001.parquet``, or ``test/data.arrow``."""
    name = file.name.partition(".")[0].partition("-")[0]
    inner = file.parent.name
    return inner if name == "data" and file.parent != folder else name
