"""Measures the messages of an Arrow file before anything of it is unpacked.

An Arrow file is a row of messages: a schema, dictionaries, record batches, and a mark at the end.
A compressed message of a few kilobytes can unpack to gigabytes; how large each of its buffers
becomes stands before it. pyarrow unpacks without asking, so that is read here, from the
flatbuffers that https://arrow.apache.org/docs/format/Columnar.html describes.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

FILE_MARK = b"ARROW1\0\0"
STREAM_MARK = b"\xff\xff\xff\xff"
_DICTIONARY, _BATCH = 2, 3
_BODY_LENGTH_FIELD = 3
_MOST_METADATA = 16 * 1024 * 1024
_LENGTH = struct.Struct("<q")
_TAIL = struct.Struct("<i6s")
_NOT_COMPRESSED = -1


class DamagedArrowError(ValueError):
    """The messages of a file don't hold together."""


class Message(NamedTuple):
    """What a dictionary or a record batch takes when unpacked, and how many rows a batch has."""

    rows: int | None  # of a dictionary: None
    unpacked: int


class _Table:
    """A table of a flatbuffer: its fields are found by their numbers."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self._at = at
        self._fields = at - self.number("<i", at)

    @classmethod
    def open_root(cls, data: bytes) -> _Table:
        return cls(data, struct.unpack_from("<I", data, 0)[0])

    def number(self, form: str, at: int) -> int:
        if at < 0:
            raise DamagedArrowError("an offset before the beginning")
        return int(struct.unpack_from(form, self._data, at)[0])

    def find(self, field: int) -> int | None:
        """Return where a field's value lies; None where it has its default."""
        entry = 4 + 2 * field
        if entry >= self.number("<H", self._fields):
            return None
        offset = self.number("<H", self._fields + entry)
        return self._at + offset if offset else None

    def integer(self, field: int, form: str) -> int:
        at = self.find(field)
        return 0 if at is None else self.number(form, at)

    def table(self, field: int) -> _Table | None:
        at = self.find(field)
        return None if at is None else _Table(self._data, at + self.number("<I", at))

    def _records(self, field: int, size: int) -> Iterator[int]:
        """Yield where the records of a size lie that a field lists."""
        at = self.find(field)
        if at is not None:
            start = at + self.number("<I", at)
            for number in range(self.number("<I", start)):
                yield start + 4 + size * number

    def buffers(self, field: int) -> Iterator[tuple[int, int]]:
        """Yield offset and length of the buffers that a field lists."""
        for at in self._records(field, 16):
            yield self.number("<q", at), self.number("<q", at + 8)

    def blocks(self, field: int) -> Iterator[tuple[int, int, int]]:
        """Yield offset, length of the description and length of the body of a footer's blocks."""
        for at in self._records(field, 24):
            yield self.number("<q", at), self.number("<i", at + 8), self.number("<q", at + 16)


def is_arrow(head: bytes) -> bool:
    """Return whether a file's first bytes are those of an Arrow file, of either format."""
    return head.startswith((FILE_MARK, STREAM_MARK))


def read_messages(file: BinaryIO) -> Iterator[Message]:
    """Yield the dictionaries and record batches of a file.

    Those of the IPC file format are where the footer says, which is what readers go by: what
    stands between them may be anything. Those of a stream follow each other up to a mark.

    Raises:
        DamagedArrowError: they don't hold together, or the end is missing: it was cut off.
    """
    end = file.seek(0, io.SEEK_END)
    file.seek(0)
    try:
        if file.read(len(FILE_MARK)) == FILE_MARK:
            for offset, metadata, length in _list_blocks(file, end):
                file.seek(offset)
                yield from _read_message(file, end, offset + metadata, length)
        else:
            file.seek(0)
            yield from _read_stream(file, end)
    except (struct.error, OverflowError, OSError) as error:
        raise DamagedArrowError("a message that can't be read") from error


def _list_blocks(file: BinaryIO, end: int) -> list[tuple[int, int, int]]:
    """Return offset, length of the description and length of the body of each message."""
    file.seek(max(len(FILE_MARK), end - _TAIL.size))
    tail = file.read(_TAIL.size)
    if len(tail) < _TAIL.size or tail[4:] != FILE_MARK[:6]:
        raise DamagedArrowError("no mark at the end: was it cut off?")
    (length, _) = _TAIL.unpack(tail)
    if not 0 < length <= min(_MOST_METADATA, end - _TAIL.size - len(FILE_MARK)):
        raise DamagedArrowError("no footer at the end: was it cut off?")
    file.seek(end - _TAIL.size - length)
    footer = _Table.open_root(file.read(length))
    return [*footer.blocks(2), *footer.blocks(3)]


def _read_stream(file: BinaryIO, end: int) -> Iterator[Message]:
    while (data := _read_metadata(file)) is not None:
        message = _Table.open_root(data)
        body, length = file.tell(), message.integer(_BODY_LENGTH_FIELD, "<q")
        yield from _describe(file, message, body, length, end)
        file.seek(body + length)


def _read_message(file: BinaryIO, end: int, body: int, length: int) -> Iterator[Message]:
    data = _read_metadata(file)
    if data is None:
        raise DamagedArrowError("a footer that leads to no message")
    message = _Table.open_root(data)
    if message.integer(_BODY_LENGTH_FIELD, "<q") != length or body != file.tell():
        raise DamagedArrowError("a footer that doesn't fit its messages")
    yield from _describe(file, message, body, length, end)


def _describe(
    file: BinaryIO, message: _Table, body: int, length: int, end: int
) -> Iterator[Message]:
    """Yield what a message takes, if it is a dictionary or a batch."""
    if length < 0 or body + length > end:
        raise DamagedArrowError("the end of the file inside a message")
    kind, header = message.integer(1, "<B"), message.table(2)
    if kind not in (_DICTIONARY, _BATCH) or header is None:
        return
    batch = header.table(1) if kind == _DICTIONARY else header
    if batch is not None:
        rows = batch.integer(0, "<q") if kind == _BATCH else None
        yield Message(rows, _measure(file, batch, body, length))


def _read_metadata(file: BinaryIO) -> bytes | None:
    """Return what describes the next message; None at the mark of the end."""
    prefix = file.read(4)
    if prefix == STREAM_MARK:
        prefix = file.read(4)
    if len(prefix) < 4:
        raise DamagedArrowError("no mark at the end: was it cut off?")
    (length,) = struct.unpack("<i", prefix)
    if length == 0:
        return None
    if not 0 < length <= _MOST_METADATA:
        raise DamagedArrowError("a message without a beginning")
    data = file.read(length)
    if len(data) < length:
        raise DamagedArrowError("the end of the file inside a message")
    return data


def _measure(file: BinaryIO, batch: _Table, body: int, length: int) -> int:
    """Return the bytes of a batch: of its body, or of what its compressed buffers say."""
    if batch.table(3) is None:
        return length
    total = 0
    for offset, packed in batch.buffers(2):
        if offset < 0 or packed < 0 or offset + packed > length:
            raise DamagedArrowError("a buffer outside of its message")
        if packed:
            file.seek(body + offset)
            (unpacked,) = _LENGTH.unpack(file.read(_LENGTH.size))
            if unpacked < _NOT_COMPRESSED:
                raise DamagedArrowError("a buffer of no size")
            total += packed if unpacked == _NOT_COMPRESSED else unpacked
    return total
