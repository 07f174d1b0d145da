"""Reads what one answer is checked with: the answer, its sources, the log of what was done.

Text is taken as it stands, so that offsets count its characters; only a byte-order mark goes.
What is not text is refused in one line that says what it is.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from claimwise.disk.input import check_length, read_whole, refuse
from claimwise.errors import InputError, Problem
from claimwise.readers.extract import can_read_pdf, extract_html, extract_pdf, is_html
from claimwise.readers.files import MAX_LOADED_BYTES, read_lines
from claimwise.readers.problems import Complaint
from claimwise.readers.read import decode_object
from claimwise.readers.records import convert
from claimwise.types.rows import ActionEntry, Placed, Source

STDIN = Path("-")
MAX_TEXT_BYTES = 64 * 1024 * 1024
# Rows of an answer that is in no store still need these keys.
UNSTORED = "check"
TEXT_ENDINGS = (".txt", ".text", ".md", ".markdown", ".rst")
PAGE_ENDINGS = (".html", ".htm", ".xhtml")
PDF_ENDING = ".pdf"
_PDF_START = b"%PDF-"
_ROW_ENDINGS = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz", ".jsonl.xz", ".ndjson.xz")
_SHOWN_NAMES = 3
# A NUL now and then is dirt; more of them are numbers, or text of two bytes a character.
_NUL_SHARE = 0.1
_KINDS = {
    _PDF_START: "a PDF",
    b"PK\x03\x04": "a ZIP file (or .docx, .xlsx, .odt…)",
    b"\xd0\xcf\x11\xe0": "an old Office file",
    b"{\\rtf": "an RTF file",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"\x1f\x8b": "a gzip file",
    b"\xfd7zXZ": "an xz file",
    b"\x7fELF": "a program",
    b"PAR1": "a Parquet file",
    b"SQLite format 3\x00": "an SQLite file",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}
_EXPECTED = "UTF-8 text"


def read_text(path: Path) -> str:
    """Return the text of a file, or of standard input for ``-``.

    Raises:
        InputError: there is no such file, it is not UTF-8 text, or it is over 64 MB.
    """
    return _decode(path, _read_bytes(path))


def _name_binary(data: bytes) -> str | None:
    """Return what data is that is no text; None for what may be text."""
    for start, kind in _KINDS.items():
        if data.startswith(start):
            return kind
    return "binary data" if data.count(0) > _NUL_SHARE * len(data) else None


def _decode(path: Path, data: bytes) -> str:
    binary = _name_binary(data)
    if binary is not None:
        raise refuse(path, binary, f"{_EXPECTED}: convert it first")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        found = f"the byte 0x{data[error.start]:02x} at position {column}"
        raise refuse(path, found, f"{_EXPECTED}: convert it first", line=line) from error


def _read_bytes(path: Path) -> bytes:
    if path == STDIN:
        # Whoever types or pipes may take their time: this is what they want us to wait for.
        return check_length(path, sys.stdin.buffer.read(MAX_TEXT_BYTES + 1), MAX_TEXT_BYTES)
    return read_whole(path, MAX_TEXT_BYTES)


def check_stdin(paths: Sequence[Path]) -> None:
    """Refuse to read standard input twice: the second reader would find nothing."""
    if sum(path == STDIN for path in paths) > 1:
        raise refuse(STDIN, "standard input named twice", "it once, and files for the rest")


def read_sources(paths: Sequence[Path]) -> tuple[list[Source], list[str]]:
    """Return the documents of files and folders, and what a reader should know of them.

    A file is one document, named by its path: text, or the text of a web page or a PDF. A
    ``.jsonl`` file holds rows of the sources format, in which ``corpus_ver`` may be left out. A
    folder stands for the text files, web pages and PDFs in it and below, hidden ones aside; PDFs
    only where the extra is installed. A file that is named twice is read once.

    Raises:
        InputError: something can't be read, or two documents have one id.
    """
    warnings: list[str] = []
    found: dict[str, Source] = {}
    seen: set[Path] = set()
    for path in _list_files(paths, warnings):
        place = path if path == STDIN else path.resolve()
        if place in seen:
            warnings.append(f"{path} was named twice and read once")
            continue
        seen.add(place)
        for line, source in _read_source_file(path):
            if source.source_id in found:
                twice = f"source_id {source.source_id!r} again"
                raise refuse(path, twice, "each document once, in one version", line=line)
            found[source.source_id] = source
    return list(found.values()), warnings


class CorpusDocuments:
    """The documents of a corpus version, read one by one from files and folders.

    A document of a folder is called by its path within that folder, a single file by its name; the
    rows of a ``.jsonl`` file say their own names. Hidden files and what is no text are left out:
    ``notes`` says how many, as soon as all documents have been read.
    """

    def __init__(self, paths: Sequence[Path], corpus_ver: str) -> None:
        self.notes: list[str] = []
        self.files: list[Path] = []  # of the documents read so far
        self._paths = paths
        self._corpus_ver = corpus_ver
        self._unread: list[tuple[Path, str]] = []

    def __iter__(self) -> Iterator[Placed]:
        """Yield the documents; a second one of the same name is refused.

        Raises:
            InputError: a file can't be read, or its text is not UTF-8.
        """
        seen: dict[str, Path] = {}
        for path in self._paths:
            for file in _list_files([path], self.notes, count_hidden=True):
                self.files.append(file)
                name = file.relative_to(path).as_posix() if path.is_dir() else file.name
                for line, source in self._read(file, name):
                    name = source.source_id
                    if name in seen:
                        found = f"a second document called {name!r} (the first: {seen[name]})"
                        raise refuse(file, found, "each name once", line=line)
                    seen[name] = file
                    yield Placed(source, len(self.files) - 1, line or 1)
        self.notes += [f"{path} was skipped: found {why}" for path, why in self._unread]
        if not seen:
            raise refuse(self._paths[0], "no document that can be read", "; ".join(self.notes))

    def _read(self, file: Path, name: str) -> Iterator[tuple[int | None, Source]]:
        if file.name.lower().endswith(_ROW_ENDINGS):
            yield from _read_source_rows(file, self._corpus_ver)
            return
        data = _read_bytes(file)
        text, unread = None, _name_binary(data)
        if data.startswith(_PDF_START):
            try:
                text = extract_pdf(file, data)
            except InputError as error:  # a scan, or damaged: one of them stops no folder
                unread = error.problems[0].found
        if text is None and unread is not None:
            self._unread.append((file, unread))
            return
        text = _extract_text(file, data) if text is None else text
        record = {
            "source_id": name,
            "corpus_ver": self._corpus_ver,
            "source_text": text.replace("\x00", ""),
        }
        try:
            yield None, cast(Source, convert(record, Source))
        except Complaint as complaint:
            raise _place(complaint, file, None) from complaint


def _list_files(
    paths: Sequence[Path], warnings: list[str], *, count_hidden: bool = False
) -> Iterator[Path]:
    for path in paths:
        if path == STDIN or not path.is_dir():
            yield path
            continue
        files = sorted(file for file in path.rglob("*") if file.is_file())
        shown = [file for file in files if _is_shown(file.relative_to(path))]
        endings = (*TEXT_ENDINGS, *PAGE_ENDINGS, *((PDF_ENDING,) if can_read_pdf() else ()))
        texts = [file for file in shown if file.suffix.lower() in endings]
        unread = [file for file in shown if file.suffix.lower() not in endings]
        pdfs = [file for file in unread if file.suffix.lower() == PDF_ENDING]
        if not texts:
            hint = "; for PDFs: pip install 'claimwise[pdf]'" if pdfs else ""
            expected = f"some {', '.join((*TEXT_ENDINGS, *PAGE_ENDINGS, PDF_ENDING))}{hint}"
            raise refuse(path, "a folder without text files", expected)
        others = [file for file in unread if file not in set(pdfs)]
        hidden = [file for file in files if file not in set(shown)] if count_hidden else []
        for left_out, why in (
            (pdfs, "for want of pip install 'claimwise[pdf]'"),
            (others, "having another ending"),
            (hidden, "being hidden"),
        ):
            if left_out:
                warnings.append(_describe_unread(path, left_out, why))
        yield from texts


def _is_shown(path: Path) -> bool:
    return not any(part.startswith(".") for part in path.parts)


def _describe_unread(folder: Path, files: Sequence[Path], why: str) -> str:
    names = ", ".join(file.name for file in files[:_SHOWN_NAMES])
    more = ", …" if len(files) > _SHOWN_NAMES else ""
    what = "1 file was" if len(files) == 1 else f"{len(files):,} files were"
    return f"{folder}: {what} not read, {why}: {names}{more}"


def _read_source_file(path: Path) -> Iterator[tuple[int | None, Source]]:
    if path.name.lower().endswith(_ROW_ENDINGS):
        yield from _read_source_rows(path)
    else:
        name = "stdin" if path == STDIN else path.as_posix()
        yield None, Source(source_id=name, corpus_ver=UNSTORED, source_text=_read_document(path))


def _read_document(path: Path) -> str:
    return _extract_text(path, _read_bytes(path))


def _extract_text(path: Path, data: bytes) -> str:
    """Return a document's text; that of a web page or a PDF is extracted."""
    if data.startswith(_PDF_START):
        return extract_pdf(path, data)
    text = _decode(path, data)
    if path.suffix.lower() in PAGE_ENDINGS or is_html(text):
        text = extract_html(text)
        if not text:
            raise refuse(path, "a web page without text", "one whose text is in the file itself")
    return text


