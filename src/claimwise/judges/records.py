"""Records in a source: rows of tables (Markdown, CSV), JSON objects, labelled lines.

What a value belongs to stands elsewhere there: in the header, in the first cell, in a key, in the
item above. A record brings them together: every cell knows its owner (“Nikola Jokić, Denver
Nuggets”) and its attribute (“Points”). Each reader goes through the text once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

_BORDER = re.compile(r"\s*\|?[ \t]*:?-{2,}[-:| \t]*\s*")
_CSV_FIELD = re.compile(r'"(?:[^"]|"")*"|[^,;\t\n\r]*')
_SEPARATORS = ("\t", ";", ",")
# Without one of these a text has no table, or no labelled line.
_TABLE_SIGNS = ("|", *_SEPARATORS)
_LABEL_SIGNS = (": ", ":\t", ":**", ":__")
_LONGEST_NAME = 5  # words in a header cell or a label
_LONGEST_VALUE = 12  # words in a labelled value
_JSON = re.compile(r'\s*(?:\{\s*"|\[\s*[\[{"])')
_JSON_TOKEN = re.compile(r'"(?P<string>(?:[^"\\]|\\.)*)"|(?P<scalar>[-\w.+]+)|(?P<sign>[{}\[\]:,])')
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_+")
_NUMERIC = re.compile(r"\s*[$€£¥]?\s*[-−+]?\d[\d.,:%/ -]*\s*\w{0,8}%?\s*")
_PARTS = re.compile(r"[,;] (?:and )?")
_LABELLED = re.compile(
    r"(?P<indent>[ \t>]*)(?P<bullet>(?:[-*+•‣◦▪–]|\d{1,3}[.)])[ \t]+)?"
    r"(?P<mark>\*\*|__|)(?P<label>[^:*|{}\n]{1,60}?)(?:(?P=mark):|:(?P=mark))[ \t]+"
    r"(?P<value>\S[^\n]*?)\s*$"
)
_PARENT = re.compile(
    r"(?P<indent>[ \t>]*)(?:\#{1,6}[ \t]+|(?P<bullet>(?:[-*+•‣◦▪–]|\d{1,3}[.)])[ \t]+)|"
    r"(?=\*\*|__))(?P<name>[^|{}\n]{1,100}?)[ \t]*:?\s*$"
)


class RecordCell(NamedTuple):
    """A value with its place, whose it is and what it is called."""

    start: int
    end: int
    text: str
    attribute: str
    owner: str

    @property
    def is_prose(self) -> bool:
        """Whether it holds whole sentences rather than a value."""
        return len(self.text.split()) > _LONGEST_VALUE


class DataRecord(NamedTuple):
    """A row, an object or a labelled block: its place, its table, its cells."""

    start: int
    end: int
    table: int
    cells: tuple[RecordCell, ...]

    @property
    def wording(self) -> str:
        """The record as a reader would say it: its owner, then every value with its name.

        Values that are whole sentences are left to be read as prose.
        """
        owner = max((cell.owner for cell in self.cells), key=len)
        short = [cell for cell in self.cells if not cell.is_prose]
        told = [f"{c.attribute}: {c.text}" if c.attribute else c.text for c in short]
        return ", ".join(([owner] if owner and not _is_among(owner, self.cells) else []) + told)

    def cut(self, most: int) -> Iterator[DataRecord]:
        """Yield it in pieces of about that many words that adjoin, each with its owner."""
        piece: list[RecordCell] = []
        size, start = 0, self.start
        for cell in self.cells:
            words = len(cell.attribute.split()) + len(cell.text.split())
            if piece and size + words > most:
                yield DataRecord(start, piece[-1].end, self.table, tuple(piece))
                start, piece, size = piece[-1].end, [], 0
            piece.append(cell)
            size += words
        yield DataRecord(start, self.end, self.table, tuple(piece))


def _is_among(owner: str, cells: Sequence[RecordCell]) -> bool:
    texts = {cell.text for cell in cells}
    return all(part in texts for part in owner.split(", "))


class _Line(NamedTuple):
    start: int
    text: str  # without its line end


def find_records(text: str) -> list[DataRecord]:
    """Return the records of a text, in order; prose has none.

    A whole text that is JSON (one value, or one per line) is read as such; else its lines are
    searched for tables and labelled blocks.
    """
    if _JSON.match(text):
        return sorted(_read_json(text))
    lines = list(_list_lines(text))
    found = list(_read_tables(lines)) if any(sign in text for sign in _TABLE_SIGNS) else []
    if any(sign in text for sign in _LABEL_SIGNS):
        taken = {record.start for record in found}
        found += _read_blocks(lines, taken, len(lines))
    return sorted(found)


def _list_lines(text: str) -> Iterator[_Line]:
    start = 0
    for line in text.split("\n"):
        yield _Line(start, line.rstrip("\r"))
        start += len(line) + 1


def _read_tables(lines: Sequence[_Line]) -> Iterator[DataRecord]:
    for number, (kind, group) in enumerate(groupby(lines, key=lambda line: _line_kind(line.text))):
        if kind == "pipe":
            yield from _read_markdown(list(group), number)
        elif kind == "text":
            yield from _read_csv(list(group), number)


def _line_kind(line: str) -> str:
    if not line.strip():
        return "blank"
    return "pipe" if line.lstrip().startswith("|") else "text"


def _read_markdown(lines: Sequence[_Line], table: int) -> Iterator[DataRecord]:
    """Yield the rows of a table in pipes: its second line must be the border below the header."""
    if len(lines) < 3 or not _BORDER.fullmatch(lines[1].text):
        return
    header = [text for _, _, text in _split_pipes(lines[0])]
    for line in lines[2:]:
        fields = list(_split_pipes(line))
        if len(fields) == len(header):
            yield _make_row(header, fields, table)


def _split_pipes(line: _Line) -> Iterator[tuple[int, int, str]]:
    """Yield the cells between the pipes of a line, without the spaces and marks around them."""
    start = line.text.index("|") + 1
    end = len(line.text.rstrip().removesuffix("|"))
    for field in line.text[start:end].split("|"):
        yield _trim(field, line.start + start)
        start += len(field) + 1


def _trim(field: str, start: int) -> tuple[int, int, str]:
    text = field.strip(' \t*_`"')
    start += field.find(text) if text else 0
    return start, start + len(text), text


def _read_csv(lines: Sequence[_Line], table: int) -> Iterator[DataRecord]:
    """Yield the rows below a header of short names, all with as many fields.

    At least two rows of three fields or more, or of two with a number in every row: two lines of
    prose with a comma each are no table.
    """
    if len(lines) < 3:
        return
    separator = next((s for s in _SEPARATORS if s in lines[0].text), None)
    if separator is None:
        return
    rows = [list(_split_fields(line, separator)) for line in lines]
    header = [text for _, _, text in rows[0]]
    named = all(text and len(text.split()) <= _LONGEST_NAME for text in header)
    if not named or any(map(_NUMERIC.fullmatch, header)):
        return
    body = rows[1:]
    if any(len(fields) != len(header) for fields in body):
        return
    numbers = all(any(_NUMERIC.fullmatch(text) for _, _, text in fields) for fields in body)
    if numbers or (len(header) > 2 and not any(line.text.endswith(".") for line in lines)):
        yield from (_make_row(header, fields, table) for fields in body)


def _split_fields(line: _Line, separator: str) -> Iterator[tuple[int, int, str]]:
    at, text = 0, line.text
    while at <= len(text):
        quoted = text.startswith('"', at) and (match := _CSV_FIELD.match(text, at))
        stop = match.end() if quoted and match else text.find(separator, at)
        if quoted and stop < len(text) and text[stop] != separator:
            stop = text.find(separator, at)
        stop = len(text) if stop < 0 else stop
        yield _trim(text[at:stop], line.start + at)
        at = stop + 1


def _make_row(
    header: Sequence[str], fields: Sequence[tuple[int, int, str]], table: int
) -> DataRecord:
    """Return a row: its owner is named by its first cell and the other cells that are words."""
    names = [text for n, (_, _, text) in enumerate(fields) if n == 0 or _is_name(text)]
    cells = []
    for n, ((start, end, text), attribute) in enumerate(zip(fields, header, strict=True)):
        owner = fields[0][2] if n and _is_name(text) else ", ".join(names) if n else ""
        cells.append(RecordCell(start, end, text, attribute, owner))
    return DataRecord(fields[0][0], fields[-1][1], table, tuple(cells))


def _is_name(text: str) -> bool:
    return bool(text) and not any(char.isdigit() for char in text) and len(text.split()) <= 6


class _Open:
    """A JSON object or list that is being read."""

    def __init__(self, start: int, keys: tuple[str, ...], *, is_list: bool) -> None:
        self.start = start
        self.keys = keys  # the keys that lead to it
        self.is_list = is_list
        self.key: str | None = None
        self.scalars: list[tuple[int, int, str, str]] = []

    def lead(self) -> tuple[str, ...]:
        """Return what leads to its next value: the keys before it, its names so far, its key."""
        names = tuple(told for _, _, told, _ in self.scalars if _is_name(told))
        return (*self.keys, *names, *((self.key,) if self.key else ()))


def _read_json(text: str) -> Iterator[DataRecord]:
    """Yield every object with scalars of its own, as it closes.

    Its owner are the keys that lead to it and its own strings. Broken JSON yields what can be
    read; strings that hold a sentence are left out.
    """
    stack: list[_Open] = []
    for match in _JSON_TOKEN.finditer(text):
        sign = match["sign"]
        if sign in ("{", "["):
            keys = stack[-1].lead() if stack else ()
            stack.append(_Open(match.start(), keys, is_list=sign == "["))
        elif sign in ("}", "]") and stack:
            closed = stack.pop()
            if closed.scalars and not closed.is_list:
                yield _close_object(closed, match.end())
            if stack and not stack[-1].is_list:
                stack[-1].key = None
        elif sign == "," and stack and not stack[-1].is_list:
            stack[-1].key = None
        elif sign is None and stack:
            _take_json_text(stack, match)


def _take_json_text(stack: Sequence[_Open], match: re.Match[str]) -> None:
    """Keep a key or a value; what a list holds belongs to the object around it."""
    into = next((one for one in reversed(stack) if not one.is_list), None)
    if into is None:
        return
    start, end = match.span("string") if match["string"] is not None else match.span("scalar")
    told = match.string[start:end]
    if into.key is None:
        into.key = _CAMEL.sub(" ", told).strip()
    elif told not in ("null", "true", "false", ""):
        into.scalars.append((start, end, told, into.key))


def _close_object(closed: _Open, end: int) -> DataRecord:
    strings = [told for _, _, told, _ in closed.scalars if _is_name(told)]
    path = [key for key in closed.keys if not _is_plural_of_strings(key, strings)]
    cells = []
    for start, stop, told, key in closed.scalars:
        owners = [*path, *(name for name in strings if name != told)]
        cells.append(RecordCell(start, stop, told, key, ", ".join(owners)))
    return DataRecord(closed.start, end, 0, tuple(cells))


def _is_plural_of_strings(key: str, strings: Sequence[str]) -> bool:
    """Tell whether a key only names a list of objects that name themselves: “players”."""
    return bool(strings) and key.islower()


def _read_blocks(lines: Sequence[_Line], taken: set[int], table: int) -> Iterator[DataRecord]:
    """Yield labelled lines (“Points: 1930”) with the heading or item that they stand under.

    Lines of one parent are one record. Without a parent, the words among a block's own values
    name it (“Name: Nikola Jokić”); items without either are named by their own labels.
    """
    labelled = [_find_label(line.text) for line in lines]
    if not any(labelled):
        return
    parent, indent, block = "", -1, list[tuple[_Line, re.Match[str]]]()
    for line, match in zip((*lines, _Line(-1, "")), (*labelled, None), strict=True):
        if match and (not parent or len(match["indent"]) >= indent):
            block.append((line, match))
            continue
        if block:
            yield from _close_block(parent, block, taken, table)
        block = []
        found = _PARENT.match(line.text)
        if found:
            parent, indent = re.sub(r"\*\*|__", "", found["name"]).strip(" :"), _depth(found)
        elif line.text.strip():
            parent, indent = "", -1


def _depth(parent: re.Match[str]) -> int:
    """Return how far its lines must be indented: those of a plain item further than itself."""
    return len(parent["indent"]) + (1 if parent["bullet"] and not _is_bold(parent["name"]) else 0)


def _is_bold(name: str) -> bool:
    return name.startswith(("**", "__"))


def _find_label(line: str) -> re.Match[str] | None:
    """Return the label of a line and its value, if both are short: sentences have colons too."""
    match = _LABELLED.match(line) if ":" in line else None
    if match is None or match["value"].endswith((".", "!", "?", ":")):
        return None
    short = len(match["label"].split()) <= _LONGEST_NAME
    return match if short and len(match["value"].split()) <= _LONGEST_VALUE else None


def _close_block(
    parent: str, block: Sequence[tuple[_Line, re.Match[str]]], taken: set[int], table: int
) -> Iterator[DataRecord]:
    values = [match["value"].strip(" *_") for _, match in block]
    owner = [parent] if parent else [value for value in values[:2] if _is_name(value)]
    items = all(match["bullet"] for _, match in block)
    if not parent and (len(block) < 2 or not (owner or items)):
        return
    if any(line.start in taken for line, _ in block):
        return
    cells = []
    for (line, match), value in zip(block, values, strict=True):
        start = line.start + match.start("value") + match["value"].find(value)
        whose = ", ".join(name for name in owner if name != value)
        cells.append(RecordCell(start, start + len(value), value, match["label"].strip(), whose))
    if parent or owner:
        last = block[-1][0]
        yield DataRecord(block[0][0].start, last.start + len(last.text), table, tuple(cells))
        return
    # Without an owner for all, every item has its own: its label.
    for (line, match), cell in zip(block, cells, strict=True):
        parts = tuple(_cut_cell(cell, match["label"].strip()))
        yield DataRecord(line.start, line.start + len(line.text), table, parts)


def _cut_cell(cell: RecordCell, owner: str) -> Iterator[RecordCell]:
    """Yield what commas separate in an item: “1930 points, 486 assists” are two values."""
    at = cell.start
    for part in _PARTS.split(cell.text):
        start = at + cell.text[at - cell.start :].index(part)
        at = start + len(part)
        if part:
            yield RecordCell(start, at, part, "", owner)
