"""Reads several answers to one question: a file each, or rows of one file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from claimwise.disk.input import refuse
from claimwise.readers.documents import STDIN, read_sources
from claimwise.readers.files import MAX_LOADED_BYTES, guess_format, read_lines
from claimwise.readers.problems import Complaint
from claimwise.readers.read import decode_object

_NAMES = ("answer_text", "answer")
_EXPECTED = "an object with answer_text, the answer"


def read_answer_files(paths: Sequence[Path]) -> tuple[dict[str, str], list[str]]:
    """Return answers by name, in order, and what a reader should know of them.

    A text file is one answer, named by its path; a folder stands for the text files in it. A
    ``.jsonl`` file has an answer a line: an object with ``answer_text`` (or ``answer``), as rows
    of answers are; ``null`` is an answer that the system did not give, and is left out. Rows that
    name several items are answers to several questions, and refused.

    Raises:
        InputError: something can't be read.
    """
    found: dict[str, str] = {}
    warnings: list[str] = []
    for path in paths:
        if path != STDIN and guess_format(path) == "jsonl":
            found.update(_read_rows(path, warnings))
        else:
            sources, told = read_sources([path])
            found.update((source.source_id, source.source_text) for source in sources)
            warnings += told
    return found, warnings


def _read_rows(path: Path, warnings: list[str]) -> Iterator[tuple[str, str]]:
    item: object = None
    for number, data in read_lines(path, most=MAX_LOADED_BYTES):
        try:
            record = decode_object(data)
        except Complaint as complaint:
            raise refuse(path, complaint.found, complaint.expected, line=number) from complaint
        name = next((name for name in _NAMES if name in record), None)
        text = None if name is None else record[name]
        if name is None or not (text is None or isinstance(text, str)):
            raise refuse(path, "another object", _EXPECTED, line=number)
        item = record.get("item_id", item) if item is None else item
        if record.get("item_id", item) != item:
            raise refuse(
                path,
                f"item_id {record['item_id']!r} after {item!r}",
                "answers to one question; import a run with samples and use --run for more",
                line=number,
            )
        if text is None:
            warnings.append(f"{path}:{number}: the system gave no answer: left out")
        else:
            yield f"{path.name}:{number}", text