def _read_source_rows(path: Path, corpus_ver: str = UNSTORED) -> Iterator[tuple[int, Source]]:
    for number, data in read_lines(path, most=MAX_LOADED_BYTES):
        try:
            record = decode_object(data)
            record.pop("type", None)
            row = cast(Source, convert({"corpus_ver": corpus_ver, **record}, Source))
        except Complaint as complaint:
            raise _place(complaint, path, number) from complaint
        yield number, row


def read_action_log(path: Path) -> list[ActionEntry]:
    """Return the entries of a log: one a line, as text or as JSON objects.

    An object's ``entry_text`` is the entry; an object without one, such as a tool call, is taken
    as it stands. Blank lines are no entries: an empty file says that nothing was done.

    Raises:
        InputError: the file is not text, or a line begins like an object and isn't one.
    """
    lines = enumerate(read_text(path).split("\n"), start=1)
    return [_read_entry(path, number, line.strip()) for number, line in lines if line.strip()]


def _read_entry(path: Path, number: int, line: str) -> ActionEntry:
    record: dict[str, Any] = {"entry_text": line}
    try:
        if line.startswith("{"):
            found = decode_object(line.encode())
            found.pop("type", None)
            record = found if "entry_text" in found else record
        key = {"run_id": UNSTORED, "item_id": UNSTORED, "entry_id": str(number)}
        return cast(ActionEntry, convert({**key, **record}, ActionEntry))
    except Complaint as complaint:
        raise _place(complaint, path, number) from complaint


def _place(complaint: Complaint, path: Path, line: int | None) -> InputError:
    problem = Problem(
        path=str(path),
        line=line,
        field=complaint.field,
        found=complaint.found,
        expected=complaint.expected,
    )
    return InputError([problem])
